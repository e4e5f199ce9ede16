"""A conversation is changed by committing a turn and by nothing else."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from contextlib import suppress

import pytest

from kedi_compile import ConversationError, HistoryConfigurationError, HistoryLaneWarning
from kedi_compile.conversation import ConversationState, LaneKey
from kedi_compile.conversation.turns import Turn
from shelf import KEY, OTHER, Shelf, converse, extended, topics
from toy import ToyDialect

quiet = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryLaneWarning")


def close_async(state: ConversationState) -> None:
    """Close on a loop."""
    asyncio.run(state.aclose())


BOTH = pytest.mark.parametrize("close", [close_async, ConversationState.close], ids=["async", "sync"])
Close = Callable[[ConversationState], None]


def test_a_new_conversation_is_empty() -> None:
    """It has no turns and no lanes."""
    state = ConversationState("talk")

    assert (state.session_id, state.turns, state.lanes, state.is_stored) == ("talk", 0, (), False)
    assert state.latest("toy") is None
    assert repr(state) == "ConversationState(session_id='talk', turns=0, lanes=0)"


def test_a_store_needs_a_name() -> None:
    """A stored conversation without one could not be found again."""
    for session_id in (None, ""):
        with pytest.raises(HistoryConfigurationError) as caught:
            ConversationState(session_id, Shelf())

    assert str(caught.value) == (
        "A `ConversationState` with a `store` needs a `session_id`, the name it is stored under"
    )


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

    latest = state.latest("toy")
    assert latest is not None
    assert latest.key == OTHER
    assert state.latest("nobody") is None

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


@quiet
def test_the_warning_names_what_differs_from_the_nearest_lane() -> None:
    """Of several lanes, the one that most nearly fits."""
    state = converse(ConversationState(), "a", key=LaneKey("toy", "toy:large", tools="0" * 64))
    converse(state, "b", key=LaneKey("toy", "toy:small", settings="1" * 64))
    again = ConversationState.restore(state.checkpoint())

    with pytest.warns(HistoryLaneWarning, match=r"turns?[a-z ]*: settings changed\."):
        again.lane(KEY)


@BOTH
def test_closing_releases_what_all_turns_registered_last_first(close: Close) -> None:
    """Also what was registered between turns; once, and whatever one of them raises."""
    state, log = ConversationState(), list[str]()

    def release(name: str) -> Callable[[], None]:
        def run() -> None:
            log.append(name)
            if name == "2":
                raise LookupError(name)

        return run

    state.cleanup(release("1"))
    for name in ("2", "3"):
        turn = Turn(state)
        turn.enter_sync()
        state.cleanup(release(name))
        turn.commit_sync(extended(turn, name))

    with pytest.raises(ExceptionGroup) as caught:
        close(state)
    close(state)

    assert log == ["3", "2", "1"]
    assert caught.value.message == (
        "Releasing what was registered with the conversation failed; every callback was called"
    )
    assert [str(error) for error in caught.value.exceptions] == ["2"]


@BOTH
def test_a_closed_conversation_takes_nothing_more(close: Close) -> None:
    """Neither turns nor cleanups; what it was can still be saved."""
    state = converse(ConversationState("talk"), "a")
    close(state)

    for use in (lambda: converse(state, "b"), lambda: state.cleanup(print), state.check_open):
        with pytest.raises(ConversationError) as caught:
            use()
        assert str(caught.value) == "The conversation is closed; restore it from a checkpoint or its store to go on"
        assert caught.value.session_id == "talk"
    assert topics(ConversationState.restore(state.checkpoint())) == ["a"]
    assert state.line.tickets == []


def test_a_conversation_is_closed_by_its_block() -> None:
    """`with` and `async with` close it, by an error too."""
    log: list[str] = []
    with suppress(LookupError), ConversationState() as state:
        state.cleanup(lambda: log.append("sync"))
        raise LookupError

    async def main() -> None:
        async with ConversationState() as state:
            state.cleanup(lambda: log.append("async"))

    asyncio.run(main())

    assert log == ["sync", "async"]


def test_a_cleanup_belongs_to_the_innermost_turn_of_its_conversation() -> None:
    """A turn of another conversation around or inside it has nothing to do with it."""
    outer, inner, log = ConversationState(), ConversationState(), list[str]()
    first = Turn(outer)
    first.enter_sync()
    second = Turn(inner)
    second.enter_sync()
    outer.cleanup(lambda: log.append("outer"))

    second.abandon_sync()
    assert log == []
    first.abandon_sync()
    assert log == ["outer"]


def test_a_conversation_is_not_copied_or_pickled() -> None:
    """It holds live objects; its checkpoint is what travels."""
    state = ConversationState()

    for copied in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError) as caught:
            copied(state)
        assert str(caught.value) == (
            "A `ConversationState` holds live objects; send its `checkpoint().to_json()` and restore that"
        )


def test_messages_are_held_as_they_were_committed() -> None:
    """The very objects, so that what a host knows by its objects goes on holding."""
    state = ConversationState()
    turn = Turn(state)
    turn.enter_sync()
    lane = extended(turn, "a")
    turn.commit_sync(lane)

    messages = lane.history.messages(ToyDialect())
    held = state.lane(KEY).history.messages(ToyDialect())
    assert [id(message) for message in held] == [id(message) for message in messages]
