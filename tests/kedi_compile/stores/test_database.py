"""Addresses, transactions, forks and failures: what a store may be kept in, and what it says if it cannot."""

from __future__ import annotations

import os
import sqlite3
import sys
import traceback
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, create_engine, event, make_url
from sqlalchemy.exc import OperationalError
from sqlalchemy.pool import NullPool

from kedi_compile.errors import ConversationError, HistoryConfigurationError
from kedi_compile.stores.database import Database
from kedi_compile.stores.protocol import Change, Head
from kedi_compile.stores.sql import SQLConversationStore
from stores import count_up, digested, engine_of, start_writer

PASSWORD = "s3cr/t"  # the slash has to be quoted in an address
SERVER = "postgresql://kedi:s3cr%2Ft@127.0.0.1:1/kedi"  # nothing listens at port 1


@pytest.mark.parametrize(
    ("given", "name"),
    [
        ("sqlite:///some.sqlite", "sqlite+pysqlite:///some.sqlite"),
        ("sqlite+pysqlite:////some.sqlite", "sqlite+pysqlite:////some.sqlite"),
        ("postgres://u:p@h/d", "postgresql+psycopg://u:***@h/d"),
        ("postgresql://u@h:5/d?sslmode=require&password=p", "postgresql+psycopg://u@h:5/d"),
        (make_url("postgresql+psycopg://u:p@h/d"), "postgresql+psycopg://u:***@h/d"),
    ],
)
def test_an_address_is_named_without_its_password(given: Any, name: str) -> None:
    """Each way to write an address leads to the one driver there is for it; nothing is connected."""
    with SQLConversationStore(given) as store:
        assert repr(store) == f"SQLConversationStore('{name}')"


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("some.sqlite", "cannot be read"),
        (None, "cannot be read"),
        ("postgresql://kedi@h:s3cr/t", "cannot be read"),
        ("mysql://kedi:s3cr%2Ft@h/d", "cannot be kept in 'mysql'"),
        ("postgresql+asyncpg://kedi:s3cr%2Ft@h/d", "cannot be kept in 'postgresql\\+asyncpg'"),
    ],
)
def test_an_address_that_is_none_is_refused(given: Any, said: str) -> None:
    """At once, with an example of a right one, and with nothing of the address that may be a password."""
    with pytest.raises(HistoryConfigurationError, match=f"{said}.*; use a file, 'sqlite:///") as refused:
        SQLConversationStore(given)

    assert "s3cr" not in "".join(traceback.format_exception(refused.value))


@pytest.mark.parametrize(
    "given",
    ["sqlite://", "sqlite:///:memory:", "sqlite:///file::memory:?uri=true", "sqlite:///file:a?mode=memory&uri=true"],
)
def test_a_database_in_memory_is_refused(given: str) -> None:
    """It would be another one for every thread; there is a store for that."""
    for one in (given, create_engine(given, poolclass=NullPool)):
        with pytest.raises(HistoryConfigurationError, match="use `MemoryConversationStore`, or a file"):
            SQLConversationStore(one)


@pytest.mark.parametrize("timeout", [0.0, -1.0, float("nan"), float("inf")])
def test_a_timeout_is_a_time(timeout: float) -> None:
    """To wait for ever or not at all is no setting."""
    with pytest.raises(HistoryConfigurationError, match="use seconds above 0, up to 86,400"):
        SQLConversationStore("sqlite:///some.sqlite", timeout=timeout)


def test_a_server_that_is_not_there_is_an_error() -> None:
    """The error names the server, and neither it nor its causes the password."""
    with SQLConversationStore(SERVER) as store, pytest.raises(ConversationError) as failed:
        store.head("a")

    assert str(failed.value).startswith(
        "The database postgresql+psycopg://kedi:***@127.0.0.1:1/kedi failed: connection failed: "
    )
    assert failed.value.session_id == "a"
    told = "".join(traceback.format_exception(failed.value))
    assert not any(part in told for part in (PASSWORD, "s3cr%2Ft"))


def test_a_password_is_taken_out_of_what_a_driver_says() -> None:
    """It may be anywhere in an address, and a driver may repeat what it was given."""
    given = "postgresql://kedi@127.0.0.1:1/kedi?service=s3cret&password=s3cret"

    with SQLConversationStore(given) as store, pytest.raises(ConversationError, match=r'service "\*\*\*"') as failed:
        store.put("a", b"1", None)

    assert "s3cret" not in str(failed.value)


@pytest.mark.parametrize("path", ["missing/some.sqlite", "file/some.sqlite", ""], ids=["missing", "file", "folder"])
def test_a_file_that_cannot_be_made_is_an_error(tmp_path: Path, path: str) -> None:
    """Its folder is missing, is a file, or it is itself a folder."""
    (tmp_path / "file").touch()

    with (
        SQLConversationStore(f"sqlite:///{tmp_path / path}") as store,
        pytest.raises(ConversationError, match="failed: unable to open database file; see that"),
    ):
        store.commit("a", Change(0, b"1"))


@pytest.mark.skipif(os.geteuid() == 0, reason="whoever may write everywhere has no read-only folder")
def test_a_folder_that_is_read_only_is_an_error(tmp_path: Path) -> None:
    """SQLite makes files beside the database."""
    tmp_path.chmod(0o500)

    with SQLConversationStore(f"sqlite:///{tmp_path / 'a'}") as store, pytest.raises(ConversationError, match="open"):
        store.commit("a", Change(0, b"1"))

    tmp_path.chmod(0o700)


