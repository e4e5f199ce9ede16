"""What a store remembers under one reference, and what it answers when it is asked.

A release outlives the record, and so does an end that was reached: the bytes may be gone, the reason is not.
"""

from __future__ import annotations

from dataclasses import dataclass

from kedi_compile.errors import ConversationError
from kedi_compile.stores.protocol import Gone


@dataclass(frozen=True, slots=True)
class Archived:
    """One reference that a store has heard of; `record` is None where the bytes were released or purged."""

    record: bytes | None
    expires_at: float | None
    released: bool = False

    def read(self, now: float) -> bytes | Gone:
        """Return the record, or why it cannot be read at the time `now`."""
        if self.released:
            return Gone.RELEASED
        if self.record is None or self.is_expired(now):
            return Gone.EXPIRED
        return self.record

    def is_expired(self, now: float) -> bool:
        """Tell whether the record's end has been reached: at `expires_at` itself it has."""
        return self.expires_at is not None and self.expires_at <= now


def read(archived: Archived | None, now: float) -> bytes | Gone:
    """Return what a store answers; None stands for a reference it has never heard of."""
    return Gone.UNKNOWN if archived is None else archived.read(now)


def check_same(reference: str, there: Archived, put: Archived) -> None:
    """Refuse to give a reference to a second record; the same record again is no second one.

    Raises:
        ConversationError: the reference is taken, or its record is gone already.
    """
    if there != put:
        raise ConversationError(
            f"The reference {reference!r} {_taken(there)}; a reference is never used again, so put the record under "
            "a new one"
        )


def _taken(there: Archived) -> str:
    if there.released:
        return "was released"
    return "names another record" if there.record is not None else "names a record that expired and was purged"
