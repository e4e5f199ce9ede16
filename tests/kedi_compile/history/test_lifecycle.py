"""The legal moves of one model request: every listed move works, every other one raises."""

from itertools import product

import pytest

from kedi_compile.history.lifecycle import MOVES, Lifecycle, RequestState

LEGAL = {
    "IDLE": "INSPECTED",
    "INSPECTED": "SKIPPED EDITING FAILED",
    "EDITING": "UNCHANGED STAGED FAILED",
    "SKIPPED": "SENT FAILED",
    "UNCHANGED": "SENT FAILED",
    "STAGED": "SENT FAILED",
    "SENT": "ANSWERED FAILED",
    "ANSWERED": "IDLE COMMITTED FAILED",
    "COMMITTED": "",
    "FAILED": "",
}
ROADS = {
    "IDLE": "",
    "INSPECTED": "INSPECTED",
    "SKIPPED": "INSPECTED SKIPPED",
    "EDITING": "INSPECTED EDITING",
    "UNCHANGED": "INSPECTED EDITING UNCHANGED",
    "STAGED": "INSPECTED EDITING STAGED",
    "SENT": "INSPECTED SKIPPED SENT",
    "ANSWERED": "INSPECTED SKIPPED SENT ANSWERED",
    "COMMITTED": "INSPECTED SKIPPED SENT ANSWERED COMMITTED",
    "FAILED": "INSPECTED FAILED",
}


def request_in(state: str) -> Lifecycle:
    """Return a request that went the shortest way to `state`."""
    request = Lifecycle()
    for step in ROADS[state].split():
        request.move(RequestState[step])
    return request


def test_the_table_lists_exactly_the_legal_moves() -> None:
    """Every state has its moves in the table, and the table has no others."""
    written = {state.name: {target.name for target in targets} for state, targets in MOVES.items()}

    assert written == {state: set(targets.split()) for state, targets in LEGAL.items()}


@pytest.mark.parametrize(("state", "target"), [(s, t) for s, targets in LEGAL.items() for t in targets.split()])
def test_a_listed_move_is_made(state: str, target: str) -> None:
    """A legal move changes the state to its target."""
    request = request_in(state)
    assert request.may(RequestState[target])

    request.move(RequestState[target])

    assert request.state is RequestState[target]


@pytest.mark.parametrize(("state", "target"), [(s, t) for s, t in product(LEGAL, LEGAL) if t not in LEGAL[s].split()])
def test_an_unlisted_move_raises_and_changes_nothing(state: str, target: str) -> None:
    """An illegal move is a bug of the caller: it raises, and the request stays where it is."""
    request = request_in(state)
    assert not request.may(RequestState[target])

    with pytest.raises(RuntimeError, match=f"^A request that is {state} cannot become {target}; possible is "):
        request.move(RequestState[target])
    assert request.state is RequestState[state]


def test_a_request_starts_idle() -> None:
    """Nothing has happened to a new request."""
    assert Lifecycle().state is RequestState.IDLE


def test_only_three_states_may_reach_the_transport() -> None:
    """A request is sent after the condition said no, a no-op, or a proved edit, and never otherwise."""
    senders = {state.name for state, targets in MOVES.items() if RequestState.SENT in targets}

    assert senders == {"SKIPPED", "UNCHANGED", "STAGED"}


def test_the_error_names_what_is_possible() -> None:
    """The message lists the legal moves, in order of their names, or says that there are none."""
    with pytest.raises(RuntimeError) as idle:
        Lifecycle().move(RequestState.SENT)
    with pytest.raises(RuntimeError) as failed:
        request_in("FAILED").move(RequestState.SENT)

    assert str(idle.value) == "A request that is IDLE cannot become SENT; possible is INSPECTED"
    assert str(failed.value) == "A request that is FAILED cannot become SENT; possible is nothing"
