"""One request in a few words: the cells of the list at a terminal and of the page's table.

What each cell means is decided here once; how wide it may be, and its colour, where it is shown. Unknown is `-`.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

from kedi_compile.dump.schema import AssemblyDump, HistoryDump, Outcome, RequestDump
from kedi_compile.report.selection import Numbered

UNKNOWN: Final = "-"
_UNCHANGED: Final = {"not_processed": UNKNOWN, "skipped": "skipped", "unchanged": "unchanged"}
_GONE: Final = frozenset({"dropped", "archived"})
_THOUSAND: Final = 1_000
_EXACT_BELOW: Final = 10_000


@dataclass(frozen=True, slots=True)
class Row:
    """What the list says of one request; every cell is text, numbers come with separators."""

    number: str
    date: str
    time: str
    run: str
    index: str
    adapter: str
    model: str
    outcome: Outcome
    tokens: str
    limit: str
    size: str
    history: str
    generation: str
    contracts: str
    sources: str
    cache: str


def describe(numbered: Numbered) -> Row:
    """Return the cells of one request."""
    dump = numbered.dump
    total, limit = total_of(dump), None if dump.assembly is None else dump.assembly.budget.limit
    return Row(
        number=str(numbered.number),
        date=date_of(dump.at),
        time=time_of(dump.at),
        run=dump.run_id or UNKNOWN,
        index=str(dump.request_index),
        adapter=dump.adapter,
        model=dump.model_id,
        outcome=dump.outcome,
        tokens=exactly(total),
        limit=exactly(limit),
        size=f"{roughly(total)}/{roughly(limit)}" if limit is not None else roughly(total),
        history=_history(dump.history),
        generation=str(dump.history.generation_after),
        contracts=_contracts(dump.assembly),
        sources=_sources(dump.assembly),
        cache=roughly(dump.usage.cache_read),
    )


def total_of(dump: RequestDump) -> int | None:
    """Return the tokens of the request, or of its history where nothing else was counted."""
    if dump.assembly is not None:
        return dump.assembly.budget.total
    return dump.history.tokens_before if dump.history.tokens_after is None else dump.history.tokens_after


def groups_of(history: HistoryDump) -> tuple[int, int]:
    """Return how many groups there were before the edit, and how many of them are still there in some form."""
    return len(history.groups), sum(group.decision not in _GONE for group in history.groups)


def date_of(at: float) -> str:
    """Return the day in UTC."""
    return _format(at, "%Y-%m-%d")


def time_of(at: float) -> str:
    """Return the time of day in UTC, to the second."""
    return _format(at, "%H:%M:%S")


def exactly(count: int | None) -> str:
    """Return a count with separators."""
    return UNKNOWN if count is None else f"{count:,}"


def roughly(count: int | None) -> str:
    """Return a count in at most five characters up to a thousand millions: 9,120, 12.3k, 200k, 1.5M."""
    if count is None or abs(count) < _EXACT_BELOW:
        return exactly(count)
    amount, unit = count / _THOUSAND, "k"
    if round(amount) >= _THOUSAND:
        amount, unit = amount / _THOUSAND, "M"
    return f"{amount:.3g}{unit}" if round(amount) < _THOUSAND else f"{amount:,.0f}{unit}"


def _format(at: float, form: str) -> str:
    try:
        return datetime.fromtimestamp(at, UTC).strftime(form)
    except (OverflowError, ValueError, OSError):  # a number that is no time of any calendar
        return UNKNOWN


def _history(history: HistoryDump) -> str:
    if history.outcome in _UNCHANGED:
        return _UNCHANGED[history.outcome]
    return "refused" if history.outcome == "refused" else _edited(history)


def _edited(history: HistoryDump) -> str:
    before, after = groups_of(history)
    return f"{before} -> {after}" if before else "edited"


def _contracts(assembly: AssemblyDump | None) -> str:
    if assembly is None:
        return UNKNOWN
    return f"{sum(contract.in_force for contract in assembly.contracts)}/{len(assembly.contracts)}"


def _sources(assembly: AssemblyDump | None) -> str:
    if assembly is None:
        return UNKNOWN
    out = sum(source.visibility == "not_visible" for source in assembly.sources)  # also where a part is shown
    return f"{len(assembly.sources) - out}/{out}"
