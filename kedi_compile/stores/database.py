"""How the SQL store reaches its database: address, transactions, forks, and what a failure is called.

On SQLite the driver begins no transaction, this file does: a write by BEGIN IMMEDIATE, which waits for the other writer
before anything is read and so cannot fail halfway. Nothing is set on an engine, which may be its owner's. No idle
connection lives through a fork. What leaves here as an error names the database without its password.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Final
from weakref import WeakSet

from sqlalchemy import URL, Connection, Engine, create_engine, make_url
from sqlalchemy.exc import ArgumentError, OperationalError, SQLAlchemyError

from kedi_compile.errors import ConversationError, HistoryConfigurationError
from kedi_compile.stores import schema

_DRIVERS: Final = {
    "sqlite": "sqlite+pysqlite",
    "sqlite+pysqlite": "sqlite+pysqlite",
    "postgres": "postgresql+psycopg",
    "postgresql": "postgresql+psycopg",
    "postgresql+psycopg": "postgresql+psycopg",
}
"""What an address may begin with, and the driver it means."""

_ISOLATION: Final = {"sqlite": "AUTOCOMMIT", "postgresql": "READ COMMITTED"}
"""AUTOCOMMIT: the driver stays out of it. READ COMMITTED: an update that waited looks at the row as it is now."""

_WAIT_HERE: Final = "PRAGMA busy_timeout = {wait}"

_READ: Final = {"sqlite": (_WAIT_HERE, "BEGIN"), "postgresql": ()}
_WRITE: Final = {
    # In WAL mode the default of many builds, NORMAL, does not wait for the disk when it commits: after a loss of power
    # the last commits would be gone.
    "sqlite": (_WAIT_HERE, "PRAGMA synchronous = FULL", "BEGIN IMMEDIATE"),
    "postgresql": ("SET LOCAL lock_timeout = {wait}",),
}
_SWITCH: Final = {"sqlite": (_WAIT_HERE, "PRAGMA journal_mode = WAL", "BEGIN"), "postgresql": ()}
"""What a transaction begins with, and how readers and a writer come not to wait for each other; `wait` is in ms."""

_TRIES: Final = 100
"""How often a lost race for the journal is run again."""

_LONGEST_WAIT: Final = 86_400.0
"""The longest `timeout`, in seconds: a day, whose milliseconds every database takes."""


class Database:
    """One database, with the store's tables in it from the first use on; safe to use from several threads."""

    def __init__(self, address: str | URL | Engine, *, timeout: float) -> None:
        self._wait = _milliseconds(timeout)
        self._is_owned = not isinstance(address, Engine)
        self._engine = _engine(address, timeout)
        self.name = self._engine.url.set(query={}).render_as_string()
        self._is_ready = False
        self._is_closed = False
        _open.add(self)

    @contextmanager
    def reading(self, session_id: str | None = None) -> Generator[Connection]:
        """Give a connection in a transaction that only reads.

        Raises:
            ConversationError: the database cannot be used, or the store is closed.
        """
        with self._failing(session_id):
            self._prepare()
            with self._begun(_READ) as connection:
                yield connection

    @contextmanager
    def writing(self, session_id: str | None = None) -> Generator[Connection]:
        """Give a connection in a transaction that is committed at the end, or not at all; raises as `reading` does."""
        with self._failing(session_id):
            self._prepare()
            with self._begun(_WRITE) as connection:
                yield connection

    def close(self) -> None:
        """Close the connections, but those of an engine that was handed over; no call succeeds afterwards."""
        self._is_closed = True
        if self._is_owned:
            self._engine.dispose()

    def _prepare(self) -> None:
        if self._is_closed:
            raise ConversationError(f"The store of {self.name} is closed; make a new one")
        if not self._is_ready:
            # Several threads may come here at once, as several processes may: the database lets one write.
            self._make_tables()
            self._is_ready = True

    def _make_tables(self) -> None:
        with self._begun(_READ) as connection:
            version = schema.version_of(connection)
        if version < schema.NEWEST:
            self._switch_journal()
            with self._begun(_WRITE) as connection:
                schema.upgrade(connection)

    def _switch_journal(self) -> None:
        for _ in range(_TRIES):
            try:
                with self._begun(_SWITCH):
                    return
            except OperationalError:
                # Of two processes that switch one file at the same time, SQLite tells one that it is locked without
                # any wait; a transaction does wait for the other.
                with self._begun(_WRITE):
                    pass

    @contextmanager
    def _begun(self, first: Mapping[str, tuple[str, ...]]) -> Generator[Connection]:
        name = self._engine.dialect.name
        with self._engine.connect() as connection:
            connection.execution_options(isolation_level=_ISOLATION[name])
            with connection.begin():
                if getattr(connection.connection.dbapi_connection, "in_transaction", False):
                    # SQLite's: the engine's owner begins transactions too, as SQLAlchemy's page on it shows.
                    connection.exec_driver_sql("ROLLBACK").close()
                for statement in first[name]:
                    connection.exec_driver_sql(statement.format(wait=self._wait)).close()
                yield connection

    @contextmanager
    def _failing(self, session_id: str | None) -> Generator[None]:
        try:
            yield
        except SQLAlchemyError as exc:
            # The driver's own error is the cause: SQLAlchemy's repeats the values of the statement.
            cause = getattr(exc, "orig", None)
            raise ConversationError(
                f"The database {self.name} failed: {self._without_password(str(cause or exc))}; see that it runs, can "
                "be reached and may be written, then go on from what it holds",
                session_id=session_id,
            ) from cause

    def _without_password(self, text: str) -> str:
        url = self._engine.url
        for password in (url.password, url.query.get("password")):
            text = text.replace(str(password), "***") if password else text
        return " ".join(text.split())

    def close_idle(self) -> None:
        """Close what a child process must not inherit: a SQLite connection may not even be closed there."""
        self._engine.dispose()

    def start_anew(self) -> None:
        """Leave to the parent whatever connections are still its own."""
        self._engine.dispose(close=False)


