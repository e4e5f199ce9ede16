"""A conversation's ledger is changed by committing a turn and by nothing else."""

from __future__ import annotations

import pytest

from kedi_compile import HistoryLaneWarning
from kedi_compile.conversation import ConversationState, LaneKey
from kedi_compile.conversation.turns import Turn
from shelf import KEY, OTHER, converse, extended, topics
from toy import ToyDialect

quiet = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryLaneWarning")


@quiet
def test_each_lane_holds_its_own_turns() -> None:
    """Nothing is translated from one to the other."""
    state = converse(ConversationState(), "a", "b")
    converse(state, "c", key=OTHER)
    converse(state, "d")

    assert (topics(state), topics(state, OTHER), state.turns) == (["a", "b", "d"], ["c"], 4)


@quiet
def test_the_lane_used_last_is_the_latest() -> None:
    """Of each adapter; the keys are in the order of their last use."""
    state = converse(ConversationState(), "a")
    converse(state, "b", key=OTHER)
    foreign = LaneKey("other", "other:model")
    converse(state, "c", key=foreign)

    latest = state.ledger.latest("toy")
    assert latest is not None
    assert latest.key == OTHER
    assert state.ledger.latest("nobody") is None

    converse(state, "d")
    assert state.lanes == (OTHER, foreign, KEY)


def test_a_fresh_lane_in_a_used_conversation_is_worth_a_warning_once() -> None:
    """The model sees none of the earlier turns, and the warning says what changed; in a new conversation none does."""
    state = converse(ConversationState(), "a", "b")

    with pytest.warns(HistoryLaneWarning) as caught:
        converse(state, "c", key=OTHER)
    converse(state, "d", key=LaneKey("toy", "toy:small", tools="0" * 64))
    converse(state, "e")

    (warning,) = caught
    assert str(warning.message) == (
        "This turn starts a fresh lane, so the model sees none of the 2 earlier turns: model changed. To take the "
        "history along, begin a new conversation with it (`messages_of`). Silence with "
        "warnings.filterwarnings('ignore', category=HistoryLaneWarning)"
    )


def test_a_failed_turn_does_not_use_the_warning_up() -> None:
    """Whoever tries again is told again, since the lane is still fresh."""
    state = converse(ConversationState(), "a")
    failed = Turn(state)
    failed.enter_sync()
    with pytest.warns(HistoryLaneWarning, match="model changed"):
        extended(failed, "b", OTHER)
    failed.abandon_sync()

    with pytest.warns(HistoryLaneWarning, match="model changed"):
        converse(state, "b", key=OTHER)
    converse(state, "c", key=LaneKey("toy", "toy:small"))  # warnings are errors


@quiet
def test_the_warning_names_what_differs_from_the_nearest_lane() -> None:
    """Of several lanes, the one that most nearly fits."""
    state = converse(ConversationState(), "a", key=LaneKey("toy", "toy:large", tools="0" * 64))
    converse(state, "b", key=LaneKey("toy", "toy:small", settings="1" * 64))
    again = ConversationState.restore(state.checkpoint())

    with pytest.warns(HistoryLaneWarning, match=r"turns?[a-z ]*: settings changed\."):
        again.ledger.lane(KEY)


def test_messages_are_held_as_they_were_committed() -> None:
    """The very objects, so that what a host knows by its objects goes on holding."""
    state = ConversationState()
    turn = Turn(state)
    turn.enter_sync()
    lane = extended(turn, "a")
    turn.commit_sync(lane)

    messages = lane.history.messages(ToyDialect())
    held = state.ledger.lane(KEY).history.messages(ToyDialect())
    assert [id(message) for message in held] == [id(message) for message in messages]


@quiet
def test_a_lane_note_says_what_a_turn_goes_on_from() -> None:
    """The first turn, a lane that has turns, or a fresh one, and then what the model does not see and why."""
    state = ConversationState()
    assert state.ledger.lane_note(KEY) == "the first"

    converse(state, "a")
    assert state.ledger.lane_note(KEY) == "goes on with 1 turn"
    assert state.ledger.lane_note(OTHER) == "fresh: the model does not see the turn before it, model changed"

    converse(state, "b")
    assert state.ledger.lane_note(KEY) == "goes on with 2 turns"
    assert state.ledger.lane_note(OTHER) == "fresh: the model sees none of the 2 earlier turns, model changed"


def test_a_lane_note_uses_no_warning_up() -> None:
    """Whoever asks for it is not the turn."""
    state = converse(ConversationState(), "a")
    state.ledger.lane_note(OTHER)

    with pytest.warns(HistoryLaneWarning, match="model changed"):
        converse(state, "b", key=OTHER)
