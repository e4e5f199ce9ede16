"""A lane's messages in their two forms: the host's own objects, and one JSON record for each.

A history that was committed in this process holds native objects and is written when a store or a checkpoint asks; one
that was loaded holds records and is read when an adapter asks. A record's name is the SHA-256 of its bytes. Source:
History specification, Persistence and Continuation.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from kedi_compile.dialect import Dialect
from kedi_compile.errors import ConversationError

MessageT = TypeVar("MessageT")


def record_name(record: bytes) -> str:
    """Return the name a record is kept under: 64 hexadecimal digits."""
    return hashlib.sha256(record).hexdigest()


@dataclass(frozen=True, slots=True)
class _Written:
    """A native message whose record is known, as long as its content is what it was."""

    message: Any
    digest: bytes
    name: str


class History(Generic[MessageT]):
    """The messages of one lane; immutable but for what it remembers of its own forms."""

    def __init__(
        self,
        native: Sequence[MessageT] | None,
        dialect: Dialect[MessageT] | None = None,
        *,
        names: Sequence[str] = (),
        records: Mapping[str, bytes] | None = None,
    ) -> None:
        self._native = None if native is None else tuple(native)
        self._dialect = dialect
        self._names = tuple(names)
        self._records: Mapping[str, bytes] = records or {}
        self._written: dict[int, _Written] = {}

    @classmethod
    def empty(cls) -> History[MessageT]:
        """Return a history without messages."""
        return cls(())

    @classmethod
    def stored(cls, names: Sequence[str], records: Mapping[str, bytes]) -> History[MessageT]:
        """Return a history that consists of the named records, in that order; it keeps no other."""
        return cls(None, names=names, records={name: records[name] for name in names})

    @property
    def names(self) -> tuple[str, ...]:
        """The records' names, in order, as they were written or read last."""
        return self._names

    def __len__(self) -> int:
        return len(self._names if self._native is None else self._native)

    def messages(
        self, dialect: Dialect[MessageT], adopt: Callable[[Sequence[MessageT]], None] = lambda _: None
    ) -> tuple[MessageT, ...]:
        """Return the native messages; `adopt` is shown them once when they are made from records.

        Raises:
            ConversationError: a record is no message of this framework.
        """
        if self._native is None:
            read = [_read(dialect, self._records[name], index) for index, name in enumerate(self._names)]
            adopt(read)
            known = zip(read, dialect.digests(read), self._names, strict=True)
            self._written = {id(one): _Written(one, digest, name) for one, digest, name in known}
            self._native, self._dialect = tuple(read), dialect
        return self._native

    def write(self, before: History[MessageT] | None = None) -> tuple[tuple[str, ...], dict[str, bytes]]:
        """Return the records' names in order, and those records that are not known to `before`, for a store.

        A message counts as known while it is the same object with the same content.

        Raises:
            ConversationError: a message holds what JSON cannot carry.
        """
        if self._native is None or self._dialect is None:  # as it was read, or without any message
            return self._names, dict(self._records)
        known = {} if before is None else before._written  # noqa: SLF001  # its own class
        added: dict[str, bytes] = {}
        digests = self._dialect.digests(self._native)
        written = [self._write(index, digest, known, added) for index, digest in enumerate(digests)]
        self._written = {id(one.message): one for one in written}
        self._names = tuple(one.name for one in written)
        return self._names, added

    def records(self) -> tuple[tuple[str, ...], dict[str, bytes]]:
        """Return the records' names in order, and all records; what a store is known to have stays as it is.

        Raises:
            ConversationError: a message holds what JSON cannot carry.
        """
        if self._native is None or self._dialect is None:  # as it was read, or without any message
            return self._names, dict(self._records)
        digests = self._dialect.digests(self._native)
        written = [self._record(self._dialect, index, digest) for index, digest in enumerate(digests)]
        names = tuple(record_name(record) for record in written)
        return names, dict(zip(names, written, strict=True))

    def _record(self, dialect: Dialect[MessageT], index: int, digest: bytes) -> bytes:
        """The record a message was read from, if it is what it was, or else a new one."""
        assert self._native is not None  # `records` has looked
        message = self._native[index]
        read = self._written.get(id(message))
        if read is not None and read.name in self._records and read.digest == digest:
            return self._records[read.name]
        return _record(dialect, message, index)

    def _write(self, index: int, digest: bytes, known: Mapping[int, _Written], added: dict[str, bytes]) -> _Written:
        assert self._dialect is not None  # `write` has looked
        assert self._native is not None  # `write` has looked
        message = self._native[index]
        before = known.get(id(message))
        if before is not None and before.message is message and before.digest == digest:
            return before
        record = _record(self._dialect, message, index)
        name = record_name(record)
        added[name] = record
        return _Written(message, digest, name)


def _record(dialect: Dialect[MessageT], message: MessageT, index: int) -> bytes:
    try:
        return dialect.dump(message)
    except (TypeError, ValueError) as error:
        msg = f"Message {index} of the turn cannot be stored: {error}"
        raise ConversationError(msg) from error


def _read(dialect: Dialect[MessageT], record: bytes, index: int) -> MessageT:
    try:
        return dialect.load(record)
    except (TypeError, ValueError, RecursionError):
        msg = f"Record {index} of the conversation is no message of the {dialect.adapter_shortname} adapter"
        raise ConversationError(msg) from None  # the cause would show what the conversation holds


def check_records(names: Iterable[str], records: Mapping[str, bytes]) -> None:
    """Check that every named record is there and is what its name says.

    Raises:
        ConversationError: one is missing or damaged.
    """
    for name in dict.fromkeys(names):
        if name not in records:
            msg = f"Record {name[:12]}… of the conversation is missing"
            raise ConversationError(msg)
        if record_name(records[name]) != name:
            msg = f"Record {name[:12]}… of the conversation is damaged: its bytes are not those of its name"
            raise ConversationError(msg)