_open: WeakSet[Database] = WeakSet()


def _before_fork() -> None:
    for database in list(_open):
        database.close_idle()


def _in_child() -> None:
    for database in list(_open):
        database.start_anew()


if hasattr(os, "register_at_fork"):  # pragma: no branch  # Windows has no fork
    os.register_at_fork(before=_before_fork, after_in_child=_in_child)


def _milliseconds(timeout: float) -> int:
    if not 0 < timeout <= _LONGEST_WAIT:
        raise HistoryConfigurationError(f"`timeout` is {timeout!r}; use seconds above 0, up to {_LONGEST_WAIT:,.0f}")
    return max(1, round(timeout * 1000))


_ADVICE: Final = (
    "use a file, 'sqlite:///conversations.db', or a server, 'postgresql://user:password@host/name', with special "
    "characters of the password quoted as in '%40' for '@', or an `Engine` for one of the two"
)


def _engine(address: str | URL | Engine, timeout: float) -> Engine:
    if isinstance(address, Engine):
        _driver(f"{address.dialect.name}+{address.dialect.driver}", address.url)
        return address
    url = _read(address)
    return _connect_to(url.set(drivername=_driver(url.drivername, url)), timeout)


def _read(address: str | URL) -> URL:
    try:
        return make_url(address)
    except (ArgumentError, ValueError):
        # What is wrong with it may be a password with characters that must be quoted: none of it is repeated.
        raise HistoryConfigurationError(f"The address of a store cannot be read; {_ADVICE}") from None


def _driver(name: str, url: URL) -> str:
    if name not in _DRIVERS:
        raise HistoryConfigurationError(f"A store cannot be kept in {name!r}; {_ADVICE}")
    if name.startswith("sqlite") and _is_in_memory(url):
        raise HistoryConfigurationError(
            "An SQLite database in memory is one per connection and ends with it; use `MemoryConversationStore`, or a "
            "file: 'sqlite:///conversations.db'"
        )
    return _DRIVERS[name]


def _is_in_memory(url: URL) -> bool:
    database = url.database or ":memory:"
    return ":memory:" in database or "mode=memory" in database or url.query.get("mode") == "memory"


def _connect_to(url: URL, timeout: float) -> Engine:
    if url.drivername.startswith("sqlite"):
        return create_engine(url, pool_timeout=timeout, hide_parameters=True)
    if find_spec("psycopg") is None:
        raise ImportError("PostgreSQL is reached by psycopg; install it with: pip install 'kedi-compile[stores]'")
    limit = {} if "connect_timeout" in url.query else {"connect_timeout": max(1, round(timeout))}
    # A connection that the server closed meanwhile is replaced before it is used.
    return create_engine(url, pool_timeout=timeout, pool_pre_ping=True, hide_parameters=True, connect_args=limit)
