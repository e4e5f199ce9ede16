"""Step 4: where policy, retrieved context and guidance stand."""

from typing import Any
from uuid import UUID

import pytest

from kedi_compile import ContextBlock, TurnCompileError
from kedi_compile.turn import System
from kedi_compile.turn.fold import fold
from kedi_compile.turn.views import AssistantView, InstructionView, View

NOW = InstructionView(UUID(int=1), "Now.")
ASK = InstructionView(UUID(int=2), "Ask.")
YES = AssistantView(UUID(int=3), "Yes.")
SYSTEM = System.create("Be brief.", id=UUID(int=9))
BLOCK = ContextBlock("memory", "fact")
SECTION = 'LIONAGI_CONTEXT_BLOCKS_JSON\n[{"content":"fact","provider_name":"memory"}]\nEND_LIONAGI_CONTEXT_BLOCKS_JSON'


def guided(guidance: Any, system: System | None = SYSTEM, blocks: tuple[ContextBlock, ...] = ()) -> Any:
    """Return the guidance that a lone current instruction ends up with."""
    (view,) = fold([], InstructionView(UUID(int=1), "Now.", guidance), system, blocks)
    assert isinstance(view, InstructionView)
    return view.guidance


def test_without_a_history_the_prefix_stands_in_the_current_instruction() -> None:
    """System, context section and guidance are joined by exactly one empty line, in this order."""
    assert guided("Guide.", SYSTEM, (BLOCK,)) == f"Be brief.\n\n{SECTION}\n\nGuide."


def test_with_a_history_the_prefix_stands_in_its_first_instruction() -> None:
    """Everything else stays as it is, and the current instruction is the last."""
    contents = fold([ASK, YES], NOW, SYSTEM, [BLOCK])

    assert contents == [InstructionView(ASK.record_id, "Ask.", f"Be brief.\n\n{SECTION}"), YES, NOW]


def test_a_history_without_an_instruction_leaves_the_prefix_to_the_current_one() -> None:
    """An answer has no guidance, so the first instruction of all is the one."""
    contents = fold([YES], NOW, None, [BLOCK])

    assert contents == [YES, InstructionView(NOW.record_id, "Now.", SECTION)]


def test_a_section_that_is_missing_leaves_no_gap() -> None:
    """Each section stands alone, and any two of them have one empty line between."""
    assert guided(None) == "Be brief."
    assert guided("Guide.") == "Be brief.\n\nGuide."
    assert guided(None, None, (BLOCK,)) == SECTION
    assert guided("Guide.", None, (BLOCK,)) == f"{SECTION}\n\nGuide."
    assert guided("Guide.", System.create("")) == "Guide."


@pytest.mark.parametrize("guidance", ["Guide.", {"a": [1]}, ["a"], 7, None])
def test_without_system_and_blocks_the_guidance_keeps_its_form(guidance: Any) -> None:
    """A mapping stays a mapping where there is nothing to join it with."""
    assert guided(guidance, None) is guidance


@pytest.mark.parametrize(
    ("guidance", "text"),
    [
        ({"a": [1, {"b": None}], "c": "x: y"}, "a:\n- 1\nc: 'x: y'"),
        (["a", "b"], "- a\n- b"),
        (7, "7\n..."),
        (True, "true\n..."),
    ],
)
def test_guidance_that_is_no_text_is_joined_as_minimal_yaml(guidance: Any, text: str) -> None:
    """Structure and numbers are rendered before they are joined with the policy."""
    assert guided(guidance) == f"Be brief.\n\n{text}"


@pytest.mark.parametrize("guidance", [None, "", [], {}, ()])
def test_empty_guidance_is_no_section(guidance: Any) -> None:
    """Nothing is joined where there is nothing."""
    assert guided(guidance) == "Be brief."


def test_blank_text_counts_as_a_section() -> None:
    """Blanks are text: they are joined, and not taken for nothing."""
    assert guided("  ") == "Be brief.\n\n  "
    assert guided("Guide.", System.create(" ")) == " \n\nGuide."


def test_json_text_as_guidance_stays_text() -> None:
    """Guidance that looks like JSON is not read."""
    assert guided('{"a": 1}') == 'Be brief.\n\n{"a": 1}'


class Marked(str):
    """A text that shows itself as another one."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another text"


def test_guidance_of_a_derived_text_is_read_exactly() -> None:
    """What a class derived from `str` says of itself does not count."""
    assert guided(Marked("Guide.")) == "Be brief.\n\nGuide."


def test_the_time_of_a_system_record_stands_before_its_text() -> None:
    """The time is a line of its own in the system section."""
    assert guided(None, System.create("Be brief.", system_datetime="noon")) == "System Time: noon\n\nBe brief."


def test_a_bad_block_is_refused_whatever_the_system() -> None:
    """A block without content never gets as far as a request."""
    with pytest.raises(TurnCompileError):
        fold([ASK, YES], NOW, None, [ContextBlock("memory", "")])


def test_a_policy_that_is_no_text_is_refused_by_its_record() -> None:
    """The system record is the one to blame."""
    with pytest.raises(TurnCompileError) as caught:
        guided(None, System.create(7, id=UUID(int=9)))  # type: ignore[arg-type]  # the point of the test

    assert str(caught.value) == (
        "Record 00000000-0000-0000-0000-000000000009: `system_message` is a int; it must be text"
    )
    assert caught.value.record_ids == (UUID(int=9),)


def test_guidance_that_cannot_be_written_is_refused_by_its_record() -> None:
    """The instruction is to blame, and the way to the value begins at its guidance."""
    with pytest.raises(TurnCompileError) as caught:
        guided({"a": [int]})

    assert str(caught.value) == (
        "Record 00000000-0000-0000-0000-000000000001: The value at guidance.a[0] is <class 'int'>, which cannot be "
        "written; use plain data"
    )
    assert (caught.value.record_ids, caught.value.path) == ((UUID(int=1),), "guidance.a[0]")


def test_folding_leaves_the_views_alone() -> None:
    """The prefix stands in a view of its own."""
    history: list[View] = [ASK, YES]
    fold(history, NOW, SYSTEM, [BLOCK])

    assert history == [ASK, YES]
    assert ASK.guidance is None
