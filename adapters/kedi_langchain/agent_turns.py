"""Runs of agents as turns: where one begins, and which one the caller is in.

The run itself is in `agent_run.py`, how it ends in `run_ends.py`. Measured on langchain-core 1.8, langgraph 1.2.
"""

from __future__ import annotations

from typing import Any

from langchain_core.runnables.config import var_child_runnable_config
from langgraph.constants import CONFIG_KEY_CHECKPOINTER
from langgraph.runtime import Runtime

from kedi_compile import ConversationError, HistoryConfigurationError
from kedi_compile.conversation.scope import current_scope
from kedi_compile.conversation.state import ConversationState
from kedi_compile.conversation.tickets import Ticket
from kedi_compile.conversation.turns import begin
from kedi_langchain.agent_run import AgentRun
from kedi_langchain.run_ends import Place, find_handler, find_place


def open_run(runtime: Runtime[Any], *, is_awaited: bool) -> AgentRun | None:
    """Take a ticket for the agent's run that begins in this node; None where it is no turn of a conversation.

    `is_awaited` says that the host awaits the run, and so its end.

    Raises:
        HistoryConfigurationError: the graph has a checkpointer, which would be a second memory.
        ConversationError: nothing tells where the run ends; or as `begin` does.
    """
    scope = current_scope()
    turn = begin(scope)
    if turn is None:
        return None
    place = find_place()
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
    if is_awaited:
        place.handler.await_ends()
    return run


def _has_memory(runtime: Runtime[Any], state: ConversationState, place: Place | None) -> bool:
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
    if (handler := find_handler()[0]) is not None:
        handler.follow(ticket)


def is_around_graph(state: ConversationState) -> bool:
    """Whether the graph in whose node the caller runs was begun with this conversation."""
    place = find_place()
    return place is not None and place.handler.is_with(state, place.graph)


def current_run() -> AgentRun | None:
    """Return the turn of the agent in whose node the caller runs."""
    place = find_place()
    return place.handler.agent(place.graph) if place is not None else None
