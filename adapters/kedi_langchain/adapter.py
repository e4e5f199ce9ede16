"""`LangChainAdapter`: safe history editing for chat models, agents and graphs.

It knows the ways in and decides nothing: what may be edited is judged by `kedi_compile.session`. Chat models and what
is composed of them are in `wrapped.py` and `runnable.py`, agents in `middleware.py`, nodes of raw graphs in
`graph.py`.
"""

from __future__ import annotations

import os
import secrets
import time
import warnings
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable
from langchain_core.runnables.config import var_child_runnable_config

from kedi_compile import (
    HistoryArchiveSettings,
    HistoryConfigurationError,
    HistoryProcessingWarning,
    HistoryProcessorCallback,
    HistoryProcessorCondition,
)
from kedi_compile.assembly import RequestCompiler
from kedi_compile.assembly.compiler import operated
from kedi_compile.assembly.run import RunAssembly
from kedi_compile.conversation.scope import Scope
from kedi_compile.conversation.turns import Turn, begin
from kedi_compile.dump.recording import Recorder
from kedi_compile.dump.redaction import Redact
from kedi_compile.dump.sink import Dump, DumpErrors, sink_of
from kedi_compile.history.archiving import Surroundings
from kedi_compile.history.carried import Carried
from kedi_compile.history.policy import HistoryPolicy, check_callable, warn_about_prefix
from kedi_compile.history.prompt import UserPromptSubmit
from kedi_compile.history.reasoning import BoundReasoning, ReasoningProtection
from kedi_compile.session import RunSession
from kedi_langchain.agent_turns import follow, is_around_graph
from kedi_langchain.assembly import PausedRuns, new_tails
from kedi_langchain.attempts import FailedAttempts
from kedi_langchain.conversation import ConversationCall
from kedi_langchain.dialect import DIALECT
from kedi_langchain.editing import EditedRequest, in_conversation, request_info
from kedi_langchain.graph import Update, edits_of_node, model_node
from kedi_langchain.lanes import key_of
from kedi_langchain.middleware import HistoryMiddleware
from kedi_langchain.origins import ThreadOrigins
from kedi_langchain.prompt import PromptHook
from kedi_langchain.recording import begin_record
from kedi_langchain.runnable import rebuild, refuse_wrapped
from kedi_langchain.wrapped import EditingModel, editing_class

RunnableT = TypeVar("RunnableT", bound=Runnable[Any, Any])


def new_id() -> str:
    """Return an id that nobody guesses."""
    return secrets.token_urlsafe(12)


_SURROUNDINGS = Surroundings(new_id, time.time)


