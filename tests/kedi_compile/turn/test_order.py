"""Step 3: the order a conversation must have, and the merging of answers in a row."""

from uuid import UUID

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.turn.order import arrange
from kedi_compile.turn.views import AssistantView, InstructionView, View

ASK, MORE = InstructionView(UUID(int=1), "Ask."), InstructionView(UUID(int=2), "More.")
YES, NO = AssistantView(UUID(int=3), "Yes."), AssistantView(UUID(int=4), "No.")
NOTHING = AssistantView(UUID(int=5), "")


def refusal(history: list[View], *, has_system: bool) -> TurnCompileError:
    """Return the error a history is refused with."""
    with pytest.raises(TurnCompileError) as caught:
        arrange(history, has_system=has_system)
    return caught.value


@pytest.mark.parametrize("has_system", [True, False])
def test_answers_in_a_row_become_one(has_system: bool) -> None:
    """Their texts are joined by an empty line, also at the end; the first one's record stands for all."""
    history: list[View] = [ASK, YES, NO, MORE, NO, NOTHING, YES]

    assert arrange(history, has_system=has_system) == [
        ASK,
        AssistantView(YES.record_id, "Yes.\n\nNo."),
        MORE,
        AssistantView(NO.record_id, "No.\n\n\n\nYes."),
    ]


def test_a_single_answer_stays_as_it_is() -> None:
    """Nothing is joined where there is nothing to join."""
    assert arrange([ASK, YES, MORE, NO], has_system=True) == [ASK, YES, MORE, NO]


def test_an_empty_history_is_in_order() -> None:
    """With a system or without, the current instruction may be the first."""
    assert arrange([], has_system=True) == arrange([], has_system=False) == []


@pytest.mark.parametrize("has_system", [True, False])
def test_two_instructions_in_a_row_are_refused(has_system: bool) -> None:
    """Neither of the two is dropped in silence; both are named."""
    error = refusal([ASK, YES, MORE, ASK], has_system=has_system)

    assert str(error) == "Consecutive instructions require an intervening assistant response"
    assert error.record_ids == (MORE.record_id, ASK.record_id)


def test_an_empty_answer_stands_between_two_instructions() -> None:
    """An answer without text is an answer."""
    assert arrange([ASK, NOTHING, MORE], has_system=True) == [ASK, NOTHING, MORE]


def test_the_last_instruction_may_stand_before_the_current_one() -> None:
    """The rule speaks of the history; what follows it is not looked at."""
    assert arrange([ASK, YES, MORE], has_system=True)[-1] == MORE


def test_with_a_system_the_history_begins_with_an_instruction() -> None:
    """Policy needs an instruction to stand in, so an answer cannot be the first."""
    error = refusal([YES, ASK], has_system=True)

    assert str(error) == "First message in progression must be an Instruction or System"
    assert error.record_ids == (YES.record_id,)


def test_without_a_system_the_history_may_begin_with_an_answer() -> None:
    """There is no policy to place."""
    assert arrange([YES, NO, ASK], has_system=False)[1:] == [ASK]


def test_instructions_in_a_row_are_reported_before_a_wrong_beginning() -> None:
    """Of two broken rules the one that stands first in the specification is named."""
    assert str(refusal([YES, ASK, MORE], has_system=True)).startswith("Consecutive instructions")
