"""The numbers of the page's charts, out of the dumps of a run; pure, and in one pass over the requests.

Every series has one value a request, in the order of the file, unless it says otherwise; None means that nothing is
known. How they are drawn is in `charts.py`. Source: Assembly specification, Operational observability.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from kedi_compile.dump.schema import HistoryDump, RequestDump
from kedi_compile.report.rows import groups_of, total_of
from kedi_compile.report.selection import Numbered

BANDS: Final = 7
"""How many kinds get a band of their own; the palette has one colour more, for all the others."""
OTHERS: Final = "all others"
_UNASSEMBLED: Final = "history (estimated)"


@dataclass(frozen=True, slots=True)
class Band:
    """One kind of something that adds up, such as the tokens of a source."""

    name: str
    amounts: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Edit:
    """One edit of the history: the request's number, and tokens and groups before and after."""

    number: int
    tokens_before: int
    tokens_after: int
    groups_before: int
    groups_after: int


@dataclass(frozen=True, slots=True)
class Strip:
    """A contract over neighbouring requests, `first` to `last` inclusive, that it stood in the same way."""

    contract: str
    first: int
    last: int
    in_force: bool


@dataclass(frozen=True, slots=True)
class Steps:
    """The generation of one lane over neighbouring requests."""

    numbers: tuple[int, ...]
    generations: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Series:
    """All that the charts need; `contracts` are the names of the strips in order of appearance."""

    numbers: tuple[int, ...]
    outcomes: tuple[str, ...]
    context: tuple[Band, ...]
    totals: tuple[int, ...]
    limits: tuple[int | None, ...]
    edits: tuple[Edit, ...]
    generations: tuple[Steps, ...]
    protected: tuple[Band, ...]
    contracts: tuple[str, ...]
    strips: tuple[Strip, ...]
    inputs: tuple[int | None, ...]
    outputs: tuple[int | None, ...]
    cache_reads: tuple[int | None, ...]
    runs: int
    models: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Point:
    number: int
    outcome: str
    run: str | None
    model: str
    lane: tuple[str | None, ...]
    context: Mapping[str, int]
    limit: int | None
    edit: Edit | None
    generation: int
    protected: Mapping[str, int]
    contracts: Mapping[str, bool]
    input: int | None
    output: int | None
    cache_read: int | None


def collect(requests: Iterable[Numbered]) -> Series:
    """Return the series of the requests; of each request only its numbers are held."""
    points = [_measure(request) for request in requests]
    context = _bands([point.context for point in points])
    return Series(
        numbers=tuple(point.number for point in points),
        outcomes=tuple(point.outcome for point in points),
        context=context,
        totals=tuple(sum(point.context.values()) for point in points),
        limits=tuple(point.limit for point in points),
        edits=tuple(point.edit for point in points if point.edit is not None),
        generations=_generations(points),
        protected=_bands([point.protected for point in points]),
        contracts=tuple(dict.fromkeys(name for point in points for name in point.contracts)),
        strips=tuple(_strips(points)),
        inputs=tuple(point.input for point in points),
        outputs=tuple(point.output for point in points),
        cache_reads=tuple(point.cache_read for point in points),
        runs=len({point.run for point in points if point.run is not None}),
        models=tuple(dict.fromkeys(point.model for point in points)),
    )


def _measure(request: Numbered) -> _Point:
    dump = request.dump
    assembly = dump.assembly
    return _Point(
        number=request.number,
        outcome=dump.outcome,
        run=dump.run_id,
        model=dump.model_id,
        lane=(dump.conversation_id, dump.lane, dump.run_id if dump.lane is None else None),
        context=_context(dump),
        limit=None if assembly is None else assembly.budget.limit,
        edit=_edit(request.number, dump.history),
        generation=dump.history.generation_after,
        protected=Counter(reason for group in dump.history.groups for reason in group.protected_reasons),
        contracts={} if assembly is None else {f"{c.id} {c.version}": c.in_force for c in assembly.contracts},
        input=dump.usage.input,
        output=dump.usage.output,
        cache_read=dump.usage.cache_read,
    )


def _context(dump: RequestDump) -> Mapping[str, int]:
    if dump.assembly is not None:
        return dump.assembly.budget.by_source
    total = total_of(dump)
    return {} if total is None else {_UNASSEMBLED: total}


def _edit(number: int, history: HistoryDump) -> Edit | None:
    before, after = history.tokens_before, history.tokens_after
    if history.outcome != "edited" or before is None or after is None:
        return None
    return Edit(number, before, after, *groups_of(history))


def _bands(amounts: Sequence[Mapping[str, int]]) -> tuple[Band, ...]:
    """Return the largest kinds in the order they first appear, and the rest as one."""
    totals: Counter[str] = Counter()
    for amount in amounts:
        totals.update(amount)
    own = {name for name, _ in totals.most_common(BANDS)}
    bands = [Band(name, tuple(amount.get(name, 0) for amount in amounts)) for name in totals if name in own]
    if len(totals) > len(own):
        rest = tuple(sum(count for name, count in amount.items() if name not in own) for amount in amounts)
        bands.append(Band(OTHERS, rest))
    return tuple(bands)


def _generations(points: Sequence[_Point]) -> tuple[Steps, ...]:
    stretches = (list(stretch) for _, stretch in groupby(points, key=lambda point: point.lane))
    return tuple(
        Steps(tuple(point.number for point in stretch), tuple(point.generation for point in stretch))
        for stretch in stretches
    )


def _strips(points: Sequence[_Point]) -> Iterable[Strip]:
    """Yield each contract's strips, the earliest to end first."""
    standing: dict[str, Strip] = {}
    for point in points:
        for name in [name for name in standing if name not in point.contracts]:
            yield standing.pop(name)
        for name, in_force in point.contracts.items():
            strip = standing.get(name)
            if strip is not None and strip.in_force != in_force:
                yield standing.pop(name)
                strip = None
            first = point.number if strip is None else strip.first
            standing[name] = Strip(name, first, point.number, in_force)
    yield from standing.values()
