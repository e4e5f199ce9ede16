"""What stands in an instruction, in which order, and what counts as not there."""

from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from kedi_compile import TurnCompileError
from kedi_compile.turn import System
from kedi_compile.turn.project import InstructionView
from kedi_compile.turn.sections import is_absent, sections_of, system_text

ID = UUID(int=1)
FORMATS = ("ResponseSchema", "ResponseFormat")


class Answer(BaseModel):
    """A response format."""

    city: str


def test_the_sections_stand_in_a_fixed_order() -> None:
    """Guidance comes first and the response format last, whatever the order they were given in."""
    view = InstructionView(
        ID,
        response_format=Answer,
        tool_schemas=({"name": "look"},),
        prompt_context=("fact",),
        guidance="Guide.",
        instruction="Ask.",
    )

    assert list(sections_of(view)) == ["Guidance", "Instruction", "Context", "Tools", *FORMATS]


def test_a_section_shows_its_value_as_it_is() -> None:
    """A value is written later; here it is not turned into text."""
    view = InstructionView(ID, {"task": 1}, ["a", "b"], ({"c": 2},), tool_schemas=({"name": "look"},))

    assert sections_of(view) == {
        "Guidance": ["a", "b"],
        "Instruction": {"task": 1},
        "Context": ({"c": 2},),
        "Tools": ({"name": "look"},),
    }


def test_an_empty_instruction_has_no_sections() -> None:
    """Nothing is shown of what is not there."""
    assert sections_of(InstructionView(ID, "", {}, (), tool_schemas=(), response_format=None)) == {}


@pytest.mark.parametrize("value", [None, "", [], (), {}])
def test_nothing_counts_as_absent(value: Any) -> None:
    """None, empty text and empty containers are no section."""
    assert is_absent(value)


@pytest.mark.parametrize("value", [" ", 0, False, 0.0, [None], {"a": None}])
def test_a_value_counts_as_present(value: Any) -> None:
    """A blank, a zero and a container that holds something are shown, or at least looked at."""
    assert not is_absent(value)


def test_a_system_text_is_its_message() -> None:
    """Without a time there is the message alone, as it is."""
    assert system_text(System.create(" Be brief. \n")) == " Be brief. \n"


def test_a_system_time_is_told_first() -> None:
    """The time stands on a line of its own, with an empty line behind it."""
    assert system_text(System.create("Be brief.", system_datetime="noon")) == "System Time: noon\n\nBe brief."


def test_a_system_message_is_text() -> None:
    """A list of parts is no policy."""
    with pytest.raises(TurnCompileError, match=r"^`system_message` is a list; it must be text$"):
        system_text(System.create(["Be brief."]))  # type: ignore[arg-type]  # the point of the test
