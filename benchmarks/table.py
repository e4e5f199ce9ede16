"""The rows of the table and their goals, for any framework."""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.callbacks import EDIT_STEP
from benchmarks.rows import Added, Copying, Readable, Timed

FIRST = slice(0, 1)
LATER = slice(1, None)
EDIT = slice(EDIT_STEP - 1, EDIT_STEP)


@dataclass(frozen=True, slots=True)
class Goals:
    """What the rows of one framework should stay below, in R; `inspect` is in deep copies."""

    estimate: float
    estimate_later: float
    keep: float
    keep_later: float
    version: float
    inspect: float


def run_rows(goals: Goals) -> tuple[Readable, ...]:
    """Return the rows of a way in that knows a run: the first request of it, and later ones."""
    later, none = goals.keep_later, "no processor configured, beyond no hooks"
    return (
        Added(f"{none}, first request", "none", "bare", FIRST, 0.01),
        Added(f"{none}, later requests", "none", "bare", LATER, 0.01),
        Added("a stored digest is matched, once, beyond the estimate", "version", "estimate", FIRST, goals.version),
        Timed("condition reads only request_index and cache_epoch, first request", "index", FIRST, 0.05),
        Timed("condition reads only request_index and cache_epoch, later requests", "index", LATER, 0.05),
        Timed("condition on estimated_tokens is false, first request", "estimate", FIRST, goals.estimate),
        Timed("condition on estimated_tokens is false, later requests", "estimate", LATER, goals.estimate_later),
        Timed("condition on measured_tokens is false, later requests", "measured", LATER, goals.estimate_later),
        Timed("keep_recent_groups(4), first request, edit staged", "keep", FIRST, goals.keep),
        Timed("keep_recent_groups(4), later request of a full history, edit staged", "keep later", EDIT, later),
        Timed("keep_recent_groups, later requests, nothing to drop", "keep all", LATER, later),
        Timed("keep_recent_groups(4), later requests behind the edit", "keep", LATER, later),
        Timed("keep_recent_groups(4) as a plain function in a thread, first request", "keep plain", FIRST),
        Timed("no hooks at all, part of every row, first request", "bare", FIRST),
        Timed("no hooks at all, part of every row, later requests", "bare", LATER),
        Copying("inspect-only list(ctx.messages), first request", "inspect", FIRST, goals.inspect),
    )


def request_rows(goals: Goals, prefix: str) -> tuple[Readable, ...]:
    """Return the rows of a way in for which each request is a run of its own, all of them over a full history.

    `prefix` begins the names of its cases.
    """
    none = "no processor configured, beyond no hooks"
    return (
        Added(f"{none}, first request", f"{prefix} none", f"{prefix} bare", FIRST, 0.01),
        Added(f"{none}, later requests", f"{prefix} none", f"{prefix} bare", LATER, 0.01),
        Timed("condition reads only request_index and cache_epoch, first request", f"{prefix} index", FIRST, 0.05),
        Timed("condition reads only request_index and cache_epoch, later requests", f"{prefix} index", LATER, 0.05),
        Timed("condition on estimated_tokens is false, first request", f"{prefix} estimate", FIRST, goals.estimate),
        Timed(
            "condition on estimated_tokens is false, later requests", f"{prefix} estimate", LATER, goals.estimate_later
        ),
        Timed("keep_recent_groups(4), first request, edit staged", f"{prefix} keep", FIRST, goals.keep),
        Timed("keep_recent_groups(4), later requests, edit staged anew", f"{prefix} keep", LATER, goals.keep_later),
        Timed("keep_recent_groups, later requests, nothing to drop", f"{prefix} keep all", LATER, goals.keep_later),
        Timed("a model that is not wrapped, part of every row, later requests", f"{prefix} bare", LATER),
        Copying("inspect-only list(ctx.messages), first request", f"{prefix} inspect", FIRST, goals.inspect),
    )
