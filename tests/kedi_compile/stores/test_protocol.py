"""What every store promises, asked of each: in memory, SQLite and PostgreSQL."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from kedi_compile.errors import ConversationConflict, ConversationError
from kedi_compile.stores.protocol import ArchiveStore, Change, ConversationStore, Gone, Head
from stores import STORES, Store, count_up, digested, opened

ENTRIES = digested([b'{"role": "user"}', b"\x00\xff\xfe\n", b""])
FIRST, *_ = ENTRIES


@pytest.fixture(params=STORES)
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    """An empty store of each kind."""
    with opened(request.param, tmp_path) as one:
        yield one


def test_every_store_keeps_both(store: Store) -> None:
    """A conversation and its archived records may lie in one place."""
    assert isinstance(store, ConversationStore)
    assert isinstance(store, ArchiveStore)


def test_a_conversation_that_never_began_is_none(store: Store) -> None:
    """Nothing is there before the first commit."""
    assert store.head("a") is None
    assert store.entries("a", ENTRIES) == {}


def test_what_is_committed_comes_back_byte_for_byte(store: Store) -> None:
    """Head and entries are bytes of any kind, the empty ones included."""
    assert store.commit("a", Change(0, b"\x00head\xff", ENTRIES)) == 1

    assert store.head("a") == Head(1, b"\x00head\xff")
    assert store.entries("a", ENTRIES) == ENTRIES


def test_an_empty_head_is_a_head(store: Store) -> None:
    """No bytes are not the same as no conversation."""
    store.commit("a", Change(0, b""))

    assert store.head("a") == Head(1, b"")


def test_only_the_named_entries_are_returned(store: Store) -> None:
    """What is not there is left out of the answer."""
    store.commit("a", Change(0, b"1", ENTRIES))

    assert store.entries("a", [FIRST, FIRST, "unheard of"]) == {FIRST: ENTRIES[FIRST]}
    assert store.entries("a", []) == {}


def test_revisions_grow_by_one(store: Store) -> None:
    """Each commit names the revision it was made from and returns its own."""
    assert [store.commit("a", Change(revision, b"%d" % revision)) for revision in range(3)] == [1, 2, 3]

    assert store.head("a") == Head(3, b"2")


def test_a_change_adds_and_drops(store: Store) -> None:
    """Added entries are there afterwards, dropped ones are not, all others stay."""
    store.commit("a", Change(0, b"1", digested([b"stays", b"goes"])))

    store.commit("a", Change(1, b"2", digested([b"comes"]), frozenset(digested([b"goes", b"was never there"]))))

    assert store.entries("a", digested([b"stays", b"goes", b"comes"])) == digested([b"stays", b"comes"])


def test_an_entry_may_be_added_again(store: Store) -> None:
    """`added` is what the store may lack; what it has it keeps."""
    store.commit("a", Change(0, b"1", ENTRIES))

    assert store.commit("a", Change(1, b"2", ENTRIES)) == 2
    assert store.entries("a", ENTRIES) == ENTRIES


def test_an_entry_both_added_and_dropped_stays(store: Store) -> None:
    """Where a change says both, nothing is lost."""
    store.commit("a", Change(0, b"1", ENTRIES))

    store.commit("a", Change(1, b"2", ENTRIES, frozenset(ENTRIES)))

    assert store.entries("a", ENTRIES) == ENTRIES


def test_conversations_share_nothing(store: Store) -> None:
    """An entry of one conversation is not there for another, nor dropped with it."""
    store.commit("a", Change(0, b"1", ENTRIES))
    store.commit("b", Change(0, b"1", digested([b"other"])))

    store.commit("b", Change(1, b"2", {}, frozenset(ENTRIES)))
    store.delete("b")

    assert store.entries("b", ENTRIES) == {}
    assert store.entries("a", ENTRIES) == ENTRIES


@pytest.mark.parametrize("expected", [0, 1, 3, -1], ids=str)
def test_a_lost_race_is_typed_and_changes_nothing(store: Store, expected: int) -> None:
    """A change made from another revision is refused whole, and the error says what is there instead."""
    store.commit("a", Change(0, b"1", ENTRIES))
    store.commit("a", Change(1, b"2"))

    with pytest.raises(ConversationConflict) as refused:
        store.commit("a", Change(expected, b"3", digested([b"new"]), frozenset(ENTRIES)))

    assert (refused.value.session_id, refused.value.expected, refused.value.found) == ("a", expected, 2)
    assert vars(pickle.loads(pickle.dumps(refused.value))) == vars(refused.value)  # noqa: S301  # our own bytes
    assert store.head("a") == Head(2, b"2")
    assert store.entries("a", [*ENTRIES, *digested([b"new"])]) == ENTRIES


def test_a_change_of_a_conversation_that_never_began_is_refused(store: Store) -> None:
    """It was made from a revision, and there is none."""
    with pytest.raises(ConversationConflict) as refused:
        store.commit("a", Change(1, b"2"))

    assert (refused.value.expected, refused.value.found) == (1, None)
    assert store.head("a") is None


def test_a_deleted_conversation_is_gone_with_its_entries(store: Store) -> None:
    """Deleting leaves neither head nor entries, and may be asked for twice or of nothing."""
    store.commit("a", Change(0, b"1", ENTRIES))

    store.delete("a")
    store.delete("a")
    store.delete("never began")

    assert store.head("a") is None
    assert store.entries("a", ENTRIES) == {}
    assert store.commit("never began", Change(0, b"1")) == 1


def test_a_change_of_a_deleted_conversation_is_refused(store: Store) -> None:
    """Whoever still holds the old revision cannot bring the conversation back."""
    store.commit("a", Change(0, b"1"))
    store.delete("a")

    with pytest.raises(ConversationConflict) as refused:
        store.commit("a", Change(1, b"2"))

    assert (refused.value.expected, refused.value.found) == (1, None)


def test_revisions_only_grow_over_a_deletion(store: Store) -> None:
    """A conversation that begins again is told apart from the one of the same name before it."""
    store.commit("a", Change(0, b"1"))
    store.commit("a", Change(1, b"2", ENTRIES))
    store.delete("a")

    assert store.commit("a", Change(0, b"new")) == 3
    assert store.head("a") == Head(3, b"new")
    assert store.entries("a", ENTRIES) == {}
    with pytest.raises(ConversationConflict):
        store.commit("a", Change(2, b"late"))
    store.delete("a")
    assert store.commit("a", Change(0, b"again")) == 4


def test_ten_thousand_entries_fit_into_a_change(store: Store) -> None:
    """No limit on the values of a statement is met, in writing, reading or dropping."""
    many = digested(b"entry %d" % number for number in range(10_000))
    store.commit("a", Change(0, b"1", many))

    there = store.entries("a", many)
    store.commit("a", Change(1, b"2", {}, frozenset(many)))

    assert there == many
    assert store.entries("a", many) == {}


def test_five_megabytes_fit_into_an_entry(store: Store) -> None:
    """An attachment is an entry like any other."""
    large = digested([bytes(range(256)) * 20_480])

    store.commit("a", Change(0, b"1", large))

    assert store.entries("a", large) == large


def test_threads_that_write_at_once_lose_nothing(store: Store) -> None:
    """Eight threads that count up by compare-and-swap, and retry when they lost, count every time."""
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda _: count_up(store, "a", 10), range(8)))

    assert store.head("a") == Head(80, b"80")
    numbers = digested(b"entry %d" % number for number in range(1, 81))
    assert store.entries("a", numbers) == numbers


@pytest.mark.parametrize("name", ["ü/'\"%:?\\", "x" * 512, "\U0001f600" * 512, " ", "a\nb", "A", "123"])
def test_a_name_may_be_any_text(store: Store, name: str) -> None:
    """Session ids and references are kept as they are, whatever a database takes for syntax."""
    store.commit("a", Change(0, b"other"))
    store.commit(name, Change(0, b"1", ENTRIES))
    store.put(name, b"record", None)

    assert store.head(name) == Head(1, b"1")
    assert store.entries(name, ENTRIES) == ENTRIES
    assert store.get(name, 0.0) == b"record"


@pytest.mark.parametrize("name", ["", "a\0b", "\ud800", "x" * 513])
def test_a_name_that_some_store_cannot_keep_is_refused(store: Store, name: str) -> None:
    """The rule is the same for all stores, and for every method."""
    change = Change(0, b"1")
    calls = (
        lambda: store.head(name),
        lambda: store.entries(name, []),
        lambda: store.entries("a", [name]),
        lambda: store.commit(name, change),
        lambda: store.commit("a", Change(0, b"1", {name: b""})),
        lambda: store.commit("a", Change(0, b"1", {}, frozenset([name]))),
        lambda: store.delete(name),
        lambda: store.put(name, b"", None),
        lambda: store.get(name, 0.0),
        lambda: store.release(name),
    )

    for call in calls:
        with pytest.raises(ConversationError, match="use text of 1 to 512 characters"):
            call()
    assert store.head("a") is None


def test_a_record_comes_back_byte_for_byte(store: Store) -> None:
    """Before its end, and for ever where it has none."""
    store.put("endless", b"\x00\xff", None)
    store.put("ends", b"", 10.5)

    assert store.get("endless", 1e12) == b"\x00\xff"
    assert store.get("ends", 10.4) == b""


def test_the_three_ways_to_be_gone_are_told_apart(store: Store) -> None:
    """Expired at its end and after it, released, or never heard of."""
    store.put("expired", b"1", 10.0)
    store.put("released", b"2", 10.0)
    store.release("released")

    assert [store.get("expired", now) for now in (9.99, 10.0, 11.0)] == [b"1", Gone.EXPIRED, Gone.EXPIRED]
    assert [store.get("released", now) for now in (0.0, 11.0)] == [Gone.RELEASED] * 2
    assert store.get("unheard of", 0.0) is Gone.UNKNOWN


def test_a_release_is_remembered(store: Store) -> None:
    """It may come twice, after the end, or for a reference that the store has never heard of."""
    store.put("a", b"1", 10.0)

    store.purge(11.0)
    store.release("a")
    store.release("a")
    store.release("unheard of")

    assert [store.get("a", 0.0), store.get("unheard of", 0.0)] == [Gone.RELEASED] * 2


def test_purged_records_stay_expired(store: Store) -> None:
    """Purging drops the bytes of what is expired, counts them once, and touches nothing else."""
    store.put("over", b"1", 10.0)
    store.put("lasts", b"2", 10.1)
    store.put("endless", b"3", None)
    store.put("released", b"4", 1.0)
    store.release("released")

    assert [store.purge(10.0), store.purge(10.0)] == [1, 0]
    assert [store.get(name, 0.0) for name in ("over", "lasts", "endless", "released")] == [
        Gone.EXPIRED,
        b"2",
        b"3",
        Gone.RELEASED,
    ]


def test_the_same_record_may_be_put_again(store: Store) -> None:
    """Whoever did not learn whether a record was kept puts it once more."""
    store.put("a", b"1", 10.0)
    store.put("a", b"1", 10.0)

    assert store.get("a", 0.0) == b"1"


@pytest.mark.parametrize(
    ("end", "said"),
    [("kept", "names another record"), ("released", "was released"), ("purged", "expired and was purged")],
)
def test_a_reference_is_never_used_again(store: Store, end: str, said: str) -> None:
    """A second record under a reference is refused, whether the first is there or not."""
    store.put("a", b"1", 10.0)
    if end == "released":
        store.release("a")
    if end == "purged":
        store.purge(10.0)
    before = store.get("a", 0.0)

    with pytest.raises(ConversationError, match=f"'a' {'names a record that ' * (end == 'purged')}{said}"):
        store.put("a", b"2", 10.0)

    assert store.get("a", 0.0) == before
