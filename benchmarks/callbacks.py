"""The callbacks that both stacks are measured with, as plain functions."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kedi_compile import HistoryProcessorContext, HistoryProcessorState

Context = HistoryProcessorContext[Any]
State = HistoryProcessorState

NEVER = 10**12
ALL = 10**9
EDIT_STEP = 3


def inspect(ctx: Context) -> Sequence[Any]:
    """Look at every message and change nothing."""
    return list(ctx.messages)


def keep_four(ctx: Context) -> Sequence[Any]:
    """Keep the four newest groups."""
    return ctx.keep_recent_groups(4)


def keep_all(ctx: Context) -> Sequence[Any]:
    """Allow more groups than there are."""
    return ctx.keep_recent_groups(ALL)


def keep_four_later(ctx: Context) -> Sequence[Any]:
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


def ask_everything(state: State) -> bool:
    """Ask for every fact there is; say yes."""
    return bool(state.estimated_tokens and state.history_version) or bool(state.measured_tokens)
