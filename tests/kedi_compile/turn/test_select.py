"""Step 1: which records a turn reads, in which order."""

import datetime as dt
from typing import Any
from uuid import UUID

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.turn import AssistantResponse, Branch, Instruction
from kedi_compile.turn.select import select

NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
ASK = Instruction.create("Ask.", id=UUID(int=1), created_at=NOON)
YES = AssistantResponse.create("Yes.", id=UUID(int=2), created_at=NOON - dt.timedelta(days=1))
NOW, GONE, LOST = UUID(int=7), UUID(int=8), UUID(int=9)


def test_no_progression_reads_the_branchs_order() -> None:
    """The branch's order is read, also where its metadata overrides it."""
    branch = Branch(records=[ASK, YES])
    overridden = Branch(records=[ASK, YES], metadata={"current_progression": [YES.id]})

    assert select(branch, None, NOW) == [ASK, YES]
    assert select(overridden, None, NOW) == [YES]


def test_an_empty_progression_reads_no_history() -> None:
    """An explicit empty order is not the same as none."""
    assert select(Branch(records=[ASK, YES]), (), NOW) == []


def test_a_progression_comes_before_the_branchs_order_and_its_override() -> None:
    """The request's order is exactly what is read; times of creation do not count."""
    branch = Branch(records=[YES, ASK], metadata={"current_progression": []})

    assert select(branch, (ASK.id, YES.id), NOW) == [ASK, YES]


def test_every_missing_id_is_reported_at_once() -> None:
    """All ids that the branch lacks are named in one error, each once, in the order they were asked for."""
    with pytest.raises(TurnCompileError) as caught:
        select(Branch(records=[ASK]), (LOST, ASK.id, GONE, LOST), NOW)

    assert caught.value.record_ids == (LOST, GONE)
    assert str(caught.value) == (
        "The branch does not hold 2 record(s) "
        "(00000000-0000-0000-0000-000000000009, 00000000-0000-0000-0000-000000000008)"
    )


def test_a_repeated_id_is_refused() -> None:
    """Replaying a record is no feature; every repeated id is named."""
    with pytest.raises(TurnCompileError) as caught:
        select(Branch(records=[ASK, YES]), (ASK.id, YES.id, YES.id, ASK.id), NOW)

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
        select(own, None, NOW)
    with pytest.raises(TurnCompileError) as of_override:
        select(overridden, None, NOW)
    assert of_own.value.record_ids == of_override.value.record_ids == (order[0],)


def test_an_order_that_is_not_used_is_not_checked() -> None:
    """A stale override does no harm to a request that brings its own order."""
    branch = Branch(records=[ASK], metadata={"current_progression": [GONE]})

    assert select(branch, (ASK.id,), NOW) == [ASK]


def test_missing_ids_are_reported_before_repeated_ones() -> None:
    """An order with both flaws is refused for the first one the specification names."""
    with pytest.raises(TurnCompileError, match="does not hold"):
        select(Branch(records=[ASK]), (ASK.id, ASK.id, GONE), NOW)


@pytest.mark.parametrize("progression", [None, (ASK.id, YES.id), (str(ASK.id), str(YES.id))])
def test_the_current_instruction_is_no_part_of_its_own_history(progression: Any) -> None:
    """It is asked after the history, and would be asked twice."""
    with pytest.raises(TurnCompileError) as caught:
        select(Branch(records=[ASK, YES]), progression, ASK.id)

    assert str(caught.value) == (
        "The progression names the current instruction 00000000-0000-0000-0000-000000000001, which is asked after it; "
        "append it to the branch once the model has answered, or leave its id out"
    )
    assert caught.value.record_ids == (ASK.id,)


def test_the_branch_may_hold_the_current_instruction_aside() -> None:
    """Only the order that is read counts, and not what the branch holds beside it."""
    assert select(Branch(records=[ASK, YES]), (YES.id,), ASK.id) == [YES]


def test_repeated_ids_are_reported_before_the_current_one() -> None:
    """An order that names the current instruction twice is refused for the repetition."""
    with pytest.raises(TurnCompileError, match="more than once"):
        select(Branch(records=[ASK]), (ASK.id, ASK.id), ASK.id)


@pytest.mark.parametrize("progression", ["abc", {ASK.id: ASK}, 7])
def test_a_progression_is_a_sequence_of_ids(progression: Any) -> None:
    """Anything else is refused by its type."""
    with pytest.raises(TurnCompileError) as caught:
        select(Branch(records=[ASK]), progression, NOW)

    assert str(caught.value) == f"A progression is a sequence of record ids, not a {type(progression).__name__}"
