"""The store in memory, beside what `test_protocol` asks of every store."""

from __future__ import annotations

import subprocess
import sys

from kedi_compile.stores.memory import MemoryConversationStore
from kedi_compile.stores.protocol import Change


def test_two_stores_share_nothing() -> None:
    """Each is a memory of its own."""
    first, second = MemoryConversationStore(), MemoryConversationStore()

    first.commit("a", Change(0, b"1"))
    first.put("r", b"1", None)

    assert second.head("a") is None
    second.put("r", b"2", None)


def test_a_change_is_kept_as_it_was_committed() -> None:
    """What the caller does to its mapping afterwards does not reach the store."""
    store = MemoryConversationStore()
    added = {"d": b"1"}

    store.commit("a", Change(0, b"1", added))
    added["d"] = b"2"
    store.entries("a", ["d"])["d"] = b"3"

    assert store.entries("a", ["d"]) == {"d": b"1"}


def test_no_database_library_is_loaded() -> None:
    """Only who names the SQL store pays for it."""
    program = "import sys, kedi_compile, kedi_compile.stores.memory; print(*sorted(sys.modules))"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()

    assert not {name.partition(".")[0] for name in loaded} & {"sqlalchemy", "psycopg", "sqlite3"}
