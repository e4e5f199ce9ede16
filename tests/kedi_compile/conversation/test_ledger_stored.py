"""With a store, the store is the truth: who commits second is told, and nothing is silently overwritten."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kedi_compile import ConversationConflict, ConversationError
from kedi_compile.conversation import ConversationState
from kedi_compile.conversation.records import History
from kedi_compile.conversation.turns import Turn
from kedi_compile.history.carried import Carried
from kedi_compile.stores.protocol import ConversationStore, Head
from shelf import KEY, OTHER, Shelf, converse, extended, looked_at, opened, topics
from toy import ToyDialect

quiet = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryLaneWarning")


def test_the_shelf_is_a_store() -> None:
    """What these tests use has every method of the protocol."""
    assert isinstance(Shelf(), ConversationStore)


def test_another_process_finds_what_was_committed() -> None:
    """And goes on from there."""
    shelf = Shelf()
    converse(opened(shelf), "a", "b")

    state = converse(opened(shelf), "c")

    assert (topics(state), state.turns, state.ledger.is_stored) == (["a", "b", "c"], 3, True)


def test_a_turn_sees_what_another_process_has_committed_since() -> None:
    """Two processes that take turns are one conversation."""
    shelf = Shelf()
    one, two = opened(shelf), opened(shelf)
    for state, topic in ((one, "a"), (two, "b"), (one, "c"), (two, "d")):
        converse(state, topic)

    assert topics(two) == ["a", "b", "c", "d"]
    assert topics(one) == ["a", "b", "c"]
    assert looked_at(shelf) == ["a", "b", "c", "d"]


def test_a_turn_sends_its_own_messages_alone() -> None:
    """What the store has is not sent again, by whichever process it was written."""
    shelf = Shelf()
    one, two = opened(shelf), opened(shelf)

    for state, topic in ((one, "a"), (one, "b"), (two, "c"), (one, "d")):
        converse(state, topic)

    assert shelf.added == [2, 2, 2, 2]


def test_what_no_lane_names_any_more_is_dropped() -> None:
    """A rewrite leaves nothing of what it removed in the store."""
    shelf = Shelf()
    state = converse(opened(shelf), "a", "b")

    rewrite(state, keep=slice(2, None))

    assert looked_at(shelf) == ["b"]
    assert b"About a?" not in b"".join(shelf.kept.values())
    assert len(shelf.kept) == 2


@quiet
def test_what_another_lane_names_too_stays() -> None:
    """Equal messages are one record, and it goes with the last that names it."""
    shelf = Shelf()
    state = converse(opened(shelf), "a")
    converse(state, "a", key=OTHER)

    rewrite(state, keep=slice(2, None))

    again = opened(shelf)
    again.ledger.refresh()
    assert (topics(again), topics(again, OTHER)) == ([], ["a"])


def rewrite(state: ConversationState, keep: slice) -> None:
    """Commit a turn that keeps some of the messages, and adds none."""
    turn = Turn(state)
    turn.enter_sync()
    lane = state.ledger.lane(KEY)
    kept = lane.history.messages(ToyDialect())[keep]
    turn.commit_sync(lane.after_turn(History(kept, ToyDialect()), Carried(generation=1)))


def test_the_second_of_two_commits_is_refused() -> None:
    """It says what each expected, and the next turn begins from what is there."""
    shelf = Shelf()
    one, two = converse(opened(shelf), "a"), opened(shelf)
    turn = Turn(one)
    turn.enter_sync()
    converse(two, "theirs")

    with pytest.raises(ConversationConflict) as caught:
        turn.commit_sync(extended(turn, "mine"))

    assert str(caught.value) == (
        "Conversation 'talk' was at revision 1 when this turn began, and now it is at revision 2; nothing was "
        "committed. Run the turn again: it begins from what is stored now"
    )
    assert topics(one) == ["a"]
    assert looked_at(shelf) == ["a", "theirs"]
    assert topics(converse(one, "mine")) == ["a", "theirs", "mine"]


def test_a_deleted_conversation_begins_anew() -> None:
    """What was deleted does not come back from a process that still remembers it."""
    shelf = Shelf()
    state = converse(opened(shelf), "a")
    shelf.delete("talk")

    converse(state, "b")

    assert looked_at(shelf) == ["b"]


def test_a_conversation_deleted_during_a_turn_refuses_its_commit() -> None:
    """It is a lost race like any other."""
    shelf = Shelf()
    state = converse(opened(shelf), "a")
    turn = Turn(state)
    turn.enter_sync()
    shelf.delete("talk")

    with pytest.raises(ConversationConflict, match="and now it is gone"):
        turn.commit_sync(extended(turn, "b"))

    assert topics(converse(state, "c")) == ["c"]


def test_a_record_dropped_while_it_is_read_is_no_damage() -> None:
    """Another process rewrote the history between head and records, so the new head is read."""
    shelf = Shelf()
    other = converse(opened(shelf), "a", "b")

    def meddle(call: str) -> None:
        if call == "entries":
            shelf.meddle = lambda _: None
            rewrite(other, keep=slice(2, None))

    shelf.meddle = meddle

    assert looked_at(shelf) == ["b"]


def test_a_conversation_that_changes_faster_than_it_is_read_is_given_up() -> None:
    """Each attempt finds its records gone; reading ends all the same."""
    shelf = Shelf()
    other = converse(opened(shelf), "a")
    calls: list[str] = []

    def meddle(call: str) -> None:
        calls.append(call)
        if call == "entries":
            shelf.meddle = lambda _: None
            rewrite(other, keep=slice(0, 0))
            converse(other, f"{len(calls)}")
            shelf.meddle = meddle

    shelf.meddle = meddle

    with pytest.raises(ConversationError) as caught:
        opened(shelf).ledger.refresh()

    assert str(caught.value) == "Conversation 'talk' changed faster than it could be read; try again"
    assert calls.count("entries") == 10


def test_a_record_that_is_missing_is_damage() -> None:
    """The head is still the one that names it, so no other process took it away; the turn gives its place back."""
    shelf = Shelf()
    converse(opened(shelf), "a")
    del shelf.kept[next(iter(shelf.kept))]
    state = opened(shelf)

    with pytest.raises(ConversationError, match=r"Record [0-9a-f]{12}… of the conversation is missing"):
        converse(state, "b")

    assert (state.turns, state.ledger.line.tickets) == (0, [])


def spoil_record(shelf: Shelf) -> None:
    """Change a record's bytes."""
    shelf.kept[next(iter(shelf.kept))] = b"secret"


