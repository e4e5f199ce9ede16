"""Archived records held in this process: for runs whose archive need not outlive it.

A quota bounds the bytes of the records that are there; what was released or has expired counts no more, and is
remembered by its reference alone. Source: History specification, Persistence and Continuation.
"""

from __future__ import annotations

from threading import Lock

from kedi_compile.stores.protocol import Gone


class QuotaExceeded(Exception):
    """A record was not kept, because those that are there leave no room for it."""


class HeldRecords:
    """An `ArchiveStore` in memory; `quota_bytes` bounds what it holds, None leaves it unbounded."""

    def __init__(self, quota_bytes: int | None = None) -> None:
        self._quota = quota_bytes
        self._records: dict[str, tuple[bytes, float | None]] = {}
        self._gone: dict[str, Gone] = {}
        self._lock = Lock()

    @property
    def held_bytes(self) -> int:
        """The bytes of all records that are there."""
        with self._lock:
            return sum(len(record) for record, _ in self._records.values())

    def put(self, reference: str, record: bytes, expires_at: float | None) -> None:
        """Keep `record`.

        Raises:
            ValueError: the reference was used before.
            QuotaExceeded: there is no room for it; nothing was kept.
        """
        with self._lock:
            if reference in self._records or reference in self._gone:
                msg = f"Reference {reference!r} was used before; each record needs one of its own"
                raise ValueError(msg)
            held = sum(len(other) for other, _ in self._records.values())
            if self._quota is not None and held + len(record) > self._quota:
                msg = f"{len(record)} bytes do not fit: {held} of {self._quota} are held; release records, or raise it"
                raise QuotaExceeded(msg)
            self._records[reference] = (record, expires_at)

    def get(self, reference: str, now: float) -> bytes | Gone:
        """Return the very bytes that were put, or why they are not there."""
        self.sweep(now)
        with self._lock:
            found = self._records.get(reference)
            return found[0] if found is not None else self._gone.get(reference, Gone.UNKNOWN)

    def release(self, reference: str) -> None:
        """Drop a record and remember that it was; one that has expired stays expired."""
        with self._lock:
            self._records.pop(reference, None)
            self._gone.setdefault(reference, Gone.RELEASED)

    def sweep(self, now: float) -> None:
        """Drop what has expired by `now`, in seconds of the clock that `expires_at` is of."""
        with self._lock:
            over = [name for name, (_, end) in self._records.items() if end is not None and end <= now]
            for name in over:
                del self._records[name]
                self._gone[name] = Gone.EXPIRED