class LangChainAdapter:
    """Edit message history before every model request, in whole groups, proved before transport.

    `wrap` makes a chat model, or a runnable that ends in one, edit each of its requests; `middleware` does it for
    `create_agent`, and `model_node` for a node of a raw graph, where the edit replaces the durable history together
    with the answer. One adapter may serve any number of models and concurrent runs.

    Args:
        history_processor: Called with a `HistoryProcessorContext`, returns the edited history; sync (runs in a
            worker thread on async paths, inline on sync ones) or async. None leaves requests alone.
        history_processor_condition: Called with a `HistoryProcessorState` before each request, returns exactly True
            or False; sync or async.
        history_archive: When old tool exchanges of a long loop are stored and replaced by a checkpoint, before the
            condition and the processor; only with `middleware`, whose agent reads them back with the tool
            `read_archive`. None archives nothing.
        user_prompt_submit: Called with the content of the user's newest message before anything else, returns the
            content to use; sync (runs in a worker thread on async paths, inline on sync ones) or async.
        request_compiler: Assembles every request from its `inputs`: a system text in front, and a late text that no
            state keeps. None adds nothing.
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
        HistoryConfigurationError: an option can never work.

    Source: History specification, User-Defined History Processing.
    """

    capabilities: ClassVar[frozenset[str]] = frozenset({"history_processing"})
    """What this adapter can do, by the specification's names."""

    def __init__(
        self,
        history_processor: HistoryProcessorCallback[BaseMessage] | None = None,
        history_processor_condition: HistoryProcessorCondition | None = None,
        *,
        history_archive: HistoryArchiveSettings | None = None,
        user_prompt_submit: UserPromptSubmit | None = None,
        request_compiler: RequestCompiler | None = None,
        dump: Dump | None = None,
        dump_errors: DumpErrors = "warn",
        redact: Redact | Sequence[Redact] = (),
        token_counter: Callable[[BaseMessage], int] | None = None,
        reasoning_protection: ReasoningProtection = "always",
        bound_reasoning: BoundReasoning | None = None,
    ) -> None:
        self._policy: HistoryPolicy[BaseMessage] = HistoryPolicy(
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
        check_callable("user_prompt_submit", user_prompt_submit)
        self.hook = PromptHook(user_prompt_submit, self, None if self._compiler is None else self._compiler.ui_tokens)
        self._origins = ThreadOrigins()
        self._paused = PausedRuns()  # of all its agents: one may be built anew for each call
        self._warned = False
        self.failed_attempts = FailedAttempts()
        if history_processor is not None:
            warn_about_prefix()

    @property
    def is_active(self) -> bool:
        """Whether this adapter has a processor to run, an archive, or a request compiler."""
        return self._policy.is_active

    def wrap(self, runnable: RunnableT) -> RunnableT:
        """Return `runnable` with every chat model in it editing its history; the given one is left alone.

        A wrapped chat model keeps its type, so tools, structured output and provider checks work as before.

        Raises:
            HistoryConfigurationError: there is no chat model in sight, one is wrapped already, or there is a
                `history_archive`, which no model reads alone.
        """
        if self._policy.archive is not None:
            msg = (
                "`history_archive` needs an agent that runs the tool `read_archive`; a wrapped model runs no tools. "
                "Use `.middleware()` with `create_agent`, or an adapter without it"
            )
            raise HistoryConfigurationError(msg)
        return cast("RunnableT", rebuild(runnable, self._wrap_model))

    def middleware(self) -> HistoryMiddleware:
        """Return the middleware for `create_agent(middleware=[...])`; put it last, next to the model."""
        return HistoryMiddleware(
            self._policy,
            self._new_session,
            self.hook,
            self._origins,
            compiler=self._compiler,
            paused=self._paused,
            recorder=self._recorder,
        )

    def model_node(self, model: Runnable[Any, Any], *, key: str = "messages") -> Runnable[Any, Update]:
        """Return a graph node that calls `model` over `state[key]` and keeps an edit together with the answer.

        Each call counts as a run of one request. What a prompt in front of the model adds is sent and not kept.

        Raises:
            HistoryConfigurationError: there is no chat model in sight, or it is wrapped already.
        """
        return model_node(self.wrap(model), key)

    def works_in(self, scope: Scope) -> bool:
        """Whether requests made in this scope are any of its business."""
        policy = scope.policy(self._policy)
        return scope.enabled or self.hook.is_set or policy.is_active or self._recorder is not None

    def take_turn(self, scope: Scope) -> Turn | None:
        """Take a ticket for a call of a wrapped model; None where it is no turn of a conversation.

        Raises:
            HistoryConfigurationError: the model is called in a node of a graph that the conversation is around, whose
                state would be a second memory.
        """
        turn = begin(scope)
        if turn is not None and is_around_graph(turn.state):
            turn.release_unstarted()
            msg = (
                "A wrapped model is called in a node of a graph inside an enabled `history_scope`, so there would be "
                "two memories; use `.middleware()` with `create_agent`, or `history_scope(enabled=False)` around it"
            )
            raise HistoryConfigurationError(msg)
        if turn is not None:
            follow(turn.ticket)
        return turn

    def begin(
        self,
        messages: Sequence[BaseMessage],
        model: BaseChatModel,
        arguments: dict[str, Any],
        scope: Scope,
        turn: Turn | None,
    ) -> EditedRequest:
        """Begin a request of a wrapped model: a run of its own, in a turn that was entered if there is one."""
        call = None if turn is None else ConversationCall(turn, key_of(model, arguments), messages, self._origins)
        policy, info = scope.policy(self._policy), in_conversation(request_info(model), turn)
        tails = new_tails(self._compiler, policy)
        return EditedRequest(
            self._new_session(
                policy, Carried() if call is None else call.carried, None if tails is None else tails.assembly
            ),
            info,
            tuple(messages if call is None else call.messages),
            model,
            arguments,
            call=call,
            tools=tuple(arguments.get("tools") or ()),
            tails=tails,
            record=begin_record(self._recorder, info, call),
        )

    def note(self, request: EditedRequest) -> EditedRequest:
        """Tell the node around about an edited request; warn once where a graph does not keep the edit."""
        if (edits := edits_of_node.get()) is not None:
            edits.append(request)
        elif request.is_rewritten and _is_in_graph() and not self._warned:
            self._warned = True
            warnings.warn(
                "A wrapped model edits each request of this graph, but not its durable history; use `.middleware()` "
                "for `create_agent`, `.model_node()` for a node. Silence with "
                "warnings.filterwarnings('ignore', category=HistoryProcessingWarning)",
                HistoryProcessingWarning,
                stacklevel=2,
            )
        return request

    def compose(self, runnable: Runnable[Any, Any]) -> Runnable[Any, Any]:
        """Wrap what one of this adapter's models is composed with; its own models stay as they are."""
        return rebuild(runnable, self._wrap_other)

    def _wrap_other(self, model: BaseChatModel) -> BaseChatModel:
        own = isinstance(model, EditingModel) and model.kedi_editor is self
        return model if own else self._wrap_model(model)

    def _wrap_model(self, model: BaseChatModel) -> BaseChatModel:
        refuse_wrapped(model)
        wrapped = model.model_copy()
        wrapped.__class__ = editing_class(type(model), self)
        return wrapped

    def _new_session(
        self, policy: HistoryPolicy[BaseMessage], carried: Carried, assembly: RunAssembly | None
    ) -> RunSession[BaseMessage]:
        return RunSession(
            policy,
            DIALECT,
            owner=self,
            origins=self._origins,
            carried=carried,
            surroundings=_SURROUNDINGS,
            reports=self._recorder is not None,
            assembly=assembly,
        )


def _is_in_graph() -> bool:
    config = var_child_runnable_config.get()
    return "langgraph_node" in ((config or {}).get("metadata") or {})
