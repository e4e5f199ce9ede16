"""The agent middleware: the edit and the answer it led to land in the graph's state in one write.

The edit happens in `wrap_model_call`, never in `before_model`: what a node of its own writes stays behind when the
model then fails. The answer comes back with a command that lists the whole edited history anew, because ids and
positions may change under way (`durable.py`). Measured on langchain 1.5, langgraph 1.2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import replace
from typing import Any, cast

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage, convert_to_messages
from langgraph.runtime import Runtime
from langgraph.types import Command

from kedi_compile.history.carried import Carried
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from kedi_langchain.attempts import ModelSteps
from kedi_langchain.durable import replacement
from kedi_langchain.editing import EditedRequest, request_info
from kedi_langchain.runnable import refuse_wrapped
from kedi_langchain.state import KEY, HistoryState, remembered, to_remember
from kedi_langchain.wrapped import edited_outside

NewSession = Callable[[Carried], RunSession[BaseMessage]]
Request = ModelRequest[Any]


class HistoryMiddleware(AgentMiddleware[AgentState[Any], Any]):
    """Edits the history before each model call of an agent, and keeps the edit only with its answer."""

    state_schema = HistoryState

    def __init__(self, policy: HistoryPolicy[BaseMessage], new_session: NewSession) -> None:
        super().__init__()
        self._policy = policy
        self._new_session = new_session
        self._steps = ModelSteps()

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Count the requests of each invocation from one."""
        carried, _ = remembered(state)
        return {KEY: to_remember(replace(carried, may_warn=True), 0)} if self._policy.processor else None

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Count the requests of each invocation from one."""
        return self.before_agent(state, runtime)

    def wrap_model_call(
        self, request: Request, handler: Callable[[Request], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Edit, call the model, and return the edit with the answer."""
        if self._policy.processor is None or not request.messages:
            return handler(request)
        begun = self._begin(request)
        edited = self._sent(begun.edit(self._steps.known(begun.shown)))
        with edited_outside():
            return _answered(request, edited, handler(_to_send(request, edited)))

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Edit, call the model, and return the edit with the answer."""
        if self._policy.processor is None or not request.messages:
            return await handler(request)
        begun = self._begin(request)
        edited = self._sent(await begun.aedit(self._steps.known(begun.shown)))
        with edited_outside():
            return _answered(request, edited, await handler(_to_send(request, edited)))

    def _begin(self, request: Request) -> EditedRequest:
        refuse_wrapped(request.model)
        carried, last = remembered(request.state)
        run = getattr(request.runtime, "execution_info", None)
        info = request_info(request.model, last + 1, getattr(run, "run_id", None))
        shown = tuple(convert_to_messages(request.messages))
        return EditedRequest(self._new_session(carried), info, shown, request.model, request.model_settings)

    def _sent(self, edited: EditedRequest) -> EditedRequest:
        edited.session.sent()
        self._steps.remember(edited.attempt)
        return edited


def _to_send(request: Request, edited: EditedRequest) -> Request:
    """The request with the edited messages, and without server-side state from before a rewrite."""
    if edited.session.continuation.may_name_old_state:
        return request
    return request.override(
        messages=cast("list[Any]", edited.messages),  # the host types them as a union of its own classes
        model=edited.model,
        model_settings=edited.arguments,
    )


def _answered(
    request: Request, edited: EditedRequest, response: ModelResponse[Any]
) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
    """Note the answer and return it with what the thread is to keep; without one there is nothing to keep."""
    if not response.result:
        return response
    edited.answered(response.result[0])
    update: dict[str, Any] = {KEY: to_remember(edited.session.carried, edited.info.request_index)}
    if edited.is_rewritten:
        thread = convert_to_messages(request.state["messages"])
        update["messages"] = replacement(edited, thread, response.result, is_written=True)
    return ExtendedModelResponse(model_response=response, command=Command(update=update))
