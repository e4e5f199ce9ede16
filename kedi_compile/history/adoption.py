"""Foreign objects a callback returned that equal entries of the history: which entry each of them is.

The rule: as much as can be is matched in whole groups in their old order, the current request at the end; then come
groups that moved, then single entries; each entry is given away once. A bare text that equals an entry is new unless
the rest of its group came back too: two equal texts are not the same message. Equal means the same fingerprint.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Generic, TypeVar

from kedi_compile.history.groups import Span
from kedi_compile.history.revision import Revision

MessageT = TypeVar("MessageT")

_SEARCHED = 250_000
"""Positions times groups up to which the best match in order is searched; beyond, groups are taken as they come."""


def adopt_copies(
    messages: Sequence[MessageT], entries: Sequence[int | None], revision: Revision[MessageT]
) -> list[int | None]:
    """Return `entries`, one per message, with the entry index of each equal copy filled in where it was None."""
    adoption = _Adoption(messages, entries, revision)
    adoption.adopt_groups_in_order()
    adoption.adopt_moved_groups()
    adoption.adopt_single_entries()
    adoption.release_lone_texts()
    return adoption.entries


class _Adoption(Generic[MessageT]):
    def __init__(
        self, messages: Sequence[MessageT], entries: Sequence[int | None], revision: Revision[MessageT]
    ) -> None:
        self.entries = list(entries)
        self._messages = messages
        self._revision = revision
        self._foreign = [entry is None for entry in entries]
        of = revision.dialect.fingerprint
        self._ours = [of(message) for message in revision.messages]
        self._theirs = [of(message) if new else b"" for message, new in zip(messages, self._foreign, strict=True)]
        self._taken = {entry for entry in entries if entry is not None}

    def adopt_groups_in_order(self) -> None:
        """Take what stands at both ends, then what covers most between them."""
        spans = self._revision.spans
        first, last = 0, len(spans)
        begin, end = 0, len(self.entries)
        while first < last and (size := _size(spans[last - 1])) <= end and self._adopt(end - size, spans[last - 1]):
            last, end = last - 1, end - size
        while first < last and begin < end and self._adopt(begin, spans[first]):
            first, begin = first + 1, begin + _size(spans[first])
        between = spans[first:last]
        if (end - begin) * len(between) <= _SEARCHED:
            for position, span in best_in_order(range(begin, end), between, self._stands_at):
                self._adopt(position, span)

    def adopt_moved_groups(self) -> None:
        """Adopt whole groups of copies that stand elsewhere, those behind the entry before them first."""
        waiting: dict[tuple[bytes, ...], list[Span]] = defaultdict(list)
        for span in self._revision.spans:
            if self._taken.isdisjoint(range(span.start, span.end)):
                waiting[tuple(self._ours[span.start : span.end])].append(span)
        sizes = {len(key) for key in waiting}
        firsts = {key[0] for key in waiting}
        last = -1
        for position, known in enumerate(self.entries):
            if known is None and self._theirs[position] in firsts:
                keys = (tuple(self._theirs[position : position + size]) for size in sizes)
                self._adopt_one(position, next((equal for key in keys if (equal := waiting.get(key))), []), last)
            if (entry := self.entries[position]) is not None:
                last = entry

    def _adopt_one(self, position: int, equal: list[Span], last: int) -> None:
        """Adopt the first of equal groups behind `last`, or else the first; they are ordered."""
        if equal:
            place = bisect_left(equal, last, key=lambda span: span.start)
            self._adopt(position, equal.pop(place if place < len(equal) else 0))

    def _adopt(self, position: int, span: Span) -> bool:
        if not self._stands_at(position, span):
            return False
        members = range(span.start, span.end)
        self.entries[position : position + len(members)] = members
        self._taken.update(members)
        return True

    def _stands_at(self, position: int, span: Span) -> bool:
        """Whether the group stands there whole, in copies or in entries that are known."""
        places = range(position, position + _size(span))
        return places.stop <= len(self.entries) and all(map(self._may_be, places, range(span.start, span.end)))

    def _may_be(self, position: int, entry: int) -> bool:
        if (known := self.entries[position]) is not None:
            return known == entry
        return entry not in self._taken and self._theirs[position] == self._ours[entry]

    def adopt_single_entries(self) -> None:
        """Adopt what is left: first what continues or leads up to an entry beside it, then the next equal one."""
        for position in range(1, len(self.entries)):
            if (before := self.entries[position - 1]) is not None:
                self._adopt_entry(position, before + 1)
        for position in range(len(self.entries) - 2, -1, -1):
            if (behind := self.entries[position + 1]) is not None:
                self._adopt_entry(position, behind - 1)
        waiting: dict[bytes, list[int]] = defaultdict(list)
        for entry in range(len(self._ours) - 1, -1, -1):
            if entry not in self._taken:
                waiting[self._ours[entry]].append(entry)
        for position, known in enumerate(self.entries):
            if known is None and (equal := waiting.get(self._theirs[position])):
                self._adopt_entry(position, equal.pop())

    def _adopt_entry(self, position: int, entry: int) -> None:
        if self.entries[position] is None and 0 <= entry < len(self._ours) and self._may_be(position, entry):
            self.entries[position] = entry
            self._taken.add(entry)

    def release_lone_texts(self) -> None:
        """Let go of bare texts whose group did not come back whole."""
        back = {entry for entry in self.entries if entry is not None}
        spans = [range(span.start, span.end) for span in self._revision.spans]
        whole = {index for members in spans if back.issuperset(members) for index in members}
        text_flaw = self._revision.dialect.text_flaw
        for position, message in enumerate(self._messages):
            lone = self._foreign[position] and self.entries[position] not in whole
            if lone and self.entries[position] is not None and text_flaw(message) is None:
                self.entries[position] = None


def best_in_order(
    places: range, spans: Sequence[Span], stands_at: Callable[[int, Span], bool]
) -> list[tuple[int, Span]]:
    """Choose groups and positions, both ascending, that cover the most of `places`; earlier ones on a tie."""
    count = len(spans)
    covered = [[0] * (count + 1) for _ in range(len(places) + 1)]
    takes: set[tuple[int, int]] = set()
    for index in range(len(places) - 1, -1, -1):
        for number in range(count - 1, -1, -1):
            without = max(covered[index + 1][number], covered[index][number + 1])
            size = _size(spans[number])
            fits = index + size <= len(places) and stands_at(places[index], spans[number])
            taken = size + covered[index + size][number + 1] if fits else -1
            covered[index][number] = max(without, taken)
            if taken >= without:
                takes.add((index, number))
    return _chosen(covered, takes, places, spans)


def _chosen(
    covered: list[list[int]], takes: set[tuple[int, int]], places: range, spans: Sequence[Span]
) -> list[tuple[int, Span]]:
    out: list[tuple[int, Span]] = []
    index = number = 0
    while index < len(places) and number < len(spans):
        if (index, number) in takes:
            out.append((places[index], spans[number]))
            index, number = index + _size(spans[number]), number + 1
        elif covered[index][number] == covered[index][number + 1]:
            number += 1
        else:
            index += 1
    return out


def _size(span: Span) -> int:
    return span.end - span.start
