"""Step 5: views become messages; what a provider sees is written out literally."""

from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from kedi_compile import CompiledMessage, TurnCompileError
from kedi_compile.message import MessageRole
from kedi_compile.turn import Instruction, Message
from kedi_compile.turn.project import AssistantView, InstructionView
from kedi_compile.turn.render import render, render_record

ID = UUID(int=1)
PNG = "data:image/png;base64,AA=="


def content(**fields: Any) -> Any:
    """Return the content of the message of one instruction."""
    (message,) = render([InstructionView(ID, **fields)])
    assert message.role is MessageRole.USER
    return message.content


def test_messages_keep_their_order_and_have_two_roles() -> None:
    """An instruction is the user's and an answer the assistant's."""
    assert render([InstructionView(ID, "Ask."), AssistantView(ID, "Yes."), InstructionView(ID, "More.")]) == (
        CompiledMessage(MessageRole.USER, "Instruction: Ask."),
        CompiledMessage(MessageRole.ASSISTANT, "Yes."),
        CompiledMessage(MessageRole.USER, "Instruction: More."),
    )


def test_all_sections_of_an_instruction() -> None:
    """Guidance, instruction, context, tools and format, as one mapping of minimal YAML without its last break."""
    rendered = content(
        guidance="Be brief.\n\nBe kind.",
        instruction="Ask: now?",
        prompt_context=("fact", {"function": "look", "arguments": {"at": "it"}, "output": ["a", None, 1.5]}),
        tool_schemas=({"type": "function", "function": {"name": "look", "parameters": {"properties": {}}}},),
        response_format={"answer": "yes"},
    )

    assert rendered == (
        "Guidance: |-\n"
        "  Be brief.\n"
        "\n"
        "  Be kind.\n"
        "Instruction: 'Ask: now?'\n"
        "Context:\n"
        "- fact\n"
        "- function: look\n"
        "  arguments:\n"
        "    at: it\n"
        "  output:\n"
        "  - a\n"
        "  - 1.5\n"
        "Tools:\n"
        "- type: function\n"
        "  function:\n"
        "    name: look\n"
        "ResponseFormat: |-\n"
        "  Answer with JSON only, in one fenced block, shaped like this example:\n"
        "  ```json\n"
        '  {"answer":"yes"}\n'
        "  ```\n"
        "  Escape quotes and control characters inside strings."
    )


class Answer(BaseModel):
    """How a city feels."""

    city: str
    note: str | None = None


def test_a_model_is_shown_by_schema_and_format() -> None:
    """The schema comes before the example and loses its empty parts, as every section does."""
    assert content(instruction="Ask.", response_format=Answer) == (
        "Instruction: Ask.\n"
        "ResponseSchema:\n"
        "  properties:\n"
        "    city:\n"
        "      title: City\n"
        "      type: string\n"
        "    note:\n"
        "      anyOf:\n"
        "      - type: string\n"
        "      - type: 'null'\n"
        "      title: Note\n"
        "  required:\n"
        "  - city\n"
        "  title: AnswerRequest\n"
        "  type: object\n"
        "ResponseFormat: |-\n"
        "  Answer with JSON only, in one fenced block, shaped like this example:\n"
        "  ```json\n"
        '  {"city":"text","note":"text"}\n'
        "  ```\n"
        "  Escape quotes and control characters inside strings."
    )


@pytest.mark.parametrize(
    ("instruction", "text"),
    [
        ("Line one.\n", "Instruction: |\n  Line one."),
        ("Line one.\n\n", "Instruction: |+\n  Line one.\n\n..."),
        ("  padded  ", "Instruction: '  padded  '"),
        ({"task": "sum", "of": [1, 2]}, "Instruction:\n  task: sum\n  of:\n  - 1\n  - 2"),
        (["a", "b"], "Instruction:\n- a\n- b"),
        (0, "Instruction: 0"),
        ("half \ud800", 'Instruction: "half \\uD800"'),
    ],
)
def test_the_whole_text_is_stripped_at_its_end(instruction: Any, text: str) -> None:
    """The last break goes, and the line that tells the end of a text that ends in empty lines stays."""
    assert content(instruction=instruction) == text


