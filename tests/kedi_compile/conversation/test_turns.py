"""One turn is a transaction: it commits all it changed, or nothing, and gives its ticket back on every way out."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable
from typing import Any

import pytest

from kedi_compile import ConversationConflict, ConversationError, HistoryConfigurationError
from kedi_compile.conversation import ConversationState, history_scope
from kedi_compile.conversation.records import History
from kedi_compile.conversation.scope import current_scope
from kedi_compile.conversation.tickets import around
from kedi_compile.conversation.turns import Turn, begin
from kedi_compile.history.carried import Carried
from shelf import KEY, Shelf, converse, extended, topics
from toy import ToyDialect, says, user


def entered(state: ConversationState) -> Turn:
    """Return a turn that is under way."""
    turn = Turn(state)
    turn.enter_sync()
    return turn


def begun() -> Turn | None:
    """Begin a call in the caller's scope."""
    return begin(current_scope())


def test_a_call_outside_of_a_conversation_is_no_turn() -> None:
    """Without a scope, or where the conversation is disabled, nothing is read or kept."""
    state = ConversationState()

    assert begun() is None
    with history_scope(True, state), history_scope(False):
        assert begun() is None
    with history_scope(None, state):
        assert begun() is None
    assert state.ledger.line.tickets == []


def test_a_call_in_an_enabled_scope_is_a_turn() -> None:
    """It takes its ticket where it begins, before anything is awaited."""
    state = ConversationState()

    with history_scope(True, state):
        turn = begun()

    assert turn is not None
    assert turn.state is state
    assert state.ledger.line.tickets == [turn.ticket]


def test_a_call_in_a_turn_of_the_inherited_conversation_is_no_turn() -> None:
    """A sub-agent that a tool runs, in whatever scope that names no conversation, is part of the turn around it."""
    with history_scope(True) as state:
        turn = entered(state)

        assert begun() is None
        with history_scope(True):
            assert begun() is None

        turn.abandon_sync()
        assert begun() is not None


def test_a_call_that_is_given_its_own_turns_conversation_is_refused() -> None:
    """It would wait for itself."""
    with history_scope(True, ConversationState("talk")) as state:
        turn = entered(state)

        with history_scope(state=state), pytest.raises(ConversationError) as caught:
            begun()

    assert str(caught.value) == (
        "This run was given the conversation of the turn it runs in, so it would wait for itself; give it another "
        "`state`, or leave `state` out to run it without conversation"
    )
    assert caught.value.session_id == "talk"
    assert state.ledger.line.tickets == [turn.ticket]
    turn.abandon_sync()


def test_a_call_in_a_turn_of_another_conversation_is_a_turn() -> None:
    """Two conversations do not know each other."""
    with history_scope(True) as outer, history_scope(state=ConversationState()) as inner:
        turn = entered(outer)

        found = begun()

    assert found is not None
    assert found.state is inner
    turn.abandon_sync()


def test_a_scope_that_named_the_conversation_before_the_turn_is_inherited() -> None:
    """Only a scope that is opened inside the turn gives it to the call explicitly."""
    state = ConversationState()
    with history_scope(True, state), history_scope(state=state):
        turn = entered(state)

        assert begun() is None
        turn.abandon_sync()


def test_a_call_on_a_closed_conversation_is_refused() -> None:
    """Nothing is begun, and no ticket is taken."""
    state = ConversationState("talk")
    state.close()

    with history_scope(True, state), pytest.raises(ConversationError) as caught:
        begun()

    assert str(caught.value) == "The conversation is closed; restore it from a checkpoint or its store to go on"
    assert state.ledger.line.tickets == []


def commit_async(turn: Turn, lane: Any) -> None:
    """Commit on a loop."""
    asyncio.run(turn.commit(lane))


def abandon_async(turn: Turn, error: BaseException | None = None) -> None:
    """Abandon on a loop."""
    asyncio.run(turn.abandon(error))


def end_async(turn: Turn, lane: Any) -> None:
    """End on a loop."""
    asyncio.run(turn.end(lane))


BOTH_COMMIT = pytest.mark.parametrize("commit", [commit_async, Turn.commit_sync], ids=["async", "sync"])
BOTH_ABANDON = pytest.mark.parametrize("abandon", [abandon_async, Turn.abandon_sync], ids=["async", "sync"])
STORED = pytest.mark.parametrize("store", [None, Shelf], ids=["in memory", "stored"])


@STORED
@BOTH_COMMIT
def test_a_commit_keeps_all_of_a_turn(commit: Callable[..., None], store: type[Shelf] | None) -> None:
    """Messages, generation, usage flag and cleanups are the conversation's in one step, and the next is served."""
    state = ConversationState("talk", store() if store else None)
    released: list[str] = []
    turn = entered(state)
    state.cleanup(lambda: released.append("released"))

    commit(turn, extended(turn, "a", generation=2, asks_usage=True))

    assert (topics(state), state.turns) == (["a"], 1)
    assert state.ledger.lane(KEY).carried == Carried(generation=2, asks_usage=True)
    assert (state.ledger.line.tickets, around(), released) == ([], (), [])
    state.close()
    assert released == ["released"]


@STORED
@BOTH_ABANDON
def test_an_abandoned_turn_keeps_nothing(abandon: Callable[..., None], store: type[Shelf] | None) -> None:
    """What it registered is released at once, and its ticket is given back."""
    state = converse(ConversationState("talk", store() if store else None), "a")
    released: list[str] = []
    turn = entered(state)
    state.cleanup(lambda: released.append("released"))

    abandon(turn)

    assert (topics(state), state.turns) == (["a"], 1)
    assert (state.ledger.line.tickets, around(), released) == ([], (), ["released"])


