"""What is measured on Pydantic AI: our adapter, configured in several ways.

All callbacks of ours are coroutine functions and run on the event loop like the neighbours' hooks, so that no row
contains the hop to a worker thread that a plain function gets, here and in `ProcessHistory`; "keep plain" shows it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage

from benchmarks import callbacks as c
from benchmarks.pydantic_ai.host import AgentRun, Capability
from benchmarks.stacks import Case
from kedi_compile import HistoryPrefixWarning, HistoryProcessorCallback, HistoryProcessorCondition
from kedi_pydantic_ai import PydanticAdapter

Plain = Callable[[c.Context], Sequence[Any]]


class Bare(AbstractCapability[None]):
    """A capability without a single hook: what is timed here is this package and the host's empty methods."""


def case(name: str, make: Callable[[], Capability], steps: int = 4) -> Case:
    """Return a case whose runs have a capability made anew."""
    return Case(name, lambda history: AgentRun(make(), history), steps)


def adapter(
    processor: HistoryProcessorCallback[ModelMessage] | None = None,
    condition: HistoryProcessorCondition | None = None,
) -> Capability:
    """Return a new adapter, without its warning that edits cost prefix-cache hits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HistoryPrefixWarning)
        return PydanticAdapter(processor, condition)


def _ours(name: str, processor: Plain, condition: HistoryProcessorCondition | None = None, steps: int = 4) -> Case:
    async def on_the_loop(ctx: c.Context) -> Sequence[Any]:
        return processor(ctx)

    return case(name, lambda: adapter(on_the_loop, condition), steps)


CASES: tuple[Case, ...] = (
    case("bare", Bare),
    case("none", adapter),
    _ours("index", c.inspect, c.by_index),
    _ours("estimate", c.inspect, c.by_estimate),
    _ours("measured", c.inspect, c.by_measured),
    _ours("version", c.inspect, c.by_version),
    _ours("keep", c.keep_four),
    case("keep plain", lambda: adapter(c.keep_four)),
    _ours("keep all", c.keep_all),
    _ours("keep later", c.keep_four_later, steps=c.EDIT_STEP),
    _ours("inspect", c.inspect),
)

LOOP = _ours("loop", c.keep_all, c.by_estimate_yes)
ASKING = _ours("asking", c.keep_all, c.ask_everything)
