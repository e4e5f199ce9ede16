"""Where an agent's run stands and how it ends: the callback handler that the host tells.

An agent's middleware sees where a run begins, but not that it fails, is cancelled or is left in mid-stream. The host
tells callback handlers, so inside an enabled scope every outermost run gets one: it commits a turn when its graph has
ended, and abandons it when the graph has failed. Nodes run in contexts of their own, so it also knows which turns are
around a call that a tool makes. Measured on langchain-core 1.8, langgraph 1.2.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any, NamedTuple, cast
from uuid import UUID

from langchain_core.callbacks import BaseCallbackHandler, BaseCallbackManager
from langchain_core.runnables.config import var_child_runnable_config
from langchain_core.tracers.context import register_configure_hook

from kedi_compile.conversation.callers import caller
from kedi_compile.conversation.scope import current_scope
from kedi_compile.conversation.state import ConversationState
from kedi_compile.conversation.tickets import Ticket, around, find_around, find_read
from kedi_langchain.agent_run import AgentRun


class _Run(NamedTuple):
    """Where a run stands: below which run, in which node, and with which conversation it was begun."""

    parent: UUID | None = None
    namespace: str | None = None
    state: ConversationState | None = None


class RunEnds(BaseCallbackHandler):
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

    def _note_start(
        self,
        *args: Any,
        run_id: UUID,
        parent_run_id: UUID | None = None,
        metadata: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> None:
        """Note where a run stands; a tool or model may start others below it."""
        namespace = (metadata or {}).get("langgraph_checkpoint_ns")
        self._runs[run_id] = _Run(parent_run_id, namespace, current_scope().state)

    on_chain_start = on_tool_start = on_retriever_start = on_chat_model_start = _note_start

    def _note_end(self, *args: Any, run_id: UUID, **kwargs: Any) -> None:
        """Forget a run of anything but a chain, however it ended."""
        self._forget(run_id)

    on_tool_end = on_tool_error = _note_end
    on_retriever_end = on_retriever_error = _note_end
    on_llm_end = on_llm_error = _note_end

    def on_chain_end(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> Any:
        """End the turn of a graph that ended well."""
        if (agent := self._ended(run_id, outputs)) is not None:
            agent.end_sync(outputs)

    def on_chain_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> Any:
        """End the turn of a graph that failed."""
        if (agent := self._failed(run_id, error)) is not None:
            agent.turn.abandon_sync(error)

    def await_ends(self) -> None:
        """Commit and release by awaiting from now on, where the host awaits its handlers.

        It asks each method whether to await it, and would drop what an awaited one raises on a synchronous path.
        """
        self.on_chain_end = self._on_chain_end_awaited  # type: ignore[method-assign]  # as said above
        self.on_chain_error = self._on_chain_error_awaited  # type: ignore[method-assign]  # as said above

    async def _on_chain_end_awaited(self, outputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        if (agent := self._ended(run_id, outputs)) is not None:
            await agent.end(outputs)

    async def _on_chain_error_awaited(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        if (agent := self._failed(run_id, error)) is not None:
            await agent.turn.abandon(error)

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

    def _run(self, run_id: UUID) -> _Run:
        return self._runs.get(run_id, _Run())

    def _forget(self, run_id: UUID) -> AgentRun | None:
        self._runs.pop(run_id, None)
        return self._agents.pop(run_id, None)


_begun: ContextVar[tuple[weakref.ref[RunEnds], ...]] = ContextVar("kedi_begun", default=())
"""The handlers of the runs that this context has begun, and may have to read on."""


class _InScope:
    """What the host asks, as if it were a context variable, which handler a new run gets."""

    def get(self) -> RunEnds | None:
        """Return a new handler inside an enabled scope, and inside a turn."""
        enclosing = around()
        if not enclosing and not current_scope().enabled:
            return None
        handler = RunEnds(enclosing)
        _begun.set((*(known for known in _begun.get() if known() is not None), weakref.ref(handler)))
        return handler


# The host asks for `get` alone; it adds a handler only to a run that has none of this class above it.
register_configure_hook(cast("ContextVar[Any]", _InScope()), inheritable=True, handle_class=RunEnds)


def _turns_around() -> Iterator[Ticket]:
    handler, run_id = find_handler()
    if handler is not None:
        yield from handler.turns_above(run_id)


def _turns_read() -> Iterator[Ticket]:
    own, _ = find_handler()  # what stands beside the caller in one run goes on by itself
    handlers = (known() for known in _begun.get())
    return (ticket for handler in handlers if handler not in (None, own) for ticket in handler.tickets())


find_around(_turns_around)
find_read(_turns_read)


class Place(NamedTuple):
    """Where a node's code runs: the handler of its run, and the run of its graph."""

    handler: RunEnds
    graph: UUID


def find_place() -> Place | None:
    """The place of the caller; None outside of a graph's nodes."""
    handler, run_id = find_handler()
    graph = handler.graph_of(run_id) if handler is not None and run_id is not None else None
    return None if handler is None or graph is None else Place(handler, graph)


def find_handler() -> tuple[RunEnds | None, UUID | None]:
    """The handler of the caller's run, and that run."""
    manager = (var_child_runnable_config.get() or {}).get("callbacks")
    if not isinstance(manager, BaseCallbackManager):
        return None, None
    handler = next((one for one in manager.handlers if isinstance(one, RunEnds)), None)
    return handler, manager.parent_run_id
