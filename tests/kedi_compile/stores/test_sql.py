"""The SQL store beside what `test_protocol` asks of every store: what outlives a process, and what several may do."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from kedi_compile.errors import ConversationError
from kedi_compile.stores.protocol import Change, Head
from kedi_compile.stores.sql import SQLConversationStore
from stores import address, digested, engine_of, start_writer


def test_what_was_committed_outlives_the_store(place: str) -> None:
    """A store that is opened later has all of it."""
    entries = digested([b"1", b"2"])
    with SQLConversationStore(place) as store:
        store.commit("a", Change(0, b"head", entries))
        store.put("r", b"record", None)

    with SQLConversationStore(place) as store:
        assert store.head("a") == Head(1, b"head")
        assert store.entries("a", entries) == entries
        assert store.get("r", 0.0) == b"record"


def test_a_closed_store_refuses(place: str) -> None:
    """Every call says so, and closing twice is closing."""
    store = SQLConversationStore(place)
    store.commit("a", Change(0, b"1"))
    store.close()
    store.close()

    for call in (store.head, store.delete, store.release):
        with pytest.raises(ConversationError, match="is closed; make a new one"):
            call("a")


def test_processes_that_write_at_once_lose_nothing(place: str) -> None:
    """Four processes that count up by compare-and-swap, and retry when they lost, count every time."""
    writers = [start_writer("count", place, "a", "25") for _ in range(4)]

    assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [("", 0)] * 4
    with SQLConversationStore(place) as store:
        assert store.head("a") == Head(100, b"100")
        numbers = digested(b"entry %d" % number for number in range(1, 101))
        assert store.entries("a", numbers) == numbers


@pytest.mark.parametrize(
    "where", ["UPDATE kedi_conversation", "DELETE FROM kedi_entry", "INSERT INTO kedi_entry", "COMMIT"]
)
def test_a_writer_killed_in_a_commit_leaves_the_last_one_whole(place: str, where: str) -> None:
    """Wherever it was, nothing of its change is there, all of the one before is, and nobody waits for it."""
    old, new = digested([b"old"]), digested([b"new"])
    with SQLConversationStore(place) as store:
        store.commit("a", Change(0, b"whole", old))

    writer = start_writer("die", place, "a", where)
    assert (writer.communicate()[1], writer.returncode) == ("", -9)

    with SQLConversationStore(place) as store:
        assert store.head("a") == Head(1, b"whole")
        assert store.entries("a", [*old, *new]) == old
        assert store.commit("a", Change(1, b"next", new, frozenset(old))) == 2
        assert store.entries("a", [*old, *new]) == new


@pytest.mark.parametrize("where", ["INSERT INTO kedi_conversation", "UPDATE kedi_conversation", "COMMIT"])
def test_a_writer_killed_in_the_first_commit_leaves_nothing(place: str, where: str) -> None:
    """A conversation that did not come to be is none."""
    writer = start_writer("die", place, "a", where)
    assert (writer.communicate()[1], writer.returncode) == ("", -9)

    with SQLConversationStore(place) as store:
        assert store.head("a") is None
        assert store.commit("a", Change(0, b"1")) == 1


def test_a_deletion_of_nothing_leaves_a_conversation_that_begins(tmp_path: Path) -> None:
    """A first commit that lands in the middle of a deletion comes after it, and is whole."""
    entries = digested([b"1", b"2"])
    with address("postgres", tmp_path) as place, SQLConversationStore(place) as other:
        engine = engine_of(place)

        @event.listens_for(engine, "after_cursor_execute")
        def _begin(_connection: Any, _cursor: Any, statement: str, *_: Any) -> None:
            if statement.startswith("UPDATE kedi_conversation"):
                other.commit("a", Change(0, b"1", entries))

        SQLConversationStore(engine).delete("a")
        engine.dispose()

        assert other.head("a") == Head(1, b"1")
        assert other.entries("a", entries) == entries


@pytest.mark.parametrize(
    ("missing", "program"),
    [
        ("sqlalchemy", "import kedi_compile.stores.sql"),
        ("psycopg", "import kedi_compile.stores.sql as sql; sql.SQLConversationStore('postgresql://h/d')"),
    ],
)
def test_a_missing_library_is_named_with_its_extra(missing: str, program: str) -> None:
    """The error says what to install; SQLite needs no driver."""
    without = f"import sys; sys.modules[{missing!r}] = None; {program}"
    done = subprocess.run([sys.executable, "-c", without], capture_output=True, text=True, check=False)

    assert done.stderr.splitlines()[-1].startswith("ImportError: ")
    assert done.stderr.endswith("install it with: pip install 'kedi-compile[stores]'\n")


@pytest.mark.parametrize(
    ("change", "found"),
    [
        ("UPDATE kedi_conversation SET revision = 'abc'", "holds str, not int"),
        ("UPDATE kedi_conversation SET body = 'abc'", "holds str, not bytes"),
        ("UPDATE kedi_entry SET body = 'abc'", "holds str, not bytes"),
    ],
)
def test_rows_that_somebody_has_edited_are_said_to_be_damaged(change: str, found: str, tmp_path: Path) -> None:
    """An SQLite column takes values of any type."""
    file = tmp_path / "chats.db"
    with SQLConversationStore(f"sqlite:///{file}") as store:
        store.commit("chat", Change(0, b"{}", {"a" * 64: b"one"}))
        with closing(sqlite3.connect(file)) as connection:
            connection.execute(change)
            connection.commit()

        with pytest.raises(ConversationError, match=found):
            _ = (store.head("chat"), store.entries("chat", ["a" * 64]))
