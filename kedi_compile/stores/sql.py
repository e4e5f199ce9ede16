"""Conversations and archived records in a SQL database: an SQLite file, or PostgreSQL.

A commit is one transaction: the head by compare-and-swap, then what is dropped, then what is added. Whoever changes the
head first holds its row until the end, so nobody else touches that conversation's entries meanwhile. The tables are in
`schema`, connections and transactions in `database`. Needs the extra `kedi-compile[stores]`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from importlib.util import find_spec
from types import TracebackType
from typing import Any, Final, Self, TypeVar

if find_spec("sqlalchemy") is None:
    msg = "kedi_compile.stores.sql needs SQLAlchemy; install it with: pip install 'kedi-compile[stores]'"
    raise ImportError(msg)

from sqlalchemy import URL, Connection, Engine, TableClause, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from kedi_compile.errors import ConversationConflict, ConversationError
from kedi_compile.stores.archived import Archived, check_same, read
from kedi_compile.stores.database import Database
from kedi_compile.stores.names import check_digests, check_reference, check_session_id
from kedi_compile.stores.protocol import Change, Gone, Head
from kedi_compile.stores.schema import ARCHIVE, CONVERSATION, ENTRY

ValueT = TypeVar("ValueT", int, bytes)

_AT_ONCE: Final = 500
"""Digests in one statement; SQLite takes 999 values and more, PostgreSQL 65,535."""


class SQLConversationStore:
    """Keeps conversations and archived records in a database; a `ConversationStore` and an `ArchiveStore`.

    `address` is that of an SQLite file (`sqlite:///conversations.db`), which several processes of one machine may
    share, or of a PostgreSQL database (`postgresql://user:password@host/name`); or it is an `Engine` for one, whose
    connections are used and left open by `close`. Its tables, named `kedi_*`, are made on the first use. `timeout`, in
    seconds, is how long a call waits for another writer, a free connection, or the server.

    Every method raises ConversationError where the database cannot be used. If the connection breaks while a commit is
    being confirmed, the change may have been made all the same: read the head again.
    """

    def __init__(self, address: str | URL | Engine, *, timeout: float = 30.0) -> None:
        """Look at the address; nothing is connected yet.

        Raises:
            HistoryConfigurationError: it is none that a store can be kept at, an SQLite database in memory included.
        """
        self._database = Database(address, timeout=timeout)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._database.name!r})"

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; every later call raises ConversationError."""
        self._database.close()

    def head(self, session_id: str) -> Head | None:
        """Return the head that was committed last, or None if there is no such conversation.

        Raises:
            ConversationError: the database cannot be read, or holds something else there.
        """
        check_session_id(session_id)
        asked = select(CONVERSATION.c.revision, CONVERSATION.c.body).where(_is_there(session_id))
        with self._database.reading(session_id) as connection:
            row = connection.execute(asked).one_or_none()
        return (
            None
            if row is None
            else Head(_checked(int, row.revision, session_id), _checked(bytes, row.body, session_id))
        )

    def entries(self, session_id: str, digests: Collection[str]) -> dict[str, bytes]:
        """Return those of the named entries that are there, by digest.

        Raises:
            ConversationError: the database cannot be read, or holds something else there.
        """
        check_session_id(session_id)
        check_digests(session_id, digests)
        found: dict[str, bytes] = {}
        with self._database.reading(session_id) as connection:
            for some in _batches(digests):
                asked = select(ENTRY.c.digest, ENTRY.c.body).where(*_named(session_id, some))
                rows = connection.execute(asked)
                found.update((row.digest, _checked(bytes, row.body, session_id)) for row in rows)
        return found

    def commit(self, session_id: str, change: Change) -> int:
        """Make a change whole and return the new revision.

        Raises:
            ConversationConflict: the conversation is not at `change.revision`; nothing was changed.
        """
        check_session_id(session_id)
        check_digests(session_id, change.added)
        check_digests(session_id, change.dropped)
        with self._database.writing(session_id) as connection:
            revision = _advance(connection, session_id, change)
            _drop(connection, session_id, change.dropped)
            _add(connection, session_id, change.added)
        return revision

    def delete(self, session_id: str) -> None:
        """Forget a conversation; one of the same name that begins later goes on from a higher revision."""
        check_session_id(session_id)
        with self._database.writing(session_id) as connection:
            # Where there is nothing to forget, another may be at the first commit: its entries are not ours to drop.
            if connection.execute(update(CONVERSATION).where(_is_there(session_id)).values(body=None)).rowcount:
                connection.execute(delete(ENTRY).where(ENTRY.c.session_id == session_id))

    def put(self, reference: str, record: bytes, expires_at: float | None) -> None:
        """Keep `record`; the same record again under its reference changes nothing.

        Raises:
            ConversationError: the reference is taken by another record, or its record is gone.
        """
        check_reference(reference)
        archived = Archived(record, expires_at)
        row = {"reference": reference, "record": record, "expires_at": expires_at, "released": False}
        with self._database.writing() as connection:
            connection.execute(_insert(connection, ARCHIVE).values(row).on_conflict_do_nothing())
            check_same(reference, _archived(connection, reference) or archived, archived)

    def get(self, reference: str, now: float) -> bytes | Gone:
        """Return the very bytes that were put, or why they are not there at the time `now`."""
        check_reference(reference)
        with self._database.reading() as connection:
            return read(_archived(connection, reference), now)

    def release(self, reference: str) -> None:
        """Drop a record and remember that it was; an unknown reference is remembered too."""
        check_reference(reference)
        gone = {"record": None, "expires_at": None, "released": True}
        with self._database.writing() as connection:
            insert = _insert(connection, ARCHIVE).values(reference=reference, **gone)
            connection.execute(insert.on_conflict_do_update(index_elements=["reference"], set_=gone))

    def purge(self, now: float) -> int:
        """Drop the bytes of all records that are expired at `now`, and return how many; they stay expired."""
        over = (ARCHIVE.c.expires_at <= now, ARCHIVE.c.record.is_not(None))
        with self._database.writing() as connection:
            return connection.execute(update(ARCHIVE).where(*over).values(record=None)).rowcount


