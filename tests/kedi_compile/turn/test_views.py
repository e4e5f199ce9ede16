"""What one call shows of a record."""

from dataclasses import FrozenInstanceError
from typing import Any
from uuid import UUID

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.turn import Instruction, InstructionContent
from kedi_compile.turn.views import AssistantView, InstructionView, is_absent, view_of

ID = UUID(int=1)


def test_a_view_shows_all_durable_fields_of_its_record() -> None:
    """Guidance, context, plain content, images and their detail are there; lists are tuples."""
    content = InstructionContent("Ask.", {"a": 1}, [2, [3]], "Raw.", ["https://a.example/b"], "low")

    assert view_of(Instruction(content=content, id=ID)) == InstructionView(
        record_id=ID,
        instruction="Ask.",
        guidance={"a": 1},
        prompt_context=(2, [3]),
        plain_content="Raw.",
        images=("https://a.example/b",),
        image_detail="low",
    )


def test_a_view_has_nothing_of_the_call_and_of_other_records() -> None:
    """Results and the sections of the call are added by the steps that know them."""
    view = view_of(Instruction.create("Ask.", id=ID))

    assert (view.result_ids, dict(view.call_sections)) == ((), {})


def test_a_view_does_not_follow_its_record() -> None:
    """A context that grows later is not seen."""
    record = Instruction.create("Ask.", prompt_context=["fact"])
    view = view_of(record)
    record.content.prompt_context.append("late")

    assert view.prompt_context == ("fact",)


@pytest.mark.parametrize("view", [InstructionView(ID), AssistantView(ID, "Yes.")], ids=["instruction", "answer"])
def test_a_view_is_not_written_to(view: Any) -> None:
    """A step makes another view and leaves the one it was given."""
    with pytest.raises(FrozenInstanceError):
        view.record_id = UUID(int=2)
    assert not hasattr(view, "__dict__")


def test_the_default_sections_of_a_call_are_read_only() -> None:
    """Two views never meet in a default mapping."""
    one, other = InstructionView(ID), InstructionView(ID)
    sections: Any = one.call_sections

    assert one.call_sections is not other.call_sections
    with pytest.raises(TypeError):
        sections["Tools"] = []


@pytest.mark.parametrize("value", ["abc", None, {"a": 1}, 7])
@pytest.mark.parametrize("field", ["prompt_context", "images"])
def test_a_list_that_is_none_is_refused(field: str, value: Any) -> None:
    """A text in the place of a list is not taken apart into its characters."""
    content = InstructionContent("Ask.")
    setattr(content, field, value)

    with pytest.raises(TurnCompileError) as caught:
        view_of(Instruction(content=content, id=ID))
    assert str(caught.value) == (
        f"Record 00000000-0000-0000-0000-000000000001: `{field}` is a {type(value).__name__}; it must be a list"
    )
    assert (caught.value.path, caught.value.record_ids) == (field, (ID,))


@pytest.mark.parametrize("value", [None, "", [], (), {}])
def test_nothing_counts_as_absent(value: Any) -> None:
    """None, empty text and empty containers are no section."""
    assert is_absent(value)


@pytest.mark.parametrize("value", [" ", 0, False, 0.0, [None], {"a": None}])
def test_a_value_counts_as_present(value: Any) -> None:
    """A blank, a zero and a container that holds something are shown, or at least looked at."""
    assert not is_absent(value)
