"""`PydanticAdapter`: the Pydantic AI capability that edits an agent's history before every model request.

It knows the host's hooks and decides nothing: what may be edited is judged by `kedi_compile.session`. The edit is
written in `before_model_request`, looked at once more behind the host's repair (`wire.py`), and taken back in
`wrap_model_request` if the answer never came. Hook facts were measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

import copy
import os
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Generic

from pydantic_ai import UserPromptNode
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import AbstractCapability, CapabilityOrdering, ModelFallback
from pydantic_ai.capabilities.abstract import AgentNode, WrapModelRequestHandler, WrapRunHandler
from pydantic_ai.exceptions import ModelRetry, SkipModelRequest
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import Model, ModelRequestContext
from pydantic_ai.run import AgentRunResult
from pydantic_ai.tools import AgentDepsT, RunContext
from pydantic_ai.toolsets import AbstractToolset

from kedi_compile import HistoryArchiveSettings, HistoryProcessorCallback, HistoryProcessorCondition, structure
from kedi_compile.assembly import RequestCompiler
from kedi_compile.assembly.compiler import operated
from kedi_compile.assembly.ui_tokens import UiTokens
from kedi_compile.conversation.scope import current_scope
from kedi_compile.conversation.turns import Turn, begin
from kedi_compile.dump.recording import Recorder
from kedi_compile.dump.redaction import Redact
from kedi_compile.dump.sink import Dump, DumpErrors, sink_of
from kedi_compile.history.archiving import Surroundings
from kedi_compile.history.carried import Carried
from kedi_compile.history.drive import drive
from kedi_compile.history.flow import Staged
from kedi_compile.history.lifecycle import RequestState
from kedi_compile.history.policy import HistoryPolicy, check_callable, warn_about_prefix
from kedi_compile.history.prompt import UserPromptSubmit
from kedi_compile.history.reasoning import BoundReasoning, ReasoningProtection
from kedi_compile.session import RunSession, begin_assembly
from kedi_pydantic_ai import lists
from kedi_pydantic_ai.assembly import RunTails, assemble, put_assembled
from kedi_pydantic_ai.boundary import run_marks, shift, step_marks
from kedi_pydantic_ai.continuation import serving_names, without_old_state
from kedi_pydantic_ai.conversation import ConversationRun
from kedi_pydantic_ai.dialect import DIALECT
from kedi_pydantic_ai.origins import PartOrigins
from kedi_pydantic_ai.prompt import Prompt, show_prompt, submitted
from kedi_pydantic_ai.reading import archive_toolset
from kedi_pydantic_ai.recording import begin_record, recording
from kedi_pydantic_ai.rivals import refuse_rivals, refuse_second_turn
from kedi_pydantic_ai.step import Step, request_info
from kedi_pydantic_ai.usage import reported_tokens
from kedi_pydantic_ai.wire import checked, completed


def new_id() -> str:
    """Return an id that nobody guesses."""
    return secrets.token_urlsafe(12)


_SURROUNDINGS = Surroundings(new_id, time.time)


class PydanticAdapter(AbstractCapability[AgentDepsT], Generic[AgentDepsT]):
    """Edit an agent's message history before every model request, in whole groups, proved before transport.

    Add it to `Agent(capabilities=[...])`; one adapter may serve any number of agents and concurrent runs. Tool loops,
    streaming, retries and fallback models are covered: the processor runs once per request step. A run's
    `metadata={"source_location": ...}` labels the origins of what it makes.

    Args:
        history_processor: Called with a `HistoryProcessorContext`, returns the edited history; sync (runs in a
            worker thread) or async. None leaves requests alone.
        history_processor_condition: Called with a `HistoryProcessorState` before each request, returns exactly True
            or False; sync (runs on the event loop) or async.
        history_archive: When old tool exchanges of a long loop are stored and replaced by a checkpoint, before the
            condition and the processor; the model reads them back with the tool `read_archive`. None archives nothing.
        user_prompt_submit: Called with the prompt of each run before anything else, returns the prompt to use; sync
            (runs in a worker thread) or async.
        request_compiler: Assembles every request from its `inputs`: instructions in front, and a late text that is
            never in `all_messages()`. None adds nothing.
        dump: Where every request is written down: the path of a JSON-lines file, a `DumpFile`, or a callable that takes
            a `RequestDump`. None keeps nothing.
        dump_errors: Whether a dump that cannot be written is logged (`"warn"`) or fails the request (`"raise"`): then
            an answer that came is dropped with a `DumpError`, and a request that failed says it in a note to its error.
        redact: Functions of a text that replace more secrets in dumps than the known ones.
        token_counter: Counts the tokens of one message, in place of the built-in estimate.
        reasoning_protection: `"always"` protects groups with signed reasoning for good; `"open_cycle"` only while
            they are current or unfinished.
        bound_reasoning: What an edit before prefix-bound reasoning does, on any model: `"refuse"` or `"strip"`.
            None refuses on the models known to bind and does nothing on others.

    Raises:
        HistoryConfigurationError: an option can never work; also when the agent has a `ProcessHistory` beside it.

    Source: History specification, User-Defined History Processing.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"history_processing"})
    """What this adapter can do, by the specification's names."""

    def __init__(
        self,
        history_processor: HistoryProcessorCallback[ModelMessage] | None = None,
        history_processor_condition: HistoryProcessorCondition | None = None,
        *,
        history_archive: HistoryArchiveSettings | None = None,
        user_prompt_submit: UserPromptSubmit | None = None,
        request_compiler: RequestCompiler | None = None,
        dump: Dump | None = None,
        dump_errors: DumpErrors = "warn",
        redact: Redact | Sequence[Redact] = (),
        token_counter: Callable[[ModelMessage], int] | None = None,
        reasoning_protection: ReasoningProtection = "always",
        bound_reasoning: BoundReasoning | None = None,
    ) -> None:
        self._policy: HistoryPolicy[ModelMessage] = HistoryPolicy(
            history_processor,
            history_processor_condition,
            token_counter,
            reasoning_protection,
            bound_reasoning,
            history_archive,
            assembles=request_compiler is not None,
        )
        self._compiler = operated(request_compiler, os.environ)
        sink = sink_of(dump, dump_errors=dump_errors, redact=redact)
        self._recorder = None if sink is None else Recorder(sink, DIALECT.adapter_shortname, new_id, time.time)
        self._toolset = None if history_archive is None else archive_toolset(history_archive)
        self._owner = self  # copied by `for_run`: the runs of one adapter share it, so recursion is seen through copies
        check_callable("user_prompt_submit", user_prompt_submit)
        self._user_prompt_submit = user_prompt_submit
        self._origins = PartOrigins()
        self._prompt: Prompt | None = None
        self._marks: Any = None
        self._taken: dict[str, Turn] = {}  # by run id, until the run is made; shared by the copies of all runs
        self._begin(None)
        if history_processor is not None:
            warn_about_prefix()

    @property
    def conversation(self) -> ConversationRun | None:
        """The turn that this copy's run is, if it is one."""
        return self._conversation

    @property
    def is_active(self) -> bool:
        """Whether this adapter has a processor to run, an archive, or a request compiler."""
        return self._policy.is_active

    @classmethod
    def get_serialization_name(cls) -> str | None:
        """Return None: a configuration with callables cannot be written to a spec."""
        return None

    def get_toolset(self) -> AbstractToolset[AgentDepsT] | None:
        """Return the tool that reads the archive, if there is one."""
        return self._toolset

    def get_ordering(self) -> CapabilityOrdering:
        """Ask to be last before transport, behind a model fallback."""
        return CapabilityOrdering(position="innermost", wrapped_by=(ModelFallback,))

    def for_agent(self, agent: AbstractAgent[AgentDepsT, Any]) -> PydanticAdapter[AgentDepsT]:
        """Check the agent's other capabilities and return this adapter."""
        refuse_rivals(self, agent.root_capability)
        return self

    def get_default_conversation_id(self, run_id: str) -> str | None:
        """Take the ticket of a run that is a turn, and return the conversation's name, which the host stamps on it.

        It is the first thing the host asks, in the task of the call itself; `for_run` comes later, and in other tasks.
        """
        turn = begin(current_scope())
        if turn is None:
            return None
        for known in [known for known, taken in list(self._taken.items()) if not taken.is_open]:
            self._taken.pop(known, None)
        self._taken[run_id] = turn
        turn.ticket.enter()  # what other capabilities run before this one's own turn has begun is inside of it
        return turn.state.session_id

    async def for_run(self, ctx: RunContext[AgentDepsT]) -> PydanticAdapter[AgentDepsT]:
        """Return a copy with the state of one run, in the scope it is called in."""
        fresh = copy.copy(self)
        scope = current_scope()
        fresh._policy = scope.policy(self._policy)  # noqa: SLF001  # a copy of this very object
        # Another capability's name for the conversation may have come first; then no ticket was taken yet.
        turn = self._taken.pop(ctx.run_id or "", None) or begin(scope, is_callers_task=False)
        fresh._begin(None if turn is None else ConversationRun(turn, self._origins))  # noqa: SLF001  # as above
        return fresh

    async def before_run(self, ctx: RunContext[AgentDepsT]) -> None:
        """Check the capabilities that were added for this run."""
        if ctx.root_capability is not None:
            refuse_rivals(self, ctx.root_capability)

    async def wrap_run(self, ctx: RunContext[AgentDepsT], *, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Run, as a turn where there is a conversation: its commit comes with the result, or nothing does."""
        run = self._conversation
        if run is None:
            return await self._wrap_run(handler)
        if ctx.root_capability is not None:
            refuse_second_turn(self, ctx.root_capability)  # before waiting for one's own ticket
        await run.turn.enter(detach=False)  # a cancel that comes before the host begins leaves this task behind
        try:
            result = await self._wrap_run(handler)
            lane = run.committed(result.all_messages(), ctx.run_id, self._session.carried)
        except BaseException as error:
            await run.turn.abandon(error)
            raise
        await run.turn.end(lane)
        return result

    async def _wrap_run(self, handler: WrapRunHandler) -> AgentRunResult[Any]:
        """Run, then count the last request; take back an edit whose answer the host dropped."""
        self._marks = run_marks(handler)
        try:
            result = await handler()
        except BaseException:
            if self._step.written is not None and not self._step.written.is_answered:
                self._take_back()
            raise
        self._session.close()
        return result

    async def before_node_run(
        self, ctx: RunContext[AgentDepsT], *, node: AgentNode[AgentDepsT]
    ) -> AgentNode[AgentDepsT]:
        """Where a run begins, put the conversation in front and ask the prompt hook."""
        if not isinstance(node, UserPromptNode):
            return node
        if self._conversation is not None:
            self._conversation.turn.detach()
            self._conversation.put_in_front(ctx)
        if node.user_prompt is None:
            return node
        tokens = None if self._compiler is None else self._compiler.ui_tokens
        prompt = await drive(submitted(self._user_prompt_submit, tokens, node.user_prompt), self._owner)
        if self._user_prompt_submit is None and prompt is node.user_prompt:
            return node
        self._prompt = prompt
        show_prompt(self._marks, ctx, prompt)
        return replace(node, user_prompt=prompt)

    async def wrap_model_request(
        self, ctx: RunContext[AgentDepsT], *, request_context: ModelRequestContext, handler: WrapModelRequestHandler
    ) -> ModelResponse:
        """Let one request step run, and note its answer or take its edit back."""
        if not self._looks:
            return await handler(request_context)
        self._step = step = Step(step_marks(handler))
        begin_record(self._recorder, step, ctx, request_context, self._conversation)
        with recording(step, lambda: self._session, self._conversation):
            return await self._answered(ctx, request_context, step, handler)

    async def _answered(
        self,
        ctx: RunContext[AgentDepsT],
        request_context: ModelRequestContext,
        step: Step,
        handler: WrapModelRequestHandler,
    ) -> ModelResponse:
        """Let the step run, and take its edit back where no answer counts."""
        try:
            response = await handler(request_context)
        except (ModelRetry, SkipModelRequest):
            # The host keeps the answer it has and goes on, so an edit that was answered stays.
            await self._settle(ctx, request_context)
            if step.response is None:
                self._take_back()
            else:
                self._note_answer(ctx, step.response)
            raise
        except BaseException:
            self._take_back()
            raise
        self._note_answer(ctx, response)
        return response

    async def before_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Process the history of one request step, and write an accepted edit to both message lists."""
        if not self._looks or not request_context.messages:
            return request_context
        await self._settle(ctx, request_context)
        if not self.is_active:
            self._drop_old_state(request_context)
            return request_context
        shown = list(request_context.messages)
        info = request_info(ctx, request_context.model)
        outcome = await self._session.edit(shown, info, reread=lambda: list(request_context.messages))
        self._step.info = info
        if isinstance(outcome, Staged):
            self._step.staged = outcome
            self._step.snapshot = structure.clone(tuple(shown[-1].parts))
            self._step.written = lists.write(ctx.messages, shown, outcome.messages)
            request_context.messages = list(outcome.messages)
        if self._compiler is not None:
            self._step.assembled = await assemble(self._session, self._tails, request_context, info)
        self._drop_old_state(request_context)
        return request_context

    async def prepare_model_request(
        self, ctx: RunContext[AgentDepsT], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        """Note that an attempt is about to be sent, to the model that is now known."""
        self._step.response = None
        if not self.is_active:
            return request_context
        if (staged := self._step.staged) is not None:
            self._step.validated = completed(staged.messages, request_context.messages, self._step.snapshot)
            self._session.check_binding(staged, serving_names(request_context.model))
            self._drop_old_state(request_context)
        if (assembled := self._step.assembled) is not None and self._step.info is not None:
            names = serving_names(request_context.model)
            self._session.check_fallback(request_context.messages, self._step.info, names)
            put_assembled(request_context, assembled, self._tails)
            self._step.validated = self._tails.put(self._step.validated, assembled.tails)
        self._session.sent()
        return request_context

    async def after_model_request(
        self, ctx: RunContext[AgentDepsT], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        """Remember that an answer came; whether it counts is the other hooks' choice."""
        self._step.response = response
        return response

    def get_wrapper_model(self, model: Model) -> Model | None:
        """Look at an edited request once more, behind everything that may still change it, and at its stream."""
        return checked(model, self._step)

    @property
    def _looks(self) -> bool:
        """Whether requests of this run are any of its business."""
        return (
            self.is_active or self._conversation is not None or self._prompt is not None or self._recorder is not None
        )

    def _begin(self, conversation: ConversationRun | None) -> None:
        """Start with the state of a new run."""
        self._conversation = conversation
        self._prompt = None
        self._assembly = begin_assembly(self._compiler, self._policy, DIALECT)
        self._tails = RunTails(UiTokens() if self._compiler is None else self._compiler.ui_tokens)
        self._start_session(Carried())
        self._step = Step()

    def _start_session(self, carried: Carried) -> None:
        self._session = RunSession(
            self._policy,
            DIALECT,
            owner=self._owner,
            origins=self._origins,
            carried=carried,
            surroundings=_SURROUNDINGS,
            reports=self._recorder is not None,
            assembly=self._assembly,
        )
        if self._conversation is not None and self._policy.archive is not None:
            self._conversation.turn.on_failure(self._session.undo_archives)

    async def _settle(self, ctx: RunContext[AgentDepsT], request: ModelRequestContext) -> None:
        """Find the conversation's lane at the run's first request, and go on where it stands."""
        if self._conversation is not None and not self._conversation.is_settled:
            self._start_session(await self._conversation.settle(ctx, request))

    def _drop_old_state(self, request: ModelRequestContext) -> None:
        if not self._session.continuation.may_name_old_state:
            request.model_settings = without_old_state(request.model_settings, request.model)

    def _note_answer(self, ctx: RunContext[AgentDepsT], response: ModelResponse) -> None:
        if self._step.info is not None and self._session.state is not RequestState.FAILED:
            self._session.observe(list(ctx.messages), response, reported_tokens(response), self._step.info)

    def _take_back(self) -> None:
        if (written := self._step.written) is not None:
            written.undo()
            shift(self._step.marks, written.removed)
            self._step.written = None
        self._session.undo()
