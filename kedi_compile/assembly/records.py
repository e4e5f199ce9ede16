"""Current records by key: a second record for the same key replaces the first, which is kept as retired.

The one rule behind the frame and the evidence: exactly one current representation of each concept, and never a second
one appended. Source: Assembly specification, Dynamic frame requirements.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from typing import Generic, TypeVar

KeyT = TypeVar("KeyT", bound=Hashable)
RecordT = TypeVar("RecordT")


@dataclass(frozen=True, slots=True)
class Retired(Generic[RecordT]):
    """A record that is no longer current, and why."""

    record: RecordT
    reason: str


class Records(Generic[KeyT, RecordT]):
    """The current records of one kind, the newest last, and the retired ones; not safe for threads by itself.

    `kept` gives what is kept of a record that is retired; None keeps it whole.
    """

    def __init__(self, kept: Callable[[RecordT], RecordT] | None = None) -> None:
        self._kept = kept
        self._current: dict[KeyT, RecordT] = {}
        self._retired: list[Retired[RecordT]] = []

    @property
    def current(self) -> tuple[RecordT, ...]:
        """The current records, in the order they became current."""
        return tuple(self._current.values())

    @property
    def keys(self) -> tuple[KeyT, ...]:
        """The keys of the current records, in the same order."""
        return tuple(self._current)

    @property
    def retired(self) -> tuple[Retired[RecordT], ...]:
        """The records that were replaced or dropped, the oldest first."""
        return tuple(self._retired)

    def get(self, key: KeyT) -> RecordT | None:
        """Return the current record of a key, or None."""
        return self._current.get(key)

    def put(self, key: KeyT, record: RecordT, reason: str) -> None:
        """Make a record current; `reason` is why an older one of its key is retired.

        The record that is current already stays where it is: what says nothing new replaces nothing.
        """
        if self._current.get(key) == record:
            return
        self.drop(key, reason)
        self._current[key] = record

    def amend(self, key: KeyT, record: RecordT) -> None:
        """Put a record in the place of the current one of its key, which it still is."""
        self._current[key] = record

    def drop(self, key: KeyT, reason: str) -> RecordT | None:
        """Retire the current record of a key and return it; None where there is none."""
        if (old := self._current.pop(key, None)) is not None:
            self._retired.append(Retired(old if self._kept is None else self._kept(old), reason))
        return old