def spoil_head(shelf: Shelf) -> None:
    """Cut the head."""
    shelf.heads["talk"] = Head(1, shelf.heads["talk"].body[:-5])


def age_head(shelf: Shelf) -> None:
    """Write the head as a later version would."""
    shelf.heads["talk"] = Head(1, shelf.heads["talk"].body.replace(b'"version":1', b'"version":2'))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (spoil_record, r"Record [0-9a-f]{12}… of the conversation is damaged: its bytes are not those of its name"),
        (spoil_head, r"This is no conversation of kedi-compile, or it is damaged: the text: Invalid JSON: EOF.*"),
        (age_head, r"This conversation was written in version 2 of its format, .*"),
    ],
)
def test_what_is_stored_damaged_is_refused(spoil: Callable[[Shelf], None], message: str) -> None:
    """Nothing of it is used, and nothing is written over it."""
    shelf = Shelf()
    converse(opened(shelf), "a")
    spoil(shelf)
    before = dict(shelf.heads), dict(shelf.kept)

    with pytest.raises(ConversationError, match=f"^{message}$"):
        converse(opened(shelf), "b")

    assert (shelf.heads, shelf.kept) == before


def test_a_store_that_fails_after_writing_is_found_as_it_is() -> None:
    """A broken connection leaves open what happened; the next turn looks."""
    shelf = Shelf()
    state = opened(shelf)
    commit = shelf.commit

    def break_off(session_id: str, change: Any) -> int:
        commit(session_id, change)
        raise ConnectionError

    shelf.commit = break_off  # type: ignore[method-assign]  # a connection that breaks
    with pytest.raises(ConnectionError):
        converse(state, "a")
    shelf.commit = commit  # type: ignore[method-assign]  # and is there again

    assert topics(converse(state, "b")) == ["a", "b"]


def test_a_store_that_fails_before_writing_has_nothing() -> None:
    """The turn is abandoned, and the next one commits."""
    shelf = Shelf()
    state = converse(opened(shelf), "a")

    def fail(call: str) -> None:
        if call == "commit":
            raise ConnectionError

    shelf.meddle = fail
    with pytest.raises(ConnectionError):
        converse(state, "b")
    shelf.meddle = lambda call: None

    assert topics(converse(state, "c")) == ["a", "c"]
    assert looked_at(shelf) == ["a", "c"]
