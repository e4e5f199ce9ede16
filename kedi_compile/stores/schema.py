"""The tables of the SQL store, and how a database comes to have them.

`STEPS[n]` leads from version n to version n + 1, a new database from nothing through all of them, so the way an old one
takes is the way every one takes. A step that has been released is never edited: the next one changes what it made. The
columns that the store asks for are those of the newest version.
"""

from __future__ import annotations

from typing import Final

from sqlalchemy import (
    BigInteger,
    Boolean,
    Connection,
    Double,
    Integer,
    LargeBinary,
    Text,
    column,
    inspect,
    select,
    table,
    update,
)

from kedi_compile.errors import ConversationError

CONVERSATION: Final = table(
    "kedi_conversation",
    column("session_id", Text()),
    column("revision", BigInteger()),
    column("body", LargeBinary()),
)
"""The heads. `body` is null where the conversation was deleted: the row stays, so that revisions only grow."""

ENTRY: Final = table(
    "kedi_entry",
    column("session_id", Text()),
    column("digest", Text()),
    column("body", LargeBinary()),
)

ARCHIVE: Final = table(
    "kedi_archive",
    column("reference", Text()),
    column("record", LargeBinary()),
    column("expires_at", Double()),
    column("released", Boolean()),
)
"""What is archived. `record` is null where it was released, or expired and purged."""

SCHEMA: Final = table("kedi_schema", column("version", Integer()))

_FIRST = (
    "CREATE TABLE kedi_schema (version INTEGER NOT NULL)",
    "INSERT INTO kedi_schema VALUES (0)",
    "CREATE TABLE kedi_conversation (session_id TEXT NOT NULL PRIMARY KEY, revision BIGINT NOT NULL, body {bytes})",
    """
    CREATE TABLE kedi_entry
    (session_id TEXT NOT NULL, digest TEXT NOT NULL, body {bytes} NOT NULL, PRIMARY KEY (session_id, digest))
    """,
    "CREATE TABLE kedi_archive (reference TEXT NOT NULL PRIMARY KEY, record {bytes}, expires_at DOUBLE PRECISION)",
)

_RELEASED_BY_NAME = (
    "ALTER TABLE kedi_archive ADD COLUMN released BOOLEAN NOT NULL DEFAULT FALSE",
    "UPDATE kedi_archive SET released = TRUE WHERE record IS NULL AND expires_at IS NULL",
    "CREATE INDEX kedi_archive_expires_at ON kedi_archive (expires_at)",
)
"""Version 1 knew a released record by its two nulls and looked at every record to purge the expired ones."""

STEPS: Final = (_FIRST, _RELEASED_BY_NAME)
NEWEST: Final = len(STEPS)

_BYTES: Final = {"sqlite": "BLOB", "postgresql": "BYTEA"}

_LOCK: Final = 0x6B656469  # "kedi"
"""Held on PostgreSQL while tables are made: two that make one at the same time would fail on its name."""


def version_of(connection: Connection) -> int:
    """Return the version of a database's tables, 0 where it has none.

    Raises:
        ConversationError: it is newer than this file knows.
    """
    if not inspect(connection).has_table("kedi_schema"):
        return 0
    version = int(connection.execute(select(SCHEMA.c.version)).scalar_one())
    if version > NEWEST:
        raise ConversationError(
            f"The stored conversations are of schema version {version}, and this kedi-compile knows versions up to "
            f"{NEWEST}; use the newer kedi-compile that wrote them"
        )
    return version


def upgrade(connection: Connection) -> None:
    """Bring a database to the newest version, in the transaction of `connection`; raises as `version_of` does."""
    name = connection.dialect.name
    if name == "postgresql":
        connection.exec_driver_sql(f"SELECT pg_advisory_xact_lock({_LOCK})")
    for statements in STEPS[version_of(connection) :]:
        for statement in statements:
            connection.exec_driver_sql(statement.format(bytes=_BYTES[name]))
    connection.execute(update(SCHEMA).values(version=NEWEST))
