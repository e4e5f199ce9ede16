"""Foreign objects a callback returned that equal entries of the history: which entry each of them is.

The rule: whole groups are looked for first, then single entries; among equal ones, the next in order; each entry is
given away once. A bare text that equals an entry is new unless the rest of its group came back too: two equal texts
are not the same message. Equal means the same fingerprint.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Generic, TypeVar

from kedi_compile.history.groups import Span
from kedi_compile.history.revision import Revision

MessageT = TypeVar("MessageT")


def adopt_copies(
    messages: Sequence[MessageT], entries: Sequence[int | None], revision: Revision[MessageT]
) -> list[int | None]:
    """Return `entries`, one per message, with the entry index of each equal copy filled in where it was None."""
    adoption = _Adoption(messages, entries, revision)
    adoption.adopt_groups()
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

    def adopt_groups(self) -> None:
        starting_with: dict[bytes, list[Span]] = defaultdict(list)
        for span in self._revision.spans:
            starting_with[self._ours[span.start]].append(span)
        last = -1
        for position, entry in enumerate(self.entries):
            if entry is None and (found := self._group_at(position, last, starting_with[self._theirs[position]])):
                members = range(found.start, found.end)
                self.entries[position : position + len(members)] = members
                self._taken.update(members)
            last = last if (current := self.entries[position]) is None else current

    def _group_at(self, position: int, last: int, candidates: Sequence[Span]) -> Span | None:
        """The group that stands, whole and equal, at `position`; one behind the `last` adopted entry if there is."""
        fitting = [span for span in candidates if self._stands_at(position, span)]
        return next((span for span in fitting if span.start > last), fitting[0] if fitting else None)

    def _stands_at(self, position: int, span: Span) -> bool:
        wanted = self._theirs[position : position + span.end - span.start]
        return wanted == self._ours[span.start : span.end] and self._taken.isdisjoint(range(span.start, span.end))

    def adopt_single_entries(self) -> None:
        """Adopt what is left: first what continues or leads up to an entry beside it, then the next equal one."""
        waiting: dict[bytes, list[int]] = defaultdict(list)
        for index in range(len(self._ours) - 1, -1, -1):
            if index not in self._taken:
                waiting[self._ours[index]].append(index)
        for is_wanted in (self._continues, self._leads_up, _is_any):
            for position, entry in enumerate(self.entries):
                equal = waiting[self._theirs[position]] if entry is None else []
                found = next((index for index in reversed(equal) if is_wanted(position, index)), None)
                if found is not None:
                    self.entries[position] = found
                    equal.remove(found)

    def _continues(self, position: int, index: int) -> bool:
        return position > 0 and self.entries[position - 1] == index - 1

    def _leads_up(self, position: int, index: int) -> bool:
        return position + 1 < len(self.entries) and self.entries[position + 1] == index + 1

    def release_lone_texts(self) -> None:
        back = {entry for entry in self.entries if entry is not None}
        spans = [range(span.start, span.end) for span in self._revision.spans]
        whole = {index for members in spans if back.issuperset(members) for index in members}
        text_flaw = self._revision.dialect.text_flaw
        for position, message in enumerate(self._messages):
            lone = self._foreign[position] and self.entries[position] not in whole
            if lone and self.entries[position] is not None and text_flaw(message) is None:
                self.entries[position] = None


def _is_any(_position: int, _index: int) -> bool:
    return True
