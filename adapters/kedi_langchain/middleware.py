"""The agent middleware: the edit and the answer it led to land in the graph's state in one write.

The edit happens in `wrap_model_call`, never in `before_model`: what a node of its own writes stays behind when the
model then fails. The answer comes back with a command that lists the whole edited history anew, because ids and
positions may change under way (`durable.py`). Measured on langchain 1.5, langgraph 1.2.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast
from uuid import uuid4

from langchain.agents.middleware import AgentMiddleware, AgentState
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.messages import BaseMessage, convert_to_messages
from langgraph.runtime import Runtime
from langgraph.types import Command

from kedi_compile.assembly import RequestCompiler
from kedi_compile.assembly.run import RunAssembly
from kedi_compile.conversation.scope import current_scope
from kedi_compile.dump.recording import Recorder
from kedi_compile.history.carried import Carried
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from kedi_langchain.agent_run import AgentRun
from kedi_langchain.agent_turns import current_run, open_run
from kedi_langchain.assembly import PausedRuns, new_tails, newest_answer, with_system
from kedi_langchain.attempts import ModelSteps
from kedi_langchain.durable import replacement
from kedi_langchain.editing import EditedRequest, in_conversation, request_info
from kedi_langchain.lanes import key_of
from kedi_langchain.origins import ThreadOrigins
from kedi_langchain.prompt import PromptHook
from kedi_langchain.reading import archive_tool
from kedi_langchain.recording import begin_record, seeing
from kedi_langchain.runnable import refuse_wrapped
from kedi_langchain.state import KEY, RUN_KEY, HistoryState, held, held_in, remembered, run_in, to_remember
from kedi_langchain.wrapped import edited_outside

NewSession = Callable[[HistoryPolicy[BaseMessage], Carried, RunAssembly | None], RunSession[BaseMessage]]
Request = ModelRequest[Any]


class HistoryMiddleware(AgentMiddleware[AgentState[Any], Any]):
    """Edits the history before each model call of an agent, and keeps the edit only with its answer.

    Inside an enabled `history_scope`, a run of the agent is a turn of the conversation.
    """

    state_schema = HistoryState

    def __init__(
        self,
        policy: HistoryPolicy[BaseMessage],
        new_session: NewSession,
        hook: PromptHook,
        origins: ThreadOrigins,
        *,
        compiler: RequestCompiler | None = None,
        paused: PausedRuns | None = None,
        recorder: Recorder | None = None,
    ) -> None:
        super().__init__()
        self._policy = policy
        self._new_session = new_session
        self._hook = hook
        self._origins = origins
        self._compiler = compiler
        self._recorder = recorder
        self._steps = ModelSteps()
        self._paused = PausedRuns() if paused is None else paused
        self.tools = [] if policy.archive is None else [archive_tool(policy.archive)]

    def before_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Wait for the run's turn, and count the requests of each invocation from one."""
        if (run := open_run(runtime, is_awaited=False)) is not None:
            run.turn.enter_sync()
        return self._first(state)

    async def abefore_agent(self, state: AgentState[Any], runtime: Runtime[Any]) -> dict[str, Any] | None:
        """Wait for the run's turn, and count the requests of each invocation from one."""
        if (run := open_run(runtime, is_awaited=True)) is not None:
            await run.turn.enter()
        return self._first(state)

    def wrap_model_call(
        self, request: Request, handler: Callable[[Request], ModelResponse[Any]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Edit, call the model, and return the edit with the answer."""
        step = self._begin(request)
        if step is None:
            return handler(request)
        with step.edited.recording():
            if step.prompt is not None:
                step = self._submitted(step, self._steps.known_prompt(step.prompt) or self._hook.edit(step.prompt))
            step = self._sent(step, step.edited.edit(self._steps.known(step.edited.shown)))
            with edited_outside(), self._undoing(step.edited):
                with seeing(step.edited):
                    response = handler(step.to_send())
                return self._answered(step, response)

    async def awrap_model_call(
        self, request: Request, handler: Callable[[Request], Awaitable[ModelResponse[Any]]]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Edit, call the model, and return the edit with the answer."""
        step = self._begin(request)
        if step is None:
            return await handler(request)
        with step.edited.recording():
            if step.prompt is not None:
                known = self._steps.known_prompt(step.prompt)
                step = self._submitted(step, known or await self._hook.aedit(step.prompt))
            step = self._sent(step, await step.edited.aedit(self._steps.known(step.edited.shown)))
            with edited_outside(), self._undoing(step.edited):
                with seeing(step.edited):
                    response = await handler(step.to_send())
                return self._answered(step, response)

    def _answered(
        self, step: ModelStep, response: ModelResponse[Any]
    ) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        if step.edited.tails is not None and response.result:
            self._paused.answered(step.edited.tails, response.result[0], newest_answer(step.edited.shown))
        return step.answered(response)

    @contextmanager
    def _undoing(self, edited: EditedRequest) -> Generator[None]:
        """Release what a failing attempt has archived; the next one cannot take over what refers to it."""
        try:
            yield
        except BaseException:
            if edited.session.stored_records:
                self._steps.forget()
            edited.session.undo()
            raise

    def _first(self, state: AgentState[Any]) -> dict[str, Any] | None:
        """What an invocation begins with in the graph's state; None where there is nothing to do in it."""
        policy = current_scope().policy(self._policy)
        if not self._looks(policy, current_run()):
            return None
        is_named = self._recorder is not None or self._compiler is not None
        name = uuid4().hex if is_named else None
        update: dict[str, Any] = {KEY: to_remember(replace(remembered(state)[0], may_warn=True), 0, name)}
        tails = new_tails(self._compiler, policy)
        return update if tails is None else {**update, RUN_KEY: held(tails)}

    def _looks(self, policy: HistoryPolicy[BaseMessage], run: AgentRun | None) -> bool:
        """Whether requests are any of its business."""
        return policy.is_active or run is not None or self._hook.is_set or self._recorder is not None

    def _begin(self, request: Request) -> ModelStep | None:
        """Describe a request that is any of its business."""
        run = current_run()
        policy = (run.scope if run is not None else current_scope()).policy(self._policy)
        if not request.messages or not self._looks(policy, run):
            return None
        refuse_wrapped(request.model)
        thread = convert_to_messages(request.messages)
        carried, last = remembered(request.state)
        if run is not None:
            key = key_of(request.model, request.model_settings or {}, request.tools, request.response_format)
            carried = run.settle(key, thread, self._origins) or carried
        front = run.front if run is not None else []
        info = in_conversation(info_of(request, last + 1), None if run is None else run.turn)
        resumed = held_in(request.state) or self._paused.resumed(newest_answer(thread))
        tails = resumed or new_tails(self._compiler, policy)
        edited = EditedRequest(
            self._new_session(policy, carried, None if tails is None else tails.assembly),
            info,
            (*front, *thread),
            request.model,
            request.model_settings,
            front=len(front),
            tools=tuple(request.tools),
            tails=tails,
            record=begin_record(self._recorder, info, run),
        )
        prompt = None if last else self._hook.newest(thread)
        return ModelStep(request, edited, run, prompt)

    def _submitted(self, step: ModelStep, prompt: BaseMessage) -> ModelStep:
        assert step.prompt is not None  # asked before
        self._steps.remember_prompt(step.prompt, prompt)
        return step.submitted(prompt)

    def _sent(self, step: ModelStep, edited: EditedRequest) -> ModelStep:
        edited.session.sent()
        self._steps.remember(edited.attempt)
        return replace(step, edited=edited)


def info_of(request: Request, request_index: int) -> RequestInfo:
    """Describe a request of an agent; `request_index` is 1-based within its run."""
    execution, context = request.runtime.execution_info, request.runtime.context
    run_id = getattr(execution, "run_id", None) or run_in(request.state)
    info = request_info(request.model, request_index, run_id)
    return replace(info, conversation_id=getattr(execution, "thread_id", None), context=context)


@dataclass(frozen=True)
class ModelStep:
    """One model call of an agent; `prompt` is what the prompt hook is asked for, and then what it returned."""

    request: Request
    edited: EditedRequest
    run: AgentRun | None
    prompt: BaseMessage | None

    def submitted(self, prompt: BaseMessage) -> ModelStep:
        """Return the step with another prompt as the newest message."""
        edited = replace(self.edited, shown=(*self.edited.shown[:-1], prompt))
        return replace(self, edited=edited, prompt=prompt)

    def to_send(self) -> Request:
        """Return the request with its edited messages, and without server-side state from before a rewrite."""
        edited = self.edited
        if edited.may_name_old_state and not edited.front and self.prompt is None:
            return self.request
        request = self.request.override(
            messages=cast("list[Any]", edited.messages),  # the host types them as a union of its own classes
            model=edited.model,
            model_settings=edited.arguments,
        )
        if edited.assembled is None:
            return request
        return request.override(system_message=with_system(request.system_message, edited.assembled.system))

    def answered(self, response: ModelResponse[Any]) -> ModelResponse[Any] | ExtendedModelResponse[Any]:
        """Note the answer and return it with what the thread is to keep; without one there is nothing to keep."""
        edited = self.edited
        if not response.result:
            edited.session.undo()
            edited.unseen()
            return response
        response = replace(response, result=[edited.durable(one) for one in response.result])
        edited.answered(response.result[0])
        prompt = [] if self.prompt is None else [self.prompt]
        newest = {one.id: one for one in prompt}
        thread = [newest.get(one.id, one) for one in convert_to_messages(self.request.state["messages"])]
        remember = to_remember(edited.session.carried, edited.info.request_index, run_in(self.request.state))
        update: dict[str, Any] = {KEY: remember}
        if edited.is_rewritten:
            # In front: where the thread is listed anew, what stands before the list does not count.
            update["messages"] = [*prompt, *replacement(edited, thread, response.result, is_written=True)]
        elif prompt:
            update["messages"] = prompt
        if self.run is not None:
            self.run.answered(edited, [*thread, *response.result])
        return ExtendedModelResponse(model_response=response, command=Command(update=update))