@pytest.mark.parametrize("instruction", [None, "", " ", [None]])
def test_an_instruction_without_anything_is_an_empty_mapping(instruction: Any) -> None:
    """A user's turn is not left out, even if nothing is asked."""
    assert content(instruction=instruction) == "{}"


def test_plain_content_is_the_whole_text() -> None:
    """It is sent as it is, whatever else the instruction holds."""
    assert content(plain_content=" Raw: {text}\n\n", instruction="Ask.", guidance="Guide.") == " Raw: {text}\n\n"


def test_empty_plain_content_is_none() -> None:
    """The sections are shown where there is no plain text."""
    assert content(plain_content="", instruction="Ask.") == "Instruction: Ask."


def test_images_make_a_list_of_one_text_and_its_images() -> None:
    """The text part comes first and is there in any case."""
    images = (PNG, "https://example.com/a.png")

    assert content(instruction="Look.", images=images, image_detail="high") == [
        {"type": "text", "text": "Instruction: Look."},
        {"type": "image_url", "image_url": {"url": PNG, "detail": "high"}},
        {"type": "image_url", "image_url": {"url": "https://example.com/a.png", "detail": "high"}},
    ]
    assert content(plain_content="Raw.", images=(PNG,))[0] == {"type": "text", "text": "Raw."}


def test_an_answer_is_its_text() -> None:
    """Nothing is added to an answer, and nothing is stripped."""
    assert render([AssistantView(ID, " Yes:\n\n")]) == (CompiledMessage(MessageRole.ASSISTANT, " Yes:\n\n"),)


def test_an_empty_answer_is_left_out() -> None:
    """A message without content is no message."""
    assert render([AssistantView(ID, ""), InstructionView(ID, "Ask.")]) == (
        CompiledMessage(MessageRole.USER, "Instruction: Ask."),
    )


@pytest.mark.parametrize(
    ("view", "message", "path"),
    [
        (
            InstructionView(ID, "Ask.", prompt_context=(1, {"output": {"when": int}})),
            "The value at Context[1].output.when is <class 'int'>, which cannot be written; use plain data",
            "Context[1].output.when",
        ),
        (
            InstructionView(ID, "Look.", images=(PNG, "https:///b")),
            "images[1] cannot be sent: the URL names no host. Got 'https:///b'",
            "images[1]",
        ),
        (
            InstructionView(ID, plain_content=7),  # type: ignore[arg-type]  # the point of the test
            "`plain_content` is a int; it must be text",
            "plain_content",
        ),
        (AssistantView(ID, "a\ud800"), "The text cannot be sent: character 1 is half of a surrogate pair", None),
        (
            InstructionView(ID, plain_content="\udfff"),
            "The text cannot be sent: character 0 is half of a surrogate pair",
            None,
        ),
    ],
)
def test_what_cannot_be_sent_is_refused_by_its_record(
    view: InstructionView | AssistantView, message: str, path: str | None
) -> None:
    """The record and the way to the value are named."""
    with pytest.raises(TurnCompileError) as caught:
        render([view])

    assert str(caught.value) == f"Record 00000000-0000-0000-0000-000000000001: {message}"
    assert (caught.value.record_ids, caught.value.path) == ((ID,), path)


class Note(Message):
    """A record of a kind of its own."""


def test_a_record_alone_is_its_literal_text() -> None:
    """Nothing is folded in; a record of an unknown kind shows what it holds."""
    looking = Instruction.create("Look.", guidance={"a": 1}, images=[PNG])

    assert render_record(looking) == [
        {"type": "text", "text": "Guidance:\n  a: 1\nInstruction: Look."},
        {"type": "image_url", "image_url": {"url": PNG, "detail": "auto"}},
    ]
    assert render_record(Note(content={"to": "all"})) == {"to": "all"}