def _checked(kind: type[ValueT], value: object, session_id: str) -> ValueT:
    """The value, if it is of the kind that this store writes: an SQLite column takes any."""
    if not isinstance(value, kind):
        msg = f"Conversation {session_id!r} is damaged: the database holds {type(value).__name__}, not {kind.__name__}"
        raise ConversationError(msg, session_id=session_id)
    return value


def _is_there(session_id: str) -> Any:
    return (CONVERSATION.c.session_id == session_id) & CONVERSATION.c.body.is_not(None)


def _named(session_id: str, digests: Collection[str]) -> tuple[Any, Any]:
    return ENTRY.c.session_id == session_id, ENTRY.c.digest.in_(digests)


def _batches(digests: Collection[str]) -> Iterator[list[str]]:
    listed = list(digests)
    return (listed[start : start + _AT_ONCE] for start in range(0, len(listed), _AT_ONCE))


def _advance(connection: Connection, session_id: str, change: Change) -> int:
    """Put the new head in the place of the expected one; a conversation that begins has a row without body first."""
    if change.revision:
        expected = _is_there(session_id) & (CONVERSATION.c.revision == change.revision)
    else:
        begun = {"session_id": session_id, "revision": 0, "body": None}
        connection.execute(_insert(connection, CONVERSATION).values(begun).on_conflict_do_nothing())
        expected = (CONVERSATION.c.session_id == session_id) & CONVERSATION.c.body.is_(None)
    new = update(CONVERSATION).where(expected).values(revision=CONVERSATION.c.revision + 1, body=change.head)
    is_ours = connection.execute(new).rowcount == 1
    if is_ours and change.revision:
        return change.revision + 1
    found: int | None = connection.execute(select(CONVERSATION.c.revision).where(_is_there(session_id))).scalar()
    if not is_ours or found is None:
        raise ConversationConflict(session_id, expected=change.revision, found=found)
    return found


def _drop(connection: Connection, session_id: str, digests: Collection[str]) -> None:
    for some in _batches(digests):
        connection.execute(delete(ENTRY).where(*_named(session_id, some)))


def _add(connection: Connection, session_id: str, entries: Mapping[str, bytes]) -> None:
    for some in _batches(entries):
        rows = [{"session_id": session_id, "digest": digest, "body": entries[digest]} for digest in some]
        connection.execute(_insert(connection, ENTRY).on_conflict_do_nothing(), rows)


def _archived(connection: Connection, reference: str) -> Archived | None:
    asked = select(ARCHIVE.c.record, ARCHIVE.c.expires_at, ARCHIVE.c.released).where(ARCHIVE.c.reference == reference)
    row = connection.execute(asked).one_or_none()
    return None if row is None else Archived(row.record, row.expires_at, released=row.released)


def _insert(connection: Connection, table: TableClause) -> Any:
    # ON CONFLICT is no standard SQL, so SQLAlchemy has it once per dialect; the two are called alike.
    return (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table)
