"""What is measured: configured capabilities, ours and the neighbours'.

All callbacks of ours are coroutine functions and run on the event loop like the neighbours' hooks, so that no row
contains the hop to a worker thread that a plain function gets, here and in `ProcessHistory`; "keep plain" shows it.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.messages import ModelMessage

from benchmarks.host import Capability
from kedi_compile import (
    HistoryPrefixWarning,
    HistoryProcessorCallback,
    HistoryProcessorCondition,
    HistoryProcessorContext,
    HistoryProcessorState,
)
from kedi_pydantic_ai import PydanticAdapter

Context = HistoryProcessorContext[ModelMessage]
State = HistoryProcessorState

NEVER = 10**12
ALL = 10**9
EDIT_STEP = 3


@dataclass(frozen=True, slots=True)
class Case:
    """A capability, made anew for each sample, and how many requests of one run a sample makes."""

    name: str
    make: Callable[[], Capability]
    steps: int = 4


def adapter(
    processor: HistoryProcessorCallback[ModelMessage] | None = None,
    condition: HistoryProcessorCondition | None = None,
) -> Capability:
    """Return a new adapter, without its warning that edits cost prefix-cache hits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HistoryPrefixWarning)
        return PydanticAdapter(processor, condition)


async def inspect(ctx: Context) -> Sequence[ModelMessage]:
    """Look at every message and change nothing."""
    return list(ctx.messages)


async def keep_four(ctx: Context) -> Sequence[ModelMessage]:
    """Keep the four newest groups."""
    return ctx.keep_recent_groups(4)


def keep_four_plain(ctx: Context) -> Sequence[ModelMessage]:
    """Keep the four newest groups, as a plain function."""
    return ctx.keep_recent_groups(4)


async def keep_all(ctx: Context) -> Sequence[ModelMessage]:
    """Allow more groups than there are."""
    return ctx.keep_recent_groups(ALL)


async def keep_four_later(ctx: Context) -> Sequence[ModelMessage]:
    """Keep everything for two requests, then four groups."""
    return ctx.keep_recent_groups(4 if ctx.request_index >= EDIT_STEP else ALL)


def by_index(state: State) -> bool:
    """Say no without a look at the history."""
    return state.request_index < 0 or state.cache_epoch < 0


def by_estimate(state: State) -> bool:
    """Say no after asking for the estimate."""
    return state.estimated_tokens > NEVER


def by_estimate_yes(state: State) -> bool:
    """Say yes after asking for the estimate."""
    return state.estimated_tokens >= 0


def by_measured(state: State) -> bool:
    """Say no after asking for the provider's numbers, or for the estimate where there are none."""
    return (state.measured_tokens or state.estimated_tokens) > NEVER


def by_version(state: State) -> bool:
    """Say no after asking for the estimate and the digest of the whole history."""
    return state.estimated_tokens > NEVER or not state.history_version


class Bare(AbstractCapability[None]):
    """A capability without a single hook: what is timed here is this package and the host's empty methods."""


OURS: tuple[Case, ...] = (
    Case("bare", Bare),
    Case("none", adapter),
    Case("index", lambda: adapter(inspect, by_index)),
    Case("estimate", lambda: adapter(inspect, by_estimate)),
    Case("measured", lambda: adapter(inspect, by_measured)),
    Case("version", lambda: adapter(inspect, by_version)),
    Case("keep", lambda: adapter(keep_four)),
    Case("keep plain", lambda: adapter(keep_four_plain)),
    Case("keep all", lambda: adapter(keep_all)),
    Case("keep later", lambda: adapter(keep_four_later), steps=EDIT_STEP),
    Case("inspect", lambda: adapter(inspect)),
)

LOOP = Case("loop", lambda: adapter(keep_all, by_estimate_yes))


async def _last_twenty(messages: list[ModelMessage]) -> list[ModelMessage]:
    return messages[-21:]  # twenty and the current request; this cut does not part a call from its result


PROCESS_HISTORY = Case("core keep 20", lambda: ProcessHistory(_last_twenty), steps=1)
"""The host's own capability keeps what it edits, so only a first request sees the whole history."""
