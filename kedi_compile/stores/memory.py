"""Conversations and archived records in the memory of one process: they end with it.

The same answers as the SQL store, without a database: for tests, and for programs that need no more.
"""

from __future__ import annotations

from collections.abc import Collection
from threading import Lock

from kedi_compile.errors import ConversationConflict
from kedi_compile.stores.archived import Archived, check_same, read
from kedi_compile.stores.names import check_digests, check_reference, check_session_id
from kedi_compile.stores.protocol import Change, Gone, Head


class MemoryConversationStore:
    """Keeps conversations and archived records in memory; a `ConversationStore` and an `ArchiveStore`."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._heads: dict[str, Head] = {}
        self._entries: dict[str, dict[str, bytes]] = {}
        self._deleted_at: dict[str, int] = {}
        self._archived: dict[str, Archived] = {}

    def head(self, session_id: str) -> Head | None:
        """Return the head that was committed last, or None if there is no such conversation."""
        check_session_id(session_id)
        with self._lock:
            return self._heads.get(session_id)

    def entries(self, session_id: str, digests: Collection[str]) -> dict[str, bytes]:
        """Return those of the named entries that are there, by digest."""
        check_session_id(session_id)
        check_digests(session_id, digests)
        with self._lock:
            there = self._entries.get(session_id, {})
            return {digest: there[digest] for digest in digests if digest in there}

    def commit(self, session_id: str, change: Change) -> int:
        """Make a change whole and return the new revision.

        Raises:
            ConversationConflict: the conversation is not at `change.revision`; nothing was changed.
        """
        check_session_id(session_id)
        check_digests(session_id, change.added)
        check_digests(session_id, change.dropped)
        with self._lock:
            revision = self._next_revision(session_id, change.revision)
            self._heads[session_id] = Head(revision, change.head)
            self._keep(session_id, change)
            return revision

    def _next_revision(self, session_id: str, expected: int) -> int:
        there = self._heads.get(session_id)
        found = there.revision if there else None
        if expected != (found or 0):
            raise ConversationConflict(session_id, expected=expected, found=found)
        return (found or self._deleted_at.pop(session_id, 0)) + 1

    def _keep(self, session_id: str, change: Change) -> None:
        entries = self._entries.setdefault(session_id, {})
        for digest in change.dropped:
            entries.pop(digest, None)
        for digest, entry in change.added.items():
            entries.setdefault(digest, entry)

    def delete(self, session_id: str) -> None:
        """Forget a conversation; one of the same name that begins later goes on from a higher revision."""
        check_session_id(session_id)
        with self._lock:
            self._entries.pop(session_id, None)
            if (there := self._heads.pop(session_id, None)) is not None:
                self._deleted_at[session_id] = there.revision

    def put(self, reference: str, record: bytes, expires_at: float | None) -> None:
        """Keep `record`; the same record again under its reference changes nothing.

        Raises:
            ConversationError: the reference is taken by another record, or its record is gone.
        """
        check_reference(reference)
        archived = Archived(record, expires_at)
        with self._lock:
            check_same(reference, self._archived.setdefault(reference, archived), archived)

    def get(self, reference: str, now: float) -> bytes | Gone:
        """Return the very bytes that were put, or why they are not there at the time `now`."""
        check_reference(reference)
        with self._lock:
            return read(self._archived.get(reference), now)

    def release(self, reference: str) -> None:
        """Drop a record and remember that it was; an unknown reference is remembered too."""
        check_reference(reference)
        with self._lock:
            self._archived[reference] = Archived(None, None, released=True)

    def purge(self, now: float) -> int:
        """Drop the bytes of all records that are expired at `now`, and return how many; they stay expired."""
        with self._lock:
            over = [(reference, kept) for reference, kept in self._archived.items() if kept.record is not None]
            over = [(reference, kept) for reference, kept in over if kept.is_expired(now)]
            self._archived.update({reference: Archived(None, kept.expires_at) for reference, kept in over})
            return len(over)
