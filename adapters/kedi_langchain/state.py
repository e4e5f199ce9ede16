"""What a LangGraph thread remembers of its edits between model calls: plain values in private middleware state.

One dictionary under one key, so that checkpointers of any kind carry it and a caller can neither see nor inject it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Final, NotRequired

from langchain.agents.middleware import AgentState
from langchain.agents.middleware.types import PrivateStateAttr
from langgraph.channels.untracked_value import UntrackedValue

from kedi_compile.history.carried import Carried
from kedi_langchain.assembly import RunTails

KEY: Final = "kedi_history"

RUN_KEY: Final = "kedi_run"
"""Where a run keeps what was assembled for it, which no checkpointer is given."""


class HeldRun(str):
    """A word in a graph's state that holds the assembly of a run.

    Whoever streams updates gets the word, which any JSON takes; the assembly is an object of this process.
    """

    __slots__ = ("tails",)

    tails: RunTails


def held(tails: RunTails) -> HeldRun:
    """Return what to write under `RUN_KEY`."""
    run = HeldRun("assembled")
    run.tails = tails
    return run


def held_in(state: Mapping[str, Any]) -> RunTails | None:
    """Return the assembly of the run under way; None at its beginning, and in a run that was resumed."""
    run = state.get(RUN_KEY)
    return run.tails if isinstance(run, HeldRun) else None


def _newest(_: dict[str, Any], newest: dict[str, Any]) -> dict[str, Any]:
    """Two calls of the model may end in one step, where another middleware makes them side by side."""
    return newest


class HistoryState(AgentState[Any]):
    """The agent's state with what the middleware remembers."""

    kedi_run: NotRequired[Annotated[HeldRun, UntrackedValue, PrivateStateAttr]]
    kedi_history: NotRequired[Annotated[dict[str, Any] | None, PrivateStateAttr, _newest]]


def remembered(state: Mapping[str, Any]) -> tuple[Carried, int]:
    """Return what the thread carries, and the 1-based index of its last request in this run (0 before the first)."""
    plain = state.get(KEY) or {}
    return Carried.from_plain(plain), int(plain.get("request_index", 0))


def run_in(state: Mapping[str, Any]) -> str | None:
    """Return the name of the run under way, which it keeps when it is resumed; None where nobody writes it down."""
    run = (state.get(KEY) or {}).get("run")
    return run if isinstance(run, str) else None


def to_remember(carried: Carried, request_index: int, run: str | None = None) -> dict[str, Any]:
    """Return the private state to write."""
    plain = {**carried.to_plain(), "request_index": request_index}
    return plain if run is None else {**plain, "run": run}
