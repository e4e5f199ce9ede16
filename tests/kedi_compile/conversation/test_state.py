"""A conversation is changed by committing a turn and by nothing else."""

from __future__ import annotations

import asyncio
import copy
import pickle
from collections.abc import Callable
from contextlib import suppress

import pytest

from kedi_compile import ConversationError, HistoryConfigurationError
from kedi_compile.conversation import ConversationState
from kedi_compile.conversation.turns import Turn
from shelf import Shelf, converse, extended, topics


def close_async(state: ConversationState) -> None:
    """Close on a loop."""
    asyncio.run(state.aclose())


BOTH = pytest.mark.parametrize("close", [close_async, ConversationState.close], ids=["async", "sync"])
Close = Callable[[ConversationState], None]


def test_a_new_conversation_is_empty() -> None:
    """It has no turns and no lanes."""
    state = ConversationState("talk")

    assert (state.session_id, state.turns, state.lanes, state.ledger.is_stored) == ("talk", 0, (), False)
    assert state.ledger.latest("toy") is None
    assert repr(state) == "ConversationState(session_id='talk', turns=0, lanes=0)"


def test_a_store_needs_a_name() -> None:
    """A stored conversation without one could not be found again."""
    for session_id in (None, ""):
        with pytest.raises(HistoryConfigurationError) as caught:
            ConversationState(session_id, Shelf())

    assert str(caught.value) == (
        "A `ConversationState` with a `store` needs a `session_id`, the name it is stored under"
    )


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

    for use in (lambda: converse(state, "b"), lambda: state.cleanup(print), state.ledger.check_open):
        with pytest.raises(ConversationError) as caught:
            use()
        assert str(caught.value) == "The conversation is closed; restore it from a checkpoint or its store to go on"
        assert caught.value.session_id == "talk"
    assert topics(ConversationState.restore(state.checkpoint())) == ["a"]
    assert state.ledger.line.tickets == []


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
