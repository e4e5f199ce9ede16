"""Step 1: which records a turn reads, in which order."""

import datetime as dt
from uuid import UUID

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.turn import AssistantResponse, Branch, Instruction
from kedi_compile.turn.select import select

NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
ASK = Instruction.create("Ask.", id=UUID(int=1), created_at=NOON)
YES = AssistantResponse.create("Yes.", id=UUID(int=2), created_at=NOON - dt.timedelta(days=1))
GONE, LOST = UUID(int=8), UUID(int=9)


def test_no_progression_reads_the_branchs_order() -> None:
    """The branch's order is read, also where its metadata overrides it."""
    branch = Branch(records=[ASK, YES])
    overridden = Branch(records=[ASK, YES], metadata={"current_progression": [YES.id]})

    assert select(branch, None) == [ASK, YES]
    assert select(overridden, None) == [YES]


def test_an_empty_progression_reads_no_history() -> None:
    """An explicit empty order is not the same as none."""
    assert select(Branch(records=[ASK, YES]), ()) == []


def test_a_progression_comes_before_the_branchs_order_and_its_override() -> None:
    """The request's order is exactly what is read; times of creation do not count."""
    branch = Branch(records=[YES, ASK], metadata={"current_progression": []})

    assert select(branch, (ASK.id, YES.id)) == [ASK, YES]


def test_every_missing_id_is_reported_at_once() -> None:
    """All ids that the branch lacks are named in one error, each once, in the order they were asked for."""
    with pytest.raises(TurnCompileError) as caught:
        select(Branch(records=[ASK]), (LOST, ASK.id, GONE, LOST))

    assert caught.value.record_ids == (LOST, GONE)
    assert str(caught.value) == (
        "The branch does not hold 2 record(s) "
        "(00000000-0000-0000-0000-000000000009, 00000000-0000-0000-0000-000000000008)"
    )


def test_a_repeated_id_is_refused() -> None:
    """Replaying a record is no feature; every repeated id is named."""
    with pytest.raises(TurnCompileError) as caught:
        select(Branch(records=[ASK, YES]), (ASK.id, YES.id, YES.id, ASK.id))

    assert caught.value.record_ids == (ASK.id, YES.id)
    assert str(caught.value) == (
        "The progression names 2 record(s) "
        "(00000000-0000-0000-0000-000000000001, 00000000-0000-0000-0000-000000000002) more than once"
    )


@pytest.mark.parametrize("order", [[GONE], [ASK.id, ASK.id]], ids=["missing", "repeated"])
def test_the_branchs_own_order_is_checked_as_well(order: list[UUID]) -> None:
    """Whichever order is used must name records that are there, each once; so must the override."""
    own = Branch(records=[ASK], progression=order)
    overridden = Branch(records=[ASK], metadata={"current_progression": order})

    with pytest.raises(TurnCompileError) as of_own:
        select(own, None)
    with pytest.raises(TurnCompileError) as of_override:
        select(overridden, None)
    assert of_own.value.record_ids == of_override.value.record_ids == (order[0],)


def test_an_order_that_is_not_used_is_not_checked() -> None:
    """A stale override does no harm to a request that brings its own order."""
    branch = Branch(records=[ASK], metadata={"current_progression": [GONE]})

    assert select(branch, (ASK.id,)) == [ASK]


def test_missing_ids_are_reported_before_repeated_ones() -> None:
    """An order with both flaws is refused for the first one the specification names."""
    with pytest.raises(TurnCompileError, match="does not hold"):
        select(Branch(records=[ASK]), (ASK.id, ASK.id, GONE))
