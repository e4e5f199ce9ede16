"""What the durable records hold: the fields, and their way to plain data and back."""

from dataclasses import fields
from types import SimpleNamespace
from typing import Any
from uuid import UUID

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.turn import (
    ActionRequestContent,
    ActionResponseContent,
    AssistantResponseContent,
    InstructionContent,
    MessageContent,
    SystemContent,
)
from kedi_compile.turn.contents import exact, text_of

ID = UUID(int=7)

FULL: list[MessageContent] = [
    MessageContent(),
    SystemContent("Be brief.", "2026-01-02T03:04"),
    InstructionContent("Ask.", "Guide.", [{"a": 1}], "Raw.", ["https://example.com/a.png"], "low"),
    AssistantResponseContent("Yes."),
    ActionRequestContent("look", {"at": "it"}, ID),
    ActionResponseContent("look", {"at": "it"}, [1], "late", ID),
]
"""One content of each kind with all of its fields set."""


@pytest.mark.parametrize("content", FULL, ids=lambda content: type(content).__name__)
def test_a_content_survives_its_way_through_plain_data(content: MessageContent) -> None:
    """What a content holds comes back from its dictionary, field by field."""
    assert type(content).from_dict(content.to_dict()) == content


def test_a_content_as_plain_data_has_the_specifications_names() -> None:
    """Fields stand under their own names, and ids are text."""
    content = ActionResponseContent("look", {"at": "it"}, [1], None, ID)

    assert content.to_dict() == {
        "function": "look",
        "arguments": {"at": "it"},
        "output": [1],
        "error": None,
        "action_request_id": "00000000-0000-0000-0000-000000000007",
    }


def test_an_instructions_content_has_durable_fields_alone() -> None:
    """What belongs to a single call has no field that a record could carry."""
    assert [item.name for item in fields(InstructionContent)] == [
        *("instruction", "guidance", "prompt_context", "plain_content", "images", "image_detail"),
    ]


def test_options_of_a_past_call_are_read_and_ignored() -> None:
    """An older serialised instruction is read without the schemas, the format and the structure it carries."""
    older = {"instruction": "Ask.", "tool_schemas": [{"name": "f"}], "response_format": {"a": 1}, "structure": "Path"}

    assert InstructionContent.from_dict(older) == InstructionContent("Ask.")


def test_an_unknown_key_is_refused() -> None:
    """A key that is no field would be lost in silence, so it is named together with the fields there are."""
    with pytest.raises(TurnCompileError) as caught:
        SystemContent.from_dict({"system_message": "Be brief.", "colour": "red", "age": 1})

    assert str(caught.value) == (
        "SystemContent has no field age, colour; its fields are system_message, system_datetime"
    )


def test_options_of_a_call_are_ignored_for_instructions_only() -> None:
    """Another content never had tool schemas, so there they are an unknown key."""
    with pytest.raises(TurnCompileError, match="AssistantResponseContent has no field tool_schemas"):
        AssistantResponseContent.from_dict({"assistant_response": "Yes.", "tool_schemas": []})


def test_missing_keys_take_the_defaults() -> None:
    """Data of an earlier version may lack a field."""
    content = InstructionContent.from_dict({"instruction": "Ask."})

    assert (content.prompt_context, content.images, content.image_detail) == ([], [], None)


def test_two_contents_share_no_default() -> None:
    """A list that one content starts with is its own."""
    one, other = InstructionContent(), InstructionContent()
    one.prompt_context.append("fact")

    assert other.prompt_context == []


@pytest.mark.parametrize("given", [ID, str(ID), ID.hex])
def test_an_id_in_an_action_is_a_uuid_or_its_text(given: Any) -> None:
    """Ids that went through JSON are UUIDs again in an action's content."""
    assert ActionRequestContent("look", {}, given).action_response_id == ID
    assert ActionResponseContent("look", {}, action_request_id=given).action_request_id == ID


def test_an_action_need_not_be_linked() -> None:
    """A call whose response is not there yet has no id for it."""
    assert ActionRequestContent("look").action_response_id is None
    assert ActionResponseContent("look").action_request_id is None


def test_a_content_is_made_of_what_an_object_has() -> None:
    """Fields that are missing take the defaults, and what is no field is left behind."""
    held = SimpleNamespace(instruction="Ask.", images=["AAAA"], tool_schemas=[{"name": "look"}])

    assert InstructionContent.of(held) == InstructionContent("Ask.", images=["AAAA"])


@pytest.mark.parametrize("data", ["text", [("instruction", "Ask.")], 7])
def test_a_serialised_content_is_a_mapping(data: Any) -> None:
    """Text, pairs and a number are refused by their type."""
    with pytest.raises(TurnCompileError) as caught:
        InstructionContent.from_dict(data)

    assert str(caught.value) == f"A serialised InstructionContent is a mapping, not a {type(data).__name__}"


def test_a_system_text_is_its_message() -> None:
    """Without a time there is the message alone, as it is."""
    assert SystemContent(" Be brief. \n").rendered == " Be brief. \n"
    assert SystemContent("Be brief.", "").rendered == "Be brief."


def test_a_system_time_is_told_first() -> None:
    """The time stands on a line of its own, with an empty line behind it."""
    assert SystemContent("Be brief.", "noon").rendered == "System Time: noon\n\nBe brief."


@pytest.mark.parametrize(
    ("content", "field"),
    [
        (SystemContent(["Be brief."]), "system_message"),  # type: ignore[arg-type]  # the point of the test
        (SystemContent("Be brief.", ["noon"]), "system_datetime"),  # type: ignore[arg-type]  # the point of the test
    ],
    ids=["message", "time"],
)
def test_a_system_message_is_text(content: SystemContent, field: str) -> None:
    """A list of parts is no policy and no time."""
    with pytest.raises(TurnCompileError) as caught:
        content.rendered  # noqa: B018  # reading it is the point

    assert str(caught.value) == f"`{field}` is a list; it must be text"
    assert caught.value.path == field


class Marked(str):
    """A text of a class of its own."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another text"


@pytest.mark.parametrize("value", ["a", Marked("a")])
def test_a_text_field_is_an_exact_text(value: Any) -> None:
    """What is read is the text itself, without the methods of a class derived from `str`."""
    found = text_of(value, "plain_content")

    assert type(found) is str
    assert found == "a"


def test_a_text_field_of_another_type_is_refused_by_its_name() -> None:
    """A number where text belongs is not turned into digits."""
    with pytest.raises(TurnCompileError) as caught:
        text_of(7, "plain_content")

    assert str(caught.value) == "`plain_content` is a int; it must be text"
    assert caught.value.path == "plain_content"


def test_a_text_is_read_exactly() -> None:
    """What a class derived from `str` says of itself does not count."""
    assert exact(Marked("a")) == "a"
    assert type(exact(Marked("a"))) is str
