"""Stores for the tests: in memory, SQLite and PostgreSQL, each empty and the test's own.

`address` gives the place of a database that several stores, threads or processes may open; `opened` one store. For a
process of its own there is the program `store_writer.py`.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Final

from sqlalchemy import Engine, create_engine, make_url

from databases import postgres_schema
from kedi_compile.errors import ConversationConflict
from kedi_compile.stores.memory import MemoryConversationStore
from kedi_compile.stores.protocol import Change
from kedi_compile.stores.sql import SQLConversationStore

STORES: Final = ("memory", "sqlite", "postgres")
DATABASES: Final = ("sqlite", "postgres")

Store = MemoryConversationStore | SQLConversationStore

WRITER: Final = Path(__file__).with_name("store_writer.py")


@contextmanager
def address(kind: str, folder: Path) -> Iterator[str]:
    """Give the address of an empty database of one of `DATABASES`."""
    if kind == "sqlite":
        yield f"sqlite:///{folder / 'stored.sqlite'}"
        return
    with postgres_schema() as (server, options):
        yield make_url(server).update_query_dict({"options": options}).render_as_string(hide_password=False)


@contextmanager
def opened(kind: str, folder: Path) -> Iterator[Store]:
    """Give an empty store of one of `STORES`."""
    if kind == "memory":
        yield MemoryConversationStore()
        return
    with address(kind, folder) as place, SQLConversationStore(place) as store:
        yield store


def engine_of(place: str) -> Engine:
    """Make an engine for an address, as a program has one of its own."""
    url = make_url(place)
    return create_engine(url.set(drivername="postgresql+psycopg") if url.drivername == "postgresql" else url)


def digested(entries: Iterable[bytes]) -> dict[str, bytes]:
    """Name entries as a store is given them, by the SHA-256 of their bytes."""
    return {sha256(entry).hexdigest(): entry for entry in entries}


def count_up(store: Store, session_id: str, times: int) -> None:
    """Commit `times` changes, each a head one higher than the one before, and run a lost race again."""
    for _ in range(times):
        while True:
            there = store.head(session_id)
            number = int(there.body) + 1 if there else 1
            change = Change(there.revision if there else 0, b"%d" % number, digested([b"entry %d" % number]))
            try:
                store.commit(session_id, change)
            except ConversationConflict:
                continue
            break


def start_writer(*arguments: str) -> subprocess.Popen[str]:
    """Start `store_writer.py`, which finds the package where this process does."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(path for path in sys.path if path)}
    return subprocess.Popen(
        [sys.executable, "-W", "error", WRITER, *arguments], env=environment, stderr=subprocess.PIPE, text=True
    )
