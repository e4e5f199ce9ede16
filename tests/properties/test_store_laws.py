"""Laws of the stores: whatever is asked of a database and of memory in the same order, they answer alike."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedi_compile.errors import ConversationConflict, ConversationError
from kedi_compile.stores.memory import MemoryConversationStore
from kedi_compile.stores.protocol import Change
from kedi_compile.stores.sql import SQLConversationStore
from stores import DATABASES, Store, address

DIGESTS = ("d1", "d2", "d3", "d4")
TIMES = st.sampled_from([None, 1.0, 2.0, float("inf")])
CHANGES = st.builds(
    Change,
    st.integers(0, 4),
    st.binary(max_size=3),
    st.dictionaries(st.sampled_from(DIGESTS), st.just(b"entry"), max_size=3),
    st.frozensets(st.sampled_from(DIGESTS), max_size=3),
)
STEPS = st.one_of(
    st.tuples(st.just("commit"), CHANGES),
    st.tuples(st.just("delete")),
    st.tuples(st.just("put"), st.binary(max_size=1), TIMES),
    st.tuples(st.just("release")),
    st.tuples(st.just("purge"), st.sampled_from([0.5, 1.0, 3.0])),
    st.tuples(st.just("get"), st.sampled_from([0.5, 1.0, 3.0])),
)

names = count()


@pytest.fixture(scope="module", params=DATABASES)
def database(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[SQLConversationStore]:
    """One database for all examples, each of which uses names of its own."""
    folder: Path = tmp_path_factory.mktemp("laws")
    with address(request.param, folder) as place, SQLConversationStore(place) as store:
        yield store


def answer(store: Store, name: str, step: tuple[Any, ...]) -> object:
    """Take one step, and return what came of it and all that can be seen afterwards."""
    told: object
    try:
        told = getattr(store, step[0])(*([] if step[0] == "purge" else [name]), *step[1:])
    except ConversationConflict as conflict:
        told = (conflict.expected, conflict.found)
    except ConversationError as error:
        told = str(error)
    return told, store.head(name), store.entries(name, DIGESTS), store.get(name, 1.0)


@settings(max_examples=150)
@given(st.lists(STEPS, max_size=12))
def test_a_database_and_memory_answer_alike(database: SQLConversationStore, steps: list[tuple[Any, ...]]) -> None:
    """Revisions, conflicts, entries, and why a record is gone."""
    memory, name = MemoryConversationStore(), f"example {next(names)}"
    database.purge(float("inf"))  # what earlier examples left would be counted

    for step in steps:
        assert answer(database, name, step) == answer(memory, name, step)
