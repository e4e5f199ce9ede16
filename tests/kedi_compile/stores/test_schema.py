"""The tables: made once by whoever comes first, brought forward with their data, and refused where they are newer."""

from __future__ import annotations

import pytest
from sqlalchemy import Engine, TableClause, inspect

from kedi_compile.errors import ConversationError
from kedi_compile.stores import schema
from kedi_compile.stores.protocol import Gone, Head
from kedi_compile.stores.sql import SQLConversationStore
from stores import digested, start_writer

VERSION_1 = """
CREATE TABLE kedi_schema (version INTEGER NOT NULL);
INSERT INTO kedi_schema VALUES (1);
CREATE TABLE kedi_conversation (session_id TEXT NOT NULL PRIMARY KEY, revision BIGINT NOT NULL, body {bytes});
INSERT INTO kedi_conversation VALUES ('a', 7, {head}), ('deleted', 3, NULL);
CREATE TABLE kedi_entry
  (session_id TEXT NOT NULL, digest TEXT NOT NULL, body {bytes} NOT NULL, PRIMARY KEY (session_id, digest));
INSERT INTO kedi_entry VALUES ('a', 'd', {entry});
CREATE TABLE kedi_archive (reference TEXT NOT NULL PRIMARY KEY, record {bytes}, expires_at DOUBLE PRECISION);
INSERT INTO kedi_archive VALUES
  ('endless', {record}, NULL), ('ends', {record}, 10), ('purged', NULL, 10), ('released', NULL, NULL)
"""
"""A database as the first version made it, with one of everything it could hold."""

LITERALS = {
    "sqlite": {"bytes": "BLOB", "head": "x'00ff'", "entry": "x'01'", "record": "x'02'"},
    "postgresql": {"bytes": "BYTEA", "head": "'\\x00ff'", "entry": "'\\x01'", "record": "'\\x02'"},
}


def run(engine: Engine, program: str) -> None:
    """Run statements, each with the literals of its database."""
    with engine.begin() as connection:
        for statement in program.split(";"):
            connection.exec_driver_sql(statement.format(**LITERALS[engine.dialect.name]))


def test_a_version_1_database_is_brought_forward_with_its_data(place: str, engine: Engine) -> None:
    """Everything is as it was, and a release that version 1 only implied is said outright."""
    run(engine, VERSION_1)

    with SQLConversationStore(place) as store:
        assert store.head("a") == Head(7, b"\x00\xff")
        assert store.head("deleted") is None
        assert store.entries("a", ["d"]) == {"d": b"\x01"}
        assert [store.get(name, 10.0) for name in ("endless", "ends", "purged", "released", "unheard of")] == [
            b"\x02",
            Gone.EXPIRED,
            Gone.EXPIRED,
            Gone.RELEASED,
            Gone.UNKNOWN,
        ]
        assert store.get("ends", 9.0) == b"\x02"
        assert version(engine) == schema.NEWEST == 2


def version(engine: Engine) -> int:
    """Return the version that a database says it has."""
    with engine.connect() as connection:
        return schema.version_of(connection)


def test_an_old_and_a_new_database_end_up_alike(place: str, engine: Engine) -> None:
    """The first version's own statements and the step behind it make the tables that a new database gets."""
    run(engine, VERSION_1)
    with SQLConversationStore(place) as store:
        store.head("a")
    old = tables(engine)
    run(engine, "; ".join(f"DROP TABLE {name}" for name in old))
    with SQLConversationStore(place) as store:
        store.head("a")

    assert tables(engine) == old
    assert set(old) == {"kedi_schema", "kedi_conversation", "kedi_entry", "kedi_archive"}


def tables(engine: Engine) -> dict[str, object]:
    """Describe every table."""
    about = inspect(engine)
    return {
        name: (
            [(column["name"], str(column["type"]), column["nullable"]) for column in about.get_columns(name)],
            about.get_pk_constraint(name)["constrained_columns"],
            [index["column_names"] for index in about.get_indexes(name)],
        )
        for name in about.get_table_names()
    }


@pytest.mark.parametrize("table", [schema.CONVERSATION, schema.ENTRY, schema.ARCHIVE, schema.SCHEMA])
def test_the_columns_asked_for_are_those_made(place: str, engine: Engine, table: TableClause) -> None:
    """The description of the newest version and the steps that lead to it agree."""
    with SQLConversationStore(place) as store:
        store.head("a")

    assert {column["name"] for column in inspect(engine).get_columns(table.name)} == set(table.columns.keys())


def test_a_newer_database_is_refused(place: str, engine: Engine) -> None:
    """A store that does not know a version touches nothing of it, and names both."""
    with SQLConversationStore(place) as store:
        store.head("a")
    run(engine, "UPDATE kedi_schema SET version = 3")

    with SQLConversationStore(place) as store, pytest.raises(ConversationError) as refused:
        store.head("a")

    assert str(refused.value) == (
        "The stored conversations are of schema version 3, and this kedi-compile knows versions up to 2; use the "
        "newer kedi-compile that wrote them"
    )
    with pytest.raises(ConversationError, match="version 3"):
        version(engine)


def test_a_step_that_fails_leaves_the_old_version(place: str, engine: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    """All steps are one transaction: a failure takes back the tables that were already changed."""
    run(engine, VERSION_1)
    monkeypatch.setattr(schema, "STEPS", (*schema.STEPS, ("CREATE TABLE kedi_new (a TEXT)", "NO STATEMENT")))
    monkeypatch.setattr(schema, "NEWEST", 3)
    before = tables(engine)

    with SQLConversationStore(place) as store, pytest.raises(ConversationError, match="syntax error"):
        store.head("a")

    assert tables(engine) == before
    assert version(engine) == 1


def test_four_processes_may_start_at_once(place: str, engine: Engine) -> None:
    """Whoever makes the tables, all find them, and what all write is there."""
    writers = [start_writer("count", place, "a", "1") for _ in range(4)]

    assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [("", 0)] * 4
    with SQLConversationStore(place) as store:
        assert store.head("a") == Head(4, b"4")
        assert store.entries("a", digested([b"entry 4"])) == digested([b"entry 4"])


def test_tables_of_another_program_are_left_alone(place: str, engine: Engine) -> None:
    """A table that has the store's name and not its version is no store."""
    run(engine, "CREATE TABLE kedi_entry (a TEXT)")

    with SQLConversationStore(place) as store, pytest.raises(ConversationError, match="already exists"):
        store.head("a")

    assert set(tables(engine)) == {"kedi_entry"}
