"""The rows of the table: which samples a row reads, what it divides by, and the goal it is held against."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple

from benchmarks.cases import EDIT_STEP
from benchmarks.host import ACCOUNTS
from benchmarks.measure import Samples
from benchmarks.memory import Memory

FIRST = slice(0, 1)
LATER = slice(1, None)
EDIT = slice(EDIT_STEP - 1, EDIT_STEP)


class Spread(NamedTuple):
    """A median, and the least and greatest value behind it."""

    median: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Row:
    """One measured ratio. `goal` is the most it should be; None for a row that is only shown."""

    name: str
    unit: str
    spread: Spread
    goal: float | None = None
    parts: dict[str, float] = field(default_factory=dict)

    @property
    def verdict(self) -> str:
        """How the value stands to the goal."""
        if self.goal is None:
            return ""
        value = self.spread.median
        return "met" if value <= self.goal else f"{value / self.goal:.1f} x goal"


@dataclass(frozen=True, slots=True)
class Timed:
    """A row over some requests of a case's runs, in units of R."""

    name: str
    case: str
    requests: slice
    goal: float | None = None

    def row(self, samples: Samples) -> Row:
        """Return the row over these samples."""
        unit = median(samples.reference)
        chosen = [request for run in samples.requests[self.case] for request in run[self.requests]]
        parts = {account: median(request[account] for request in chosen) / unit for account in ACCOUNTS}
        spread = spread_of(_totals(samples, self.case, self.requests), unit)
        return Row(self.name, "R", spread, self.goal, parts)


OURS: tuple[Timed, ...] = (
    Timed("condition reads only request_index and cache_epoch, first request", "index", FIRST, 0.05),
    Timed("condition reads only request_index and cache_epoch, later requests", "index", LATER, 0.05),
    Timed("condition on estimated_tokens is false, first request", "estimate", FIRST, 1.2),
    Timed("condition on estimated_tokens is false, later requests", "estimate", LATER, 0.45),
    Timed("condition on measured_tokens is false, later requests", "measured", LATER, 0.45),
    Timed("keep_recent_groups(4), first request, edit staged", "keep", FIRST, 1.8),
    Timed("keep_recent_groups(4), later request of a full history, edit staged", "keep later", EDIT, 0.6),
    Timed("keep_recent_groups, later requests, nothing to drop", "keep all", LATER, 0.6),
    Timed("keep_recent_groups(4), later requests behind the edit", "keep", LATER, 0.6),
    Timed("keep_recent_groups(4) as a plain function in a thread, first request", "keep plain", FIRST),
    Timed("a capability without hooks, part of every row, first request", "bare", FIRST),
    Timed("a capability without hooks, part of every row, later requests", "bare", LATER),
)

NEIGHBOURS: tuple[Timed, ...] = (
    Timed("ProcessHistory keep-last-20, first request", "core keep 20", FIRST),
    Timed("harness token trigger is false, first request", "harness trigger", FIRST),
    Timed("harness token trigger is false, later requests", "harness trigger", LATER),
    Timed("harness keep-last-20, first request", "harness keep 20", FIRST),
    Timed("harness keep-last-20, later requests", "harness keep 20", LATER),
    Timed("summarization token trigger is false, first request", "summarization trigger", FIRST),
    Timed("summarization token trigger is false, later requests", "summarization trigger", LATER),
    Timed("summarization keep-last-20, first request", "summarization keep 20", FIRST),
    Timed("summarization keep-last-20, later requests", "summarization keep 20", LATER),
)


def timed_rows(rows: Sequence[Timed], samples: Samples) -> list[Row]:
    """Return the rows whose case was measured."""
    return [row.row(samples) for row in rows if samples.requests.get(row.case)]


def rows_of_ours(samples: Samples) -> list[Row]:
    """Return all rows of ours over one history."""
    return [*added_rows(samples), *timed_rows(OURS, samples), *inspect_rows(samples)]


def added_rows(samples: Samples) -> list[Row]:
    """What one case takes more than another, pair by pair, within the rounds."""
    return [
        _added("no processor configured, beyond no hooks, first request", samples, "none", "bare", FIRST, 0.01),
        _added("no processor configured, beyond no hooks, later requests", samples, "none", "bare", LATER, 0.01),
        _added("a stored digest is matched, once, beyond the estimate", samples, "version", "estimate", FIRST, 1.1),
    ]


def _added(name: str, samples: Samples, more: str, less: str, requests: slice, goal: float) -> Row:  # noqa: PLR0917
    pairs = zip(_totals(samples, more, requests), _totals(samples, less, requests), strict=True)
    added = spread_of((long - short for long, short in pairs), median(samples.reference))
    return Row(name, "R", added, goal)


def inspect_rows(samples: Samples) -> list[Row]:
    """A processor that lists every message and changes nothing, beside a deep copy of the history."""
    inspected = spread_of(_totals(samples, "inspect", FIRST), median(samples.deepcopy))
    copied = spread_of(samples.deepcopy, median(samples.reference))
    return [
        Row("inspect-only list(ctx.messages), first request", "deepcopy", inspected, goal=0.4),
        Row("copy.deepcopy(history)", "R", copied),
    ]


def scale_rows(small: Sequence[Row], large: Sequence[Row]) -> list[Row]:
    """How the rows of ours grow with the history, beyond the reference's own growth; no work cannot grow."""
    found = {row.name: row for row in large}
    return [_growth(row, found[row.name]) for row in small if row.goal is not None and row.goal > 0.01]


def _growth(before: Row, after: Row) -> Row:
    return Row(f"growth: {before.name}", "x", spread_of(after.spread, before.spread.median), goal=1.8)


def loop_row(times: Sequence[tuple[float, float]], requests: int) -> Row:
    """The time of a whole tool loop against its first half."""
    growth = spread_of(whole / half for half, whole in times)
    return Row(f"tool loop: {requests} requests against {requests // 2}", "x", growth, goal=2.5)


def memory_rows(memory: Memory) -> list[Row]:
    """What is held between requests, and what a request needs at most, in percent of the history's own size."""
    held, peak = (spread_of([100 * size / memory.history]) for size in (memory.held, memory.peak))
    return [
        Row("memory held beyond the history", "%", held, goal=20),
        Row("memory needed at most during a request", "%", peak),
    ]


def spread_of(values: Iterable[float], divisor: float = 1) -> Spread:
    """Return median, least and greatest of `values`, each divided by `divisor`."""
    shares = [value / divisor for value in values]
    return Spread(median(shares), min(shares), max(shares))


def _totals(samples: Samples, case: str, requests: slice) -> list[float]:
    return [sum(request.values()) for run in samples.requests[case] for request in run[requests]]