def test_a_database_that_is_read_only_can_be_read(tmp_path: Path) -> None:
    """What is there is returned, and a change is an error."""
    with SQLConversationStore(f"sqlite:///{tmp_path / 'a'}") as store:
        store.commit("a", Change(0, b"1"))

    with SQLConversationStore(f"sqlite:///file:{tmp_path / 'a'}?mode=ro&uri=true") as store:
        assert store.head("a") == Head(1, b"1")
        with pytest.raises(ConversationError, match="readonly database"):
            store.commit("a", Change(1, b"2"))


def test_a_file_that_is_no_database_is_an_error(tmp_path: Path) -> None:
    """It is left as it was."""
    file = tmp_path / "letter.txt"
    file.write_bytes(b"Dear reader, " * 100)

    with SQLConversationStore(f"sqlite:///{file}") as store, pytest.raises(ConversationError, match="not a database"):
        store.commit("a", Change(0, b"1"))

    assert file.read_bytes() == b"Dear reader, " * 100


def test_an_error_does_not_repeat_what_was_written(place: str, engine: Engine) -> None:
    """A conversation's text stays out of messages and tracebacks."""
    secret = "secret" * 2
    with SQLConversationStore(place) as store:
        store.commit("a", Change(0, b"1"))
        with engine.begin() as connection:
            connection.exec_driver_sql("DROP TABLE kedi_entry")

        with pytest.raises(
            ConversationError, match=r"no such table: kedi_entry|\"kedi_entry\" does not exist"
        ) as failed:
            store.commit("a", Change(1, b"2", digested([secret.encode()])))

        assert secret not in "".join(traceback.format_exception(failed.value))
        assert secret not in str(failed.value.__context__)
        assert store.head("a") == Head(1, b"1")


def test_a_writer_that_waits_too_long_is_told(place: str, engine: Engine) -> None:
    """Readers do not wait for a writer, and another writer no longer than `timeout`."""
    with SQLConversationStore(place) as store, SQLConversationStore(place, timeout=0.01) as impatient:
        store.commit("a", Change(0, b"1"))
        with engine.connect() as other:
            other.exec_driver_sql("UPDATE kedi_conversation SET revision = 9")
            assert store.head("a") == Head(1, b"1")
            with pytest.raises(ConversationError, match=r"failed: (database is locked|canceling .* lock timeout)"):
                impatient.commit("a", Change(1, b"2"))

        assert store.commit("a", Change(1, b"2")) == 2


def test_an_sqlite_commit_reaches_the_disk(tmp_path: Path) -> None:
    """In WAL mode only FULL waits for the disk at each commit, so a commit outlives a loss of power."""
    with closing(Database(f"sqlite:///{tmp_path / 'a'}", timeout=2)) as database:
        for transaction in (database.writing, database.reading, database.writing):
            with transaction() as connection:
                asked = {pragma: connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() for pragma in PRAGMAS}
                assert asked == PRAGMAS | {"synchronous": asked["synchronous"]}
        assert asked == PRAGMAS


PRAGMAS = {"journal_mode": "wal", "synchronous": 2, "busy_timeout": 2000}


def test_a_lost_race_for_the_journal_is_run_again(tmp_path: Path) -> None:
    """SQLite may call a file locked at once while another process switches its journal."""
    engine = engine_of(f"sqlite:///{tmp_path / 'a'}")
    lost = iter((True, True))

    @event.listens_for(engine, "before_cursor_execute")
    def _locked(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
        if "journal_mode" in statement and next(lost, False):
            raise OperationalError(statement, None, sqlite3.OperationalError("database is locked"))

    SQLConversationStore(engine).commit("a", Change(0, b"1"))

    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    assert next(lost, None) is None
    engine.dispose()


def test_an_engine_stays_its_owners(engine: Engine) -> None:
    """Its transactions begin as before, and closing the store closes the store alone."""
    with SQLConversationStore(engine) as store:
        store.commit("a", Change(0, b"1"))
    with engine.connect() as connection:
        connection.exec_driver_sql("UPDATE kedi_conversation SET revision = 9")

    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT revision FROM kedi_conversation").scalar() == 1
    with pytest.raises(ConversationError, match="is closed; make a new one"):
        store.head("a")


def test_an_engine_with_another_isolation_is_used_with_ours(engine: Engine) -> None:
    """Under the strictest one a lost race would be a failure of the database and no conflict."""
    store = SQLConversationStore(engine.execution_options(isolation_level="SERIALIZABLE"))

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: count_up(store, "a", 10), range(4)))

    assert store.head("a") == Head(40, b"40")


@pytest.mark.parametrize("options", [{}, {"autocommit": False}], ids=["event", "driver"])
def test_an_engine_that_begins_transactions_itself_is_used(tmp_path: Path, options: dict[str, bool]) -> None:
    """SQLAlchemy's page on SQLite shows two ways, and many programs follow one."""
    if options and sys.version_info < (3, 12):
        pytest.skip("the driver has begun transactions since Python 3.12")
    engine = create_engine(f"sqlite:///{tmp_path / 'a'}", connect_args=options)

    @event.listens_for(engine, "begin")
    def _begin(connection: Any) -> None:
        if not options:
            connection.exec_driver_sql("BEGIN")

    store = SQLConversationStore(engine)
    assert [store.commit("a", Change(revision, b"1")) for revision in range(3)] == [1, 2, 3]

    with engine.connect() as connection:
        assert connection.exec_driver_sql("SELECT revision FROM kedi_conversation").scalar() == 3
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
    engine.dispose()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="Windows has no fork")
def test_a_fork_shares_no_connection(place: str) -> None:
    """Parent and child go on with a store that both have, each by connections of its own."""
    program = start_writer("fork", place, "a", "20")

    assert (program.communicate()[1], program.returncode) == ("", 0)
    with SQLConversationStore(place) as store:
        assert store.head("a") == Head(41, b"41")
