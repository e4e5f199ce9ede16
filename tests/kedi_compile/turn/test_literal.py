"""The literal text of one record: nothing is folded, merged or left out."""

from typing import Any, ClassVar
from uuid import UUID

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.message import MessageRole
from kedi_compile.turn import (
    ActionRequest,
    ActionResponse,
    ActionResponseContent,
    AssistantResponse,
    AssistantResponseContent,
    Instruction,
    Message,
    System,
)
from kedi_compile.turn.literal import literal_content

ID = UUID(int=7)
PNG = "data:image/png;base64,AA=="
CALL = ActionRequest.create("look", {"at": "it", "not": None}, id=ID)


class Note(Message):
    """A record of a kind of its own."""

    role: ClassVar[MessageRole] = MessageRole.USER


@pytest.mark.parametrize(
    ("record", "text"),
    [
        (System.create("Be brief.\n", system_datetime="noon"), "System Time: noon\n\nBe brief.\n"),
        (Instruction.create("Ask.", guidance={"a": 1}), "Guidance:\n  a: 1\nInstruction: Ask."),
        (Instruction.create(), "{}"),
        (AssistantResponse.create(" Yes.\n"), " Yes.\n"),
        (CALL, "Function: look\nArguments:\n  at: it"),
        (ActionResponse.answering(CALL, [1], error="late"), "Function: look\nArguments:\n  at: it\nOutput:\n- 1"),
    ],
    ids=["system", "instruction", "nothing", "answer", "call", "result"],
)
def test_each_kind_has_its_literal_text(record: Message, text: str) -> None:
    """A call and a result are shown as they are, which a request never does."""
    assert literal_content(record) == text


def test_a_record_alone_is_its_literal_text() -> None:
    """Nothing is folded in, and images are parts."""
    looking = Instruction.create("Look.", guidance={"a": 1}, images=[PNG])

    assert literal_content(looking) == [
        {"type": "text", "text": "Guidance:\n  a: 1\nInstruction: Look."},
        {"type": "image_url", "image_url": {"url": PNG, "detail": "auto"}},
    ]


@pytest.mark.parametrize("kind", [Note, Message])
def test_of_an_unknown_kind_a_copy_is_shown(kind: type[Message]) -> None:
    """What it holds is told as it is, and a change of it does not reach the record."""
    record = kind(content={"to": ["all"]})
    found = literal_content(record)
    found["to"].append("none")

    assert found == {"to": ["all", "none"]}
    assert record.content == {"to": ["all"]}


@pytest.mark.parametrize(
    ("record", "message"),
    [
        (
            Instruction.create({"a": int}, id=ID),
            "The value at instruction.a is <class 'int'>, which cannot be written; ",
        ),
        (AssistantResponse(content=AssistantResponseContent(None), id=ID), "`assistant_response` is a NoneType; "),  # type: ignore[arg-type]
        (System.create(7, id=ID), "`system_message` is a int; it must be text"),  # type: ignore[arg-type]
        (ActionRequest.create("look", {"at": int}, id=ID), "The value at "),
        (ActionResponse.answering(CALL, int, id=ID), "The value at "),
    ],
    ids=["instruction", "answer", "system", "call", "result"],
)
def test_what_cannot_be_written_is_refused_by_its_record(record: Message, message: str) -> None:
    """Whichever kind it is of, the record is named."""
    with pytest.raises(TurnCompileError) as caught:
        literal_content(record)

    assert str(caught.value).startswith(f"Record 00000000-0000-0000-0000-000000000007: {message}")
    assert caught.value.record_ids == (ID,)


class Draft(AssistantResponse):
    """An answer of a derived kind."""


def test_a_derived_record_is_shown_as_what_it_derives_from() -> None:
    """A subclass of a known kind is no unknown one."""
    record: Any = Draft.create("Perhaps.")

    assert literal_content(record) == "Perhaps."


@pytest.mark.parametrize(
    ("record", "path"),
    [
        (ActionRequest.create("look", {"at": int}), "arguments.at"),
        (ActionResponse(content=ActionResponseContent("look", {}, {"when": int})), "output.when"),
    ],
    ids=["call", "result"],
)
def test_a_value_that_cannot_be_written_is_found_by_its_field(record: Message, path: str) -> None:
    """The way to it begins with the content's field."""
    with pytest.raises(TurnCompileError) as caught:
        literal_content(record)

    assert (caught.value.path, caught.value.record_ids) == (path, (record.id,))
