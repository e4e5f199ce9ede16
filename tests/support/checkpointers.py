"""Checkpointers for the tests of durable history: in memory, SQLite and PostgreSQL, each fresh for its test.

`opened` and `aopened` give a synchronous and an asynchronous one. SQLite keeps its file in the test's folder, and
PostgreSQL is that of `databases`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path
from typing import Any, Final

import psycopg
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.postgres.aio import AsyncPostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from psycopg.rows import dict_row

from databases import postgres_schema

CHECKPOINTERS: Final = ("memory", "sqlite", "postgres")

Saver = Any
"""A checkpointer; the hosts' classes share no type that says sync and async alike."""


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Saver]:
    """Give a synchronous checkpointer of one of `CHECKPOINTERS`."""
    if kind == "memory":
        yield InMemorySaver()
    elif kind == "sqlite":
        with closing(sqlite3.connect(folder / "threads.sqlite", check_same_thread=False)) as connection:
            yield SqliteSaver(connection)
    else:
        with postgres_schema() as (address, options), psycopg.connect(address, options=options, **_OPEN) as connection:
            saver = PostgresSaver(connection)
            saver.setup()
            yield saver


@asynccontextmanager
async def aopened(kind: str, folder: Path) -> AsyncIterator[Saver]:
    """Give an asynchronous checkpointer of one of `CHECKPOINTERS`."""
    if kind == "memory":
        yield InMemorySaver()
    elif kind == "sqlite":
        async with AsyncSqliteSaver.from_conn_string(str(folder / "threads.sqlite")) as saver:
            yield saver
    else:
        with postgres_schema() as (address, options):
            connection = await psycopg.AsyncConnection.connect(address, options=options, **_OPEN)
            async with connection:
                postgres = AsyncPostgresSaver(connection)
                await postgres.setup()
                yield postgres


_OPEN: Final[dict[str, Any]] = {"autocommit": True, "prepare_threshold": 0, "row_factory": dict_row}
