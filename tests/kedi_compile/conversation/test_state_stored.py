"""With a store, restoring writes there and a checkpoint reads there."""

from __future__ import annotations

import pytest

from kedi_compile import ConversationConflict, HistoryConfigurationError
from kedi_compile.conversation import ConversationCheckpoint, ConversationState
from shelf import KEY, OTHER, Shelf, converse, looked_at, opened, topics
from toy import Message, ToyDialect

quiet = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryLaneWarning")


def test_restoring_to_a_store_writes_it_there() -> None:
    """A checkpoint becomes a stored conversation, whose own name is not taken yet."""
    shelf = Shelf()
    checkpoint = converse(ConversationState("talk"), "a").checkpoint()

    state = ConversationState.restore(checkpoint, store=shelf)

    assert looked_at(shelf) == ["a"]
    assert topics(converse(state, "b")) == ["a", "b"]
    assert looked_at(shelf) == ["a", "b"]
    with pytest.raises(ConversationConflict) as caught:
        ConversationState.restore(checkpoint, store=shelf)
    assert (caught.value.expected, caught.value.found) == (0, 2)
    assert looked_at(shelf) == ["a", "b"]


@quiet
def test_a_checkpoint_between_turns_leaves_the_store_whole() -> None:
    """Another lane's messages are those the store has, also if one was changed in place against all advice."""
    shelf = Shelf()
    state = converse(opened(shelf), "a")
    messages: tuple[Message, ...] = state.ledger.lane(KEY).history.messages(ToyDialect())
    messages[1].text = "It is b."

    assert "It is b." in ConversationCheckpoint.from_json(state.checkpoint().to_json()).to_json()
    converse(state, "c", key=OTHER)

    assert looked_at(shelf) == ["a"]


def test_a_checkpoint_holds_what_is_stored_before_any_turn() -> None:
    """A state that has not made a turn yet has read nothing, but its store is the truth."""
    shelf = Shelf()
    converse(ConversationState("topic", shelf), "a", "b")

    checkpoint = ConversationState("topic", shelf).checkpoint()

    assert checkpoint.turns == 2
    assert topics(ConversationState.restore(checkpoint)) == ["a", "b"]


def test_what_is_no_store_or_checkpoint_is_refused_by_its_type() -> None:
    """An address in the place of a store may hold a password, so it is not shown."""
    with pytest.raises(HistoryConfigurationError, match=r"`store` is a str; pass a store") as caught:
        ConversationState("topic", "postgresql://me:secret@host/db")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(HistoryConfigurationError, match="read text with"):
        ConversationState.restore("{}")  # type: ignore[arg-type]  # the mistake

    assert "secret" not in str(caught.value)


def test_restoring_onto_a_stored_conversation_says_what_helps() -> None:
    """It is a conflict, and no turn that could be run again."""
    shelf = Shelf()
    checkpoint = converse(ConversationState("topic", shelf), "a").checkpoint()

    with pytest.raises(ConversationConflict, match="give `restore` another `session_id=`"):
        ConversationState.restore(checkpoint, store=shelf)
