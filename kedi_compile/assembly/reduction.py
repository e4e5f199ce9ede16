"""Making a request fit its model: what is given up first, and what is kept to the end.

The rule: while it does not fit, narration that is told elsewhere goes first, then stale controller frames, then
evidence (the oldest first; a full read that was asked for, or rehydrated, last), then the rest of the narration. What
went and fits after all comes back. A body goes as a whole: to its extraction where there is one, and to its identity
with the way to the exact text. Sizes are real: the counter's, of the text as it is sent. Source: Assembly
specification, Context budget and rehydration.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from kedi_compile.assembly.frame import Mutation, ProofState, Verification, WorkItem, WorkState
from kedi_compile.assembly.items import Candidate, Form, Item, one_line
from kedi_compile.assembly.sources import Source

Count = Callable[[str], int]
"""Tokens of a text."""


class Fitting:
    """Candidates on their way to items: the form each has now, and the tokens of all."""

    def __init__(self, candidates: Sequence[Candidate], count: Count) -> None:
        self.candidates = candidates
        self._count = count
        self._levels = [0] * len(candidates)
        self._tokens = [_size(candidate.fullest, count) for candidate in candidates]
        self.total = sum(self._tokens)
        self._why: dict[int, str] = {}

    def form(self, index: int) -> Form:
        """Return the form that a candidate has now."""
        level = self._levels[index]
        return self.candidates[index].forms[level] if level else self.candidates[index].fullest

    def may_lower(self, index: int) -> bool:
        """Whether a candidate has a smaller form."""
        return self._levels[index] + 1 < len(self.candidates[index].forms)

    def lower(self, index: int, why: str) -> None:
        """Move a candidate to its next form."""
        self._why.pop(index, None)
        self._why[index] = why  # the last one lowered stands last
        self._move(index, self._levels[index] + 1)

    def restore(self, room: int) -> None:
        """Move candidates back to the fullest forms there is room for, the last one lowered first."""
        for index in reversed(list(self._why)):
            lowest = self._levels[index]
            for level in range(lowest):
                self._move(index, level)
                if self.total <= room:
                    break
                self._move(index, lowest)
            if self._levels[index] == 0:
                del self._why[index]

    def _move(self, index: int, level: int) -> None:
        self._levels[index] = level
        size = _size(self.form(index), self._count)
        self.total += size - self._tokens[index]
        self._tokens[index] = size

    def items(self) -> tuple[Item, ...]:
        """Return the candidates in the forms they have now."""
        return tuple(self._item(index, candidate) for index, candidate in enumerate(self.candidates))

    def _item(self, index: int, one: Candidate) -> Item:
        form = self.form(index)
        if (why := self._why.get(index)) is not None:
            form = replace(form, reason=f"{form.reason}: {why}" if form.reason else why)
        return Item(one.place, one.kind, one.id, one.trust, one.record, form, self._tokens[index])


def _size(form: Form, count: Count) -> int:
    if not form.is_shown:
        return 0
    return count(form.around) + (0 if form.body is None else count(form.body))


def _shrinking(candidate: Candidate, count: Count) -> Candidate:
    """Leave out forms that are no smaller than the ones before: an identity may take more than a short body."""
    smaller, least = [], _size(candidate.fullest, count)
    for form in candidate.forms[1:]:
        if (size := _size(form, count)) < least:
            smaller.append(form)
            least = size
    return replace(candidate, smaller=tuple(smaller))


def fit(candidates: Sequence[Candidate], count: Count, room: int | None) -> tuple[Item, ...]:
    """Return the items, reduced as far as needed to take at most `room` tokens, or as far as they can be."""
    fitting = Fitting(candidates, count)
    if room is not None and fitting.total > room:
        fitting = Fitting([_shrinking(one, count) for one in candidates], count)
        for index, why in _order(fitting):
            fitting.lower(index, why)
            if fitting.total <= room:
                break
        fitting.restore(room)  # something big may have gone after something small
    return fitting.items()


def _order(fitting: Fitting) -> Iterator[tuple[int, str]]:
    return ((index, step.why) for step in _STEPS for index in step.candidates(fitting))


@dataclass(frozen=True, slots=True)
class _Step:
    """One step of the order: which candidates it lowers, one form each time they are named, and why."""

    why: str
    candidates: Callable[[Fitting], Iterator[int]]


def _duplicates(fitting: Fitting) -> Iterator[int]:
    told: set[str] = set()
    for index in range(len(fitting.candidates)):
        form = fitting.form(index)
        words = one_line(form.narration)
        if words in told and fitting.may_lower(index):
            yield index
        elif words:
            told.add(words)


def _stale(fitting: Fitting) -> Iterator[int]:
    for index, candidate in enumerate(fitting.candidates):
        if _is_stale(candidate):
            yield from _all_the_way(fitting, index)


def _is_stale(candidate: Candidate) -> bool:
    match candidate.record:
        case Verification(state=ProofState.STALE) | WorkItem(state=WorkState.DONE):
            return True
        case Mutation():
            return not candidate.forms[-1].is_shown
        case _:
            return False


def _evidence(*, is_asked_for: bool) -> Callable[[Fitting], Iterator[int]]:
    def candidates(fitting: Fitting) -> Iterator[int]:
        found = [
            index
            for index, one in enumerate(fitting.candidates)
            if isinstance(one.record, Source) and _is_asked_for(one, one.record) is is_asked_for
        ]
        while lowerable := [index for index in found if fitting.may_lower(index)]:
            yield from lowerable

    return candidates


def _is_asked_for(candidate: Candidate, source: Source) -> bool:
    return source.requested or candidate.fullest.decision == "rehydrated"


def _rest(fitting: Fitting) -> Iterator[int]:
    for index in range(len(fitting.candidates)):
        yield from _all_the_way(fitting, index)


def _all_the_way(fitting: Fitting, index: int) -> Iterator[int]:
    while fitting.may_lower(index):
        yield index


_STEPS: Final = (
    _Step("told elsewhere, and there is no room", _duplicates),
    _Step("stale, and there is no room", _stale),
    _Step("there is no room", _evidence(is_asked_for=False)),
    _Step("there is no room even for what was asked for", _evidence(is_asked_for=True)),
    _Step("there is no room", _rest),
)
