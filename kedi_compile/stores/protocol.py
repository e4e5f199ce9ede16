"""What every store can do: keep a conversation's head and entries, and archived records.

A conversation is a *head*, JSON that names its entries by digest in order, and the *entries*, one native message each.
Committing is compare-and-swap on the head's revision, all of a change or nothing. Entries are stored once, under the
SHA-256 of their bytes. Every method may block; async callers run them in a worker thread. Session ids, references and
digests are `names`; another one, and a store that cannot be used, raises ConversationError. Source: History
specification, Persistence and Continuation.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class Head:
    """What a conversation is at one revision, but for its entries; `revision` starts at 1 and only grows."""

    revision: int
    body: bytes


@dataclass(frozen=True, slots=True)
class Change:
    """One turn's effect on a stored conversation.

    `revision` is the one it was made from, 0 where there was no conversation. `added` are entries the store may not
    have yet, by digest; `dropped` are digests the new head no longer names. An entry in both stays.
    """

    revision: int
    head: bytes
    added: Mapping[str, bytes] = field(default_factory=dict)
    dropped: frozenset[str] = frozenset()


@runtime_checkable
class ConversationStore(Protocol):
    """Keeps conversations; safe to call from several threads."""

    def head(self, session_id: str) -> Head | None:
        """Return the head that was committed last, or None if there is no such conversation."""
        ...

    def entries(self, session_id: str, digests: Collection[str]) -> dict[str, bytes]:
        """Return those of the named entries that are there, by digest.

        One that a head named and that is missing was dropped by a later commit: read the head again.
        """
        ...

    def commit(self, session_id: str, change: Change) -> int:
        """Make a change whole and return the new revision.

        Raises:
            ConversationConflict: the conversation is not at `change.revision`; nothing was changed.
        """
        ...

    def delete(self, session_id: str) -> None:
        """Forget a conversation; one of the same name that begins later goes on from a higher revision."""
        ...


class Gone(Enum):
    """Why an archived record cannot be read."""

    RELEASED = auto()
    EXPIRED = auto()
    UNKNOWN = auto()


@runtime_checkable
class ArchiveStore(Protocol):
    """Keeps archived records under references that are never reused; safe to call from several threads."""

    def put(self, reference: str, record: bytes, expires_at: float | None) -> None:
        """Keep `record`; the same record again under its reference changes nothing.

        `expires_at` is in seconds of the clock that `get` is asked with, None for no end; at that very time the record
        is expired.

        Raises:
            ConversationError: the reference is taken by another record, or its record is gone.
        """
        ...

    def get(self, reference: str, now: float) -> bytes | Gone:
        """Return the very bytes that were put, or why they are not there at the time `now`."""
        ...

    def release(self, reference: str) -> None:
        """Drop a record and remember that it was; an unknown reference is remembered too."""
        ...
