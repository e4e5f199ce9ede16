"""Runs of an agent as turns: who ends them, and what stands in front of their threads.

An agent's middleware sees where a run begins, but not that it fails, is cancelled or is left in mid-stream. The host
tells callback handlers, so inside an enabled scope every outermost run gets one: it commits a turn when its graph has
ended, and abandons it when the graph has failed. Nodes run in contexts of their own, so it also knows which turns are
around a call that a tool makes. Measured on langchain-core 1.8, langgraph 1.2.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.messages import AIMessage, BaseMessage, ToolMessage, convert_to_messages
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers.context import register_configure_hook
from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.errors import GraphInterrupt
from langgraph.runtime import Runtime
from langgraph.types import Command

from kedi_compile import ConversationError, HistoryConfigurationError
from kedi_compile.conversation.callers import caller, current_task
from kedi_compile.conversation.lanes import Lane, LaneKey
from kedi_compile.conversation.scope import Scope, current_scope
from kedi_compile.conversation.state import ConversationState
from kedi_compile.conversation.tickets import Ticket, around, find_around, find_read
from kedi_compile.conversation.turns import Turn, begin
from kedi_compile.history.carried import Carried
from kedi_langchain.continuation import without_response_id
from kedi_langchain.conversation import after_turn, refuse_repetition
from kedi_langchain.dialect import DIALECT
from kedi_langchain.editing import EditedRequest
from kedi_langchain.origins import ThreadOrigins


class AgentRun:
    """A run of an agent inside a turn; `front` are the conversation's messages, in front of the thread's own.

    `scope` is the one that it began in, also where its stream is read elsewhere.
    """

    def __init__(self, turn: Turn, scope: Scope) -> None:
        self.turn = turn
        self.scope = scope
        self.front: list[BaseMessage] = []
        self._lane: Lane[BaseMessage] | None = None
        self._thread: list[BaseMessage] = []
        self._results: dict[str, ToolMessage] = {}
        self._carried = Carried()
        self._is_paused = False

    def settle(self, key: LaneKey, thread: Sequence[BaseMessage], origins: ThreadOrigins) -> Carried | None:
        """Find the run's lane at its first request and return what it carries; None at later ones.

        Raises:
            ConversationError: the thread repeats an answer of the conversation.
        """
        if self._lane is not None:
            return None
        lane = self._lane = self.turn.state.lane(key)
        stored = lane.history.messages(DIALECT, origins.adopt)
        refuse_repetition(stored, thread, self.turn)
        self.front = list(stored)
        return lane.carried

    def answered(self, edited: EditedRequest, thread: Sequence[BaseMessage]) -> None:
        """Keep what an answered request left of the conversation, and the thread with its answer."""
        if edited.is_rewritten:
            self.front = [without_response_id(message) for message in edited.history[: edited.cut]]
        self._thread = list(thread)
        self._carried = edited.session.carried

    def node_ended(self, outputs: object) -> None:
        """Keep the results of tools that a node wrote."""
        for written in outputs if isinstance(outputs, list) else [outputs]:
            update = written.update if isinstance(written, Command) else written
            found = update.get("messages") if isinstance(update, Mapping) else None
            results = [one for one in found if isinstance(one, ToolMessage)] if isinstance(found, list) else []
            self._results |= {one.tool_call_id: one for one in results}

    def node_failed(self, error: BaseException) -> None:
        """Remember whether the graph was paused: nothing can resume it, so its turn is not committed."""
        self._is_paused = self._is_paused or isinstance(error, GraphInterrupt)

    async def end(self, outputs: object) -> None:
        """Commit what the conversation and the whole thread are now; nothing, where no model was asked."""
        lane = self._left(outputs)
        if self.turn.is_open:
            await (self.turn.abandon() if lane is None else self.turn.commit(lane))

    def end_sync(self, outputs: object) -> None:
        """Do what `end` does on a synchronous path."""
        lane = self._left(outputs)
        if self.turn.is_open and lane is None:
            self.turn.abandon_sync()
        elif self.turn.is_open and lane is not None:
            self.turn.commit_sync(lane)

    def _left(self, outputs: object) -> Lane[BaseMessage] | None:
        if self._lane is None or self._is_paused:
            return None
        # What a caller asked the graph for need not hold the messages; then they are put together.
        found = outputs.get("messages") if isinstance(outputs, Mapping) else None
        thread = convert_to_messages(found) if isinstance(found, list) else self._put_together()
        return after_turn(self._lane, [*self.front, *thread], self._carried)

    def _put_together(self) -> list[BaseMessage]:
        """The thread of the last request with its answer, and the results of tools behind that."""
        last = self._thread[-1] if self._thread else None
        called = [call["id"] for call in last.tool_calls] if isinstance(last, AIMessage) else []
        return [*self._thread, *(self._results[one] for one in called if one in self._results)]


class _Run(NamedTuple):
    """Where a run stands: below which run, in which node, and with which conversation it was begun."""

    parent: UUID | None = None
    namespace: str | None = None
    state: ConversationState | None = None


class _RunEnds(BaseCallbackHandler):
    """Knows which run is below which, and ends an agent's turn with the run of its graph.

    `enclosing` are the turns around its outermost run, which may have handlers of its own.
    """

    raise_error = True  # a commit that fails must fail the run
    run_inline = True  # nothing of it may wait for a thread, which all may be waiting for this turn

    def __init__(self, enclosing: Sequence[Ticket] = ()) -> None:
        self.caller = caller()
        self._enclosing = enclosing
        self._runs: dict[UUID, _Run] = {}
        self._agents: dict[UUID, AgentRun] = {}
        self._followed: list[Ticket] = []

    def on_chain_start(
        self,
        serialized: dict[str, Any],
        inputs: dict[str, Any],
        *,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note where a run stands."""
        self._note(run_id, parent_run_id, metadata)

    def on_tool_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """Note where a tool stands, for the runs below it."""
        self._note(run_id, parent_run_id, kwargs.get("metadata"))

    def on_retriever_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """Note where a retriever stands, for the runs below it."""
        self._note(run_id, parent_run_id, kwargs.get("metadata"))

    def on_chat_model_start(self, *args: Any, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: Any) -> None:
        """Note where a model stands, which may ask another."""
        self._note(run_id, parent_run_id, kwargs.get("metadata"))

    def on_tool_end(self, output: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget a tool."""
        self._forget(run_id)

    def on_tool_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget a tool."""
        self._forget(run_id)

    def on_retriever_end(self, documents: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget a retriever."""
        self._forget(run_id)

    def on_retriever_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget a retriever."""
        self._forget(run_id)

    def on_llm_end(self, response: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget a model."""
        self._forget(run_id)

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget a model."""
        self._forget(run_id)

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> Any:
        """End the turn of a graph that ended well."""
        if (agent := self._ended(run_id, outputs)) is not None:
            agent.end_sync(outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """End the turn of a graph that failed."""
        if (agent := self._failed(run_id, error)) is not None:
            agent.turn.abandon_sync(error)

    def _ended(self, run_id: UUID, outputs: object) -> AgentRun | None:
        if (outer := self._agent_of_node(run_id)) is not None:
            outer.node_ended(outputs)
        return self._forget(run_id)

    def _failed(self, run_id: UUID, error: BaseException) -> AgentRun | None:
        if (outer := self._agent_of_node(run_id)) is not None:
            outer.node_failed(error)
        return self._forget(run_id)

    def add(self, run_id: UUID, agent: AgentRun) -> None:
        """Let a graph's run end this turn, which its outermost caller has to read on where it is a stream."""
        self._agents[run_id] = agent
        agent.turn.ticket.reader = self.caller

    def follow(self, ticket: Ticket) -> None:
        """Let its outermost caller be the one who reads on a stream of a model somewhere below."""
        ticket.stands_for = self.caller
        self._followed = [*(one for one in self._followed if one.is_open), ticket]

    def tickets(self) -> list[Ticket]:
        """Return the tickets of the turns under way."""
        return [*(agent.turn.ticket for agent in list(self._agents.values())), *self._followed]

    def agent(self, run_id: UUID) -> AgentRun | None:
        """Return the turn of a graph's run."""
        return self._agents.get(run_id)

    def turns_above(self, run_id: UUID | None) -> Iterator[Ticket]:
        """Yield the turns that this run, or one above it, is part of."""
        yield from self._enclosing
        while run_id is not None:
            if (agent := self._agents.get(run_id)) is not None:
                yield agent.turn.ticket
            run_id = self._run(run_id).parent

    def graph_of(self, run_id: UUID) -> UUID | None:
        """Return the run of the graph in whose node this run stands: all runs of a node have its namespace."""
        parent, namespace, _ = self._run(run_id)
        while parent is not None and self._run(parent).namespace == namespace:
            parent = self._run(parent).parent
        return parent

    def is_with(self, state: ConversationState, run_id: UUID) -> bool:
        """Whether this run was begun with that conversation."""
        return self._run(run_id).state is state

    def is_below(self, state: ConversationState, run_id: UUID) -> bool:
        """Whether this run stands below one that was begun with that conversation."""
        parent = self._run(run_id).parent
        return parent is not None and self.is_with(state, parent)

    def _agent_of_node(self, run_id: UUID) -> AgentRun | None:
        parent = self._run(run_id).parent
        return None if parent is None else self._agents.get(parent)

    def _note(self, run_id: UUID, parent_run_id: UUID | None, metadata: dict[str, Any] | None) -> None:
        namespace = (metadata or {}).get("langgraph_checkpoint_ns")
        self._runs[run_id] = _Run(parent_run_id, namespace, current_scope().state)

    def _run(self, run_id: UUID) -> _Run:
        return self._runs.get(run_id, _Run())

    def _forget(self, run_id: UUID) -> AgentRun | None:
        self._runs.pop(run_id, None)
        return self._agents.pop(run_id, None)


class _AsyncRunEnds(_RunEnds):
    """The same for a run on an event loop, where a commit and what a turn releases are awaited."""

    async def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        """End the turn of a graph that ended well."""
        if (agent := self._ended(run_id, outputs)) is not None:
            await agent.end(outputs)

    async def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """End the turn of a graph that failed."""
        if (agent := self._failed(run_id, error)) is not None:
            await agent.turn.abandon(error)


_begun: ContextVar[tuple[weakref.ref[_RunEnds], ...]] = ContextVar("kedi_begun", default=())
"""The handlers of the runs that this context has begun, and may have to read on."""


class _InScope:
    """What the host asks, as if it were a context variable, which handler a new run gets."""

    def get(self) -> _RunEnds | None:
        """Return a new handler inside an enabled scope, and inside a turn."""
        enclosing = around()
        if not enclosing and not current_scope().enabled:
            return None
        handler = (_AsyncRunEnds if current_task() is not None else _RunEnds)(enclosing)
        _begun.set((*(known for known in _begun.get() if known() is not None), weakref.ref(handler)))
        return handler


# The host asks for `get` alone; it adds a handler only to a run that has none of this class above it.
register_configure_hook(cast("ContextVar[Any]", _InScope()), inheritable=True, handle_class=_RunEnds)


def _turns_around() -> Iterator[Ticket]:
    handler, run_id = _handler()
    if handler is not None:
        yield from handler.turns_above(run_id)


def _turns_read() -> Iterator[Ticket]:
    own, _ = _handler()  # what stands beside the caller in one run goes on by itself
    handlers = (known() for known in _begun.get())
    return (ticket for handler in handlers if handler not in (None, own) for ticket in handler.tickets())


find_around(_turns_around)
find_read(_turns_read)


def open_run(runtime: Runtime[Any]) -> AgentRun | None:
    """Take a ticket for the agent's run that begins in this node; None where it is no turn of a conversation.

    Raises:
        HistoryConfigurationError: the graph has a checkpointer, which would be a second memory.
        ConversationError: nothing tells where the run ends; or as `begin` does.
    """
    scope = current_scope()
    turn = begin(scope)
    if turn is None:
        return None
    place = _place()
    if _has_memory(runtime, turn.state, place):
        turn.release_unstarted()
        msg = (
            "This agent has a checkpointer and runs inside an enabled `history_scope`, so it would have two memories; "
            "leave the checkpointer out, or use `history_scope(enabled=False)`"
        )
        raise HistoryConfigurationError(msg)
    if place is None:
        turn.release_unstarted()
        msg = "The agent's run cannot be followed to its end; enter `history_scope` outside of the agent's own call"
        raise ConversationError(msg, session_id=turn.state.session_id)
    run = AgentRun(turn, scope)
    place.handler.add(place.graph, run)
    return run


def _has_memory(runtime: Runtime[Any], state: ConversationState, place: _Place | None) -> bool:
    """Whether a checkpointer keeps the agent's messages from call to call, or those of a graph it is a node of.

    Where a tool of such a graph names a conversation for an agent of its own, nothing of that agent is kept.
    """
    config = var_child_runnable_config.get() or {}
    if config.get("configurable", {}).get(CONFIG_KEY_CHECKPOINTER) is None:
        return False
    graph, _, _ = (runtime.execution_info.checkpoint_ns if runtime.execution_info else "").rpartition("|")
    is_for_one_call = ":" in graph  # the host names a node's own task in it
    return not is_for_one_call or (place is not None and place.handler.is_below(state, place.graph))


def follow(ticket: Ticket) -> None:
    """Tell the outermost run, if there is one, of the turn of a model somewhere below it."""
    if (handler := _handler()[0]) is not None:
        handler.follow(ticket)


def is_around_graph(state: ConversationState) -> bool:
    """Whether the graph in whose node the caller runs was begun with this conversation."""
    place = _place()
    return place is not None and place.handler.is_with(state, place.graph)


def current_run() -> AgentRun | None:
    """Return the turn of the agent in whose node the caller runs."""
    place = _place()
    return place.handler.agent(place.graph) if place is not None else None


class _Place(NamedTuple):
    """Where a node's code runs: the handler of its run, and the run of its graph."""

    handler: _RunEnds
    graph: UUID


def _place() -> _Place | None:
    """The place of the caller; None outside of a graph's nodes."""
    handler, run_id = _handler()
    graph = handler.graph_of(run_id) if handler is not None and run_id is not None else None
    return None if handler is None or graph is None else _Place(handler, graph)


def _handler() -> tuple[_RunEnds | None, UUID | None]:
    """The handler of the caller's run, and that run."""
    manager = (var_child_runnable_config.get() or {}).get("callbacks")
    if not isinstance(manager, BaseCallbackManager):
        return None, None
    handler = next((one for one in manager.handlers if isinstance(one, _RunEnds)), None)
    return handler, manager.parent_run_id