@pytest.mark.parametrize("end", [end_async, Turn.end_sync], ids=["async", "sync"])
def test_a_turn_ends_by_what_it_leaves(end: Callable[..., None]) -> None:
    """A lane is committed; nothing is nothing, and either gives the ticket back."""
    state = ConversationState()
    turn = entered(state)
    end(turn, extended(turn, "a"))
    end(entered(state), None)

    assert (topics(state), state.turns) == (["a"], 1)
    assert state.ledger.line.tickets == []


@BOTH_ABANDON
def test_a_failing_cleanup_is_a_note_of_the_turns_error(abandon: Callable[..., None]) -> None:
    """Why the turn failed stays the error that is seen."""
    state = ConversationState()
    turn = entered(state)

    def release() -> None:
        raise LookupError("no such file")

    state.cleanup(release)
    error = ValueError("the turn's")

    abandon(turn, error)

    assert error.__notes__ == ["Releasing a resource of the turn failed too: LookupError: no such file"]
    assert state.ledger.line.tickets == []


@BOTH_COMMIT
def test_a_turn_that_ended_is_not_committed(commit: Callable[..., None]) -> None:
    """A late result of an abandoned turn has no place any more."""
    state = ConversationState("talk")
    turn = entered(state)
    lane = extended(turn, "a")
    turn.abandon_sync()

    with pytest.raises(ConversationError) as caught:
        commit(turn, lane)

    assert str(caught.value) == "This turn has ended already, so nothing more is committed"
    assert state.turns == 0


@BOTH_COMMIT
def test_a_lost_race_abandons_the_turn(commit: Callable[..., None]) -> None:
    """Where another process committed first, nothing of the turn is kept; the next begins from what is there."""
    shelf = Shelf()
    state, other = (converse(ConversationState("talk", shelf)) for _ in range(2))
    released: list[str] = []
    turn = entered(state)
    state.cleanup(lambda: released.append("released"))
    converse(other, "theirs")

    with pytest.raises(ConversationConflict) as caught:
        commit(turn, extended(turn, "mine"))

    assert (caught.value.expected, caught.value.found) == (0, 1)
    assert (state.ledger.line.tickets, released) == ([], ["released"])
    assert topics(converse(state, "mine again")) == ["theirs", "mine again"]


@BOTH_COMMIT
def test_a_message_that_cannot_be_stored_abandons_the_turn(commit: Callable[..., None]) -> None:
    """What JSON cannot carry is told with its place; the conversation is as it was before."""
    state = converse(ConversationState("talk", Shelf()), "a")
    turn = entered(state)
    history = History([user("b"), says("c", provider={"handle": object()})], ToyDialect())

    with pytest.raises(ConversationError) as caught:
        commit(turn, state.ledger.lane(KEY).after_turn(history, Carried()))

    assert str(caught.value) == (
        "Message 1 of the turn cannot be stored: Object of type object is not JSON serializable"
    )
    assert (topics(converse(state, "d")), state.ledger.line.tickets) == (["a", "d"], [])


def test_a_conversation_closed_during_a_turn_refuses_its_commit() -> None:
    """What the turn registered is released; nobody else would."""
    state = ConversationState("talk")
    released: list[str] = []
    turn = entered(state)
    state.cleanup(lambda: released.append("released"))
    state.close()

    with pytest.raises(ConversationError, match="closed"):
        turn.commit_sync(extended(turn, "a"))

    assert (state.turns, state.ledger.line.tickets, released) == (0, [], ["released"])


def test_a_conversation_closed_while_a_turn_waits_refuses_it() -> None:
    """It is not entered, and gives its place back."""
    state = ConversationState()
    first = contextvars.copy_context().run(entered, state)

    async def main() -> None:
        waiting = Turn(state)
        task = asyncio.create_task(waiting.enter())
        await asyncio.sleep(0)
        state.close()
        first.abandon_sync()
        with pytest.raises(ConversationError, match="closed"):
            await task

    asyncio.run(main())

    assert state.ledger.line.tickets == []


def test_a_ticket_given_back_too_early_is_taken_anew() -> None:
    """A run that begins after its ticket was thought dead gets in line again."""
    state = ConversationState()
    turn = Turn(state)
    turn.release_unstarted()

    turn.enter_sync()

    assert turn.is_open
    turn.commit_sync(extended(turn, "a"))
    assert state.turns == 1


def test_a_turn_sees_what_was_committed_before_it_was_served() -> None:
    """The order of beginning is the order of turns, however they overlap."""
    state = ConversationState("talk", Shelf())

    async def call(topic: str) -> None:
        turn = Turn(state)
        await turn.enter()
        await asyncio.sleep(0)
        await turn.commit(extended(turn, topic))

    async def main() -> None:
        await asyncio.gather(*map(call, "abcd"))

    asyncio.run(main())

    assert topics(state) == ["a", "b", "c", "d"]


def test_a_turn_that_is_abandoned_without_an_error_raises_what_a_release_raised() -> None:
    """There is nothing that it could hide."""
    state = ConversationState()
    turn = Turn(state)
    turn.enter_sync()
    state.cleanup(lambda: 1 / 0)

    with pytest.raises(ExceptionGroup, match="every callback was called"):
        turn.abandon_sync()

    assert not turn.is_open


def test_a_cleanup_that_cannot_be_called_is_refused_at_once() -> None:
    """Not when the conversation is closed."""
    with pytest.raises(HistoryConfigurationError, match="pass a function without arguments"):
        ConversationState().cleanup(None)  # type: ignore[arg-type]  # the mistake
