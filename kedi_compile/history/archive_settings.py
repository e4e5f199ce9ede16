"""When tool exchanges are archived, and where the records go: one frozen value, checked when it is made.

What is archived is decided in `archive.py`, how a record is written and read in `archive_record.py`.
Source: History specification, Atomic Groups (`history_archive=`) and Persistence and Continuation.
"""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, field

from kedi_compile.errors import HistoryConfigurationError
from kedi_compile.stores.held import HeldRecords
from kedi_compile.stores.protocol import ArchiveStore, Gone


@dataclass(frozen=True, slots=True)
class HistoryArchiveSettings:
    """Archive old completed tool exchanges of a long loop, so that the history stays short and nothing is lost.

    When a request's history is estimated above `threshold_tokens`, the completed tool exchanges of the running cycle
    that stand before its last `preserve_recent_tokens` are stored as they are and replaced by one short checkpoint,
    if that saves at least `minimum_reduction_tokens`. The model reads a record back with the tool `read_archive`.

    Args:
        threshold_tokens: Above how many estimated tokens of the history anything is archived.
        preserve_recent_tokens: How many of the newest tokens stay in any case.
        minimum_reduction_tokens: How much an archive must save; each one re-writes the cached prefix.
        store: Where records go; None keeps them in this process, as long as these settings live.
        expires_after: Seconds after which a record cannot be read any more; None keeps it until it is released.
        quota_bytes: How many bytes of records this process may hold; only without a `store`.
        page_characters: How much of a record `read_archive` gives at a time.

    Raises:
        HistoryConfigurationError: a number is no such number, or the store cannot keep records.
    """

    threshold_tokens: int
    preserve_recent_tokens: int
    minimum_reduction_tokens: int
    _: KW_ONLY
    store: ArchiveStore | None = None
    expires_after: float | None = None
    quota_bytes: int | None = None
    page_characters: int = 8_000
    _held: HeldRecords = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("threshold_tokens", "preserve_recent_tokens", "minimum_reduction_tokens"):
            _check_count(name, getattr(self, name), least=0)
        _check_count("page_characters", self.page_characters, least=1)
        _check_seconds(self.expires_after)
        if self.quota_bytes is not None:
            _check_count("quota_bytes", self.quota_bytes, least=1)
        if self.store is not None:
            _check_store(self.store, self.quota_bytes)
        object.__setattr__(self, "_held", HeldRecords(self.quota_bytes))

    def keep(self, reference: str, record: bytes, now: float) -> None:
        """Store a record; may block. Raises whatever the store raises."""
        self._held.sweep(now)
        expires_at = None if self.expires_after is None else now + self.expires_after
        self._store.put(reference, record, expires_at)

    def find(self, reference: str, now: float) -> bytes | Gone:
        """Return a record's very bytes, or why they are not there; may block."""
        return self._store.get(reference, now)

    def release(self, reference: str) -> None:
        """Drop a record for good; the checkpoint that names it stays, and reading it says so. May block."""
        self._store.release(reference)

    @property
    def may_block(self) -> bool:
        """Whether the records are elsewhere than in this process."""
        return self.store is not None

    @property
    def _store(self) -> ArchiveStore:
        return self._held if self.store is None else self.store


def _check_count(name: str, value: object, *, least: int) -> None:
    if type(value) is not int or value < least:
        msg = f"`{name}` is {value!r}; it must be an int of at least {least}"
        raise HistoryConfigurationError(msg)


def _check_seconds(value: object) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 < value < math.inf:
        msg = f"`expires_after` is {value!r}; it must be a positive number of seconds, or None"
        raise HistoryConfigurationError(msg)


def _check_store(store: object, quota: int | None) -> None:
    if not isinstance(store, ArchiveStore):
        msg = f"`store` is {store!r}; it must have the methods `put`, `get` and `release` of an archive store"
        raise HistoryConfigurationError(msg)
    if quota is not None:
        msg = "`quota_bytes` bounds what this process holds; with a `store` set the bound there"
        raise HistoryConfigurationError(msg)
