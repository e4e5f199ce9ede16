"""Archived records held in this process within a quota: for runs whose archive need not outlive it.

The records are kept by `MemoryConversationStore`; what is added here is the bound on the bytes that can still be read.
"""

from __future__ import annotations

from threading import Lock

from kedi_compile.stores.memory import MemoryConversationStore
from kedi_compile.stores.protocol import Gone


class QuotaExceeded(Exception):
    """A record was not kept, because those that are there leave no room for it."""


class HeldRecords:
    """An `ArchiveStore` in memory; `quota_bytes` bounds what it holds, None leaves it unbounded."""

    def __init__(self, quota_bytes: int | None = None) -> None:
        self._quota = quota_bytes
        self._records = MemoryConversationStore()
        self._sizes: dict[str, int] = {}
        self._lock = Lock()

    @property
    def held_bytes(self) -> int:
        """The bytes of all records that are there."""
        return sum(self._sizes.values())

    def put(self, reference: str, record: bytes, expires_at: float | None) -> None:
        """Keep `record`; the same record again under its reference changes nothing.

        Raises:
            QuotaExceeded: there is no room for it; nothing was kept.
            ConversationError: the reference is taken by another record, or its record is gone.
        """
        with self._lock:
            held = self.held_bytes - self._sizes.get(reference, 0)
            if self._quota is not None and held + len(record) > self._quota:
                msg = (
                    f"{len(record)} bytes do not fit: {held} of {self._quota} are held; release records, or raise "
                    "`quota_bytes`"
                )
                raise QuotaExceeded(msg)
            self._records.put(reference, record, expires_at)
            self._sizes[reference] = len(record)

    def get(self, reference: str, now: float) -> bytes | Gone:
        """Return the very bytes that were put, or why they are not there at the time `now`."""
        return self._records.get(reference, now)

    def release(self, reference: str) -> None:
        """Drop a record and remember that it was; an unknown reference is remembered too."""
        with self._lock:
            self._records.release(reference)
            self._sizes.pop(reference, None)

    def sweep(self, now: float) -> None:
        """Drop the bytes of all records that are expired at `now`; they stay expired."""
        with self._lock:
            if self._records.purge(now):
                gone = [name for name in self._sizes if isinstance(self._records.get(name, now), Gone)]
                for name in gone:
                    del self._sizes[name]
