"""The agent middleware: the edit and the answer it led to land in the graph's state in one write.

The edit happens in `wrap_model_call`, never in `before_model`: what a node of its own writes stays behind when the
model then fails. The answer comes back with a command that lists the whole edited history anew, because ids and
positions may change under way. The order to remove and new texts are written as dictionaries, which the state takes
like messages and which do not appear in a `stream_mode="messages"` stream. Measured on langchain 1.5, langgraph 1.2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from contextvars import ContextVar
from dataclasses import replace
from typing import Any, NamedTuple, cast
from uuid import uuid4

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES
from langgraph.runtime import Runtime
from langgraph.types import Command

from kedi_compile.history.flow import Outcome
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import Carried, RunSession
from kedi_langchain.editing import EditedRequest, request_info
from kedi_langchain.runnable import refuse_wrapped
from kedi_langchain.state import KEY, HistoryState, remembered, to_remember

NewSession = Callable[[Carried], RunSession[BaseMessage]]
Request = ModelRequest[Any]


class HistoryMiddleware(AgentMiddleware[HistoryState, Any]):
    """Edits the history before each model call of an agent, and keeps the edit only with its answer."""

    state_schema = HistoryState

    def __init__(self, policy: HistoryPolicy[BaseMessage], new_session: NewSession) -> None:
        super().__init__()
        self._policy = policy
        self._new_session = new_session

    def before_agent(self, state: HistoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Count the requests of each invocation from one."""
        carried, _ = remembered(state)
        return {KEY: to_remember(replace(carried, may_warn=True), 0)} if self._policy.processor else None

    async def abefore_agent(self, state: HistoryState, runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Count the requests of each invocation from one."""
        return self.before_agent(state, runtime)

    def wrap_model_call(
        self, request: Request, handler: Callable[[Request], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Edit, call the model, and return the edit with the answer."""
        if self._policy.processor is None or not request.messages:
            return handler(request)
        begun = self._begin(request)
        known = self._outcome_of_step(request)
        edited = self._sent(request, begun.edit() if known is None else begun.reuse(known))
        return _answered(edited, handler(_to_send(request, edited)))

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Edit, call the model, and return the edit with the answer."""
        if self._policy.processor is None or not request.messages:
            return await handler(request)
        begun = self._begin(request)
        known = self._outcome_of_step(request)
        edited = self._sent(request, await begun.aedit() if known is None else begun.reuse(known))
        return _answered(edited, await handler(_to_send(request, edited)))

    def _begin(self, request: Request) -> EditedRequest:
        refuse_wrapped(request.model)
        carried, last = remembered(request.state)
        run = getattr(request.runtime, "execution_info", None)
        info = request_info(request.model, last + 1, getattr(run, "run_id", None))
        session = self._new_session(carried)
        return EditedRequest(session, info, tuple(request.messages), request.model, request.model_settings)

    def _outcome_of_step(self, request: Request) -> Outcome[BaseMessage] | None:
        """The outcome of this model step, if another attempt at it was made: by a retry or a fallback around us."""
        step = _step.get()
        same = step is not None and step.state is request.state and step.shown == list(map(id, request.messages))
        return step.outcome if step is not None and same else None

    def _sent(self, request: Request, edited: EditedRequest) -> EditedRequest:
        edited.session.sent()
        _step.set(_Step(request.state, list(map(id, request.messages)), edited.outcome))
        return edited


class _Step(NamedTuple):
    """The model step under way: the state it began with, and what became of its history."""

    state: Mapping[str, Any]
    shown: list[int]
    outcome: Outcome[BaseMessage]


_step: ContextVar[_Step | None] = ContextVar("kedi_model_step", default=None)


def _to_send(request: Request, edited: EditedRequest) -> Request:
    """The request with the edited messages, and without server-side state from before a rewrite."""
    if edited.session.continuation.may_name_old_state:
        return request
    return request.override(
        messages=cast("list[Any]", edited.messages),  # the host types them as a union of its own classes
        model=edited.model,
        model_settings=edited.arguments,
    )


def _answered(edited: EditedRequest, response: ModelResponse[Any]) -> ExtendedModelResponse[Any]:
    """Note the answer and return it with what the thread is to keep."""
    edited.answered(response.result[0])
    update: dict[str, Any] = {KEY: to_remember(edited.session.carried, edited.info.request_index)}
    if edited.is_rewritten:
        update["messages"] = replacement(edited.history, edited.shown, response.result)
    return ExtendedModelResponse(model_response=response, command=Command(update=update))


def replacement(
    edited: list[BaseMessage], shown: tuple[BaseMessage, ...], result: list[BaseMessage]
) -> list[BaseMessage | dict[str, Any]]:
    """List a whole durable history anew: the order to remove, the edited messages, and the answer."""
    known = {id(message) for message in shown} | {message.id for message in shown if message.id}
    kept = [m if id(m) in known or m.id in known else _as_plain(m) for m in edited]
    return [{"role": "remove", "content": "", "id": REMOVE_ALL_MESSAGES}, *kept, *result]


def _as_plain(message: BaseMessage) -> dict[str, Any]:
    role = "user" if message.type == "human" else "assistant"
    return {"role": role, "content": message.content, "id": message.id or str(uuid4())}
