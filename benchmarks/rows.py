"""How rows are read off samples: which requests of a case, and what they are divided by.

Which rows there are, and the goals they are held against, is in `table.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from statistics import median
from typing import NamedTuple, Protocol

from benchmarks.samples import Memory, Samples


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


class Readable(Protocol):
    """A row before it is measured."""

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases it needs."""
        ...

    def row(self, samples: Samples) -> Row:
        """Read it off the samples."""
        ...


@dataclass(frozen=True, slots=True)
class Timed:
    """A row over some requests of a case's runs, in units of R."""

    name: str
    case: str
    requests: slice
    goal: float | None = None

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases it needs."""
        return (self.case,)

    def row(self, samples: Samples) -> Row:
        """Read it off the samples, with its accounts."""
        unit = median(samples.reference)
        chosen = [request for run in samples.requests[self.case] for request in run[self.requests]]
        parts = {account: median(request[account] for request in chosen) / unit for account in chosen[0]}
        spread = spread_of(_totals(samples, self.case, self.requests), unit)
        return Row(self.name, "R", spread, self.goal, parts)


@dataclass(frozen=True, slots=True)
class Added:
    """What one case takes more than another, pair by pair, within the rounds."""

    name: str
    more: str
    less: str
    requests: slice
    goal: float

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases it needs."""
        return (self.more, self.less)

    def row(self, samples: Samples) -> Row:
        """Read it off the samples."""
        pairs = zip(*(_totals(samples, case, self.requests) for case in self.cases), strict=True)
        return Row(self.name, "R", spread_of((long - short for long, short in pairs), _unit(samples)), self.goal)


@dataclass(frozen=True, slots=True)
class Copying:
    """A row over some requests of a case's runs, as a share of a deep copy of the history."""

    name: str
    case: str
    requests: slice
    goal: float

    @property
    def cases(self) -> tuple[str, ...]:
        """The names of the cases it needs."""
        return (self.case,)

    def row(self, samples: Samples) -> Row:
        """Read it off the samples."""
        spread = spread_of(_totals(samples, self.case, self.requests), median(samples.deepcopy))
        return Row(self.name, "deepcopy", spread, self.goal)


def read_rows(rows: Sequence[Readable], samples: Samples) -> list[Row]:
    """Return the rows whose cases were measured."""
    return [row.row(samples) for row in rows if all(samples.requests.get(case) for case in row.cases)]


def copy_row(samples: Samples) -> Row:
    """What a deep copy takes."""
    return Row("copy.deepcopy(history)", "R", spread_of(samples.deepcopy, _unit(samples)))


def scale_rows(small: Sequence[Row], large: Sequence[Row]) -> list[Row]:
    """How rows grow with the history, beyond the reference's own growth; no work cannot grow."""
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


def _unit(samples: Samples) -> float:
    return median(samples.reference)


def _totals(samples: Samples, case: str, requests: slice) -> list[float]:
    return [sum(request.values()) for run in samples.requests[case] for request in run[requests]]
