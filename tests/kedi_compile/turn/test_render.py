"""Step 5: views become messages; what a provider sees is written out literally."""

from typing import Any
from uuid import UUID

import pytest

from kedi_compile import CompiledMessage, TurnCompileError
from kedi_compile.message import MessageRole
from kedi_compile.turn.render import render
from kedi_compile.turn.views import AssistantView, InstructionView

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
        call_sections={
            "Tools": [{"type": "function", "function": {"name": "look"}}],
            "ResponseFormat": 'Like this:\n```json\n{"answer":"yes"}\n```',
        },
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
        "  Like this:\n"
        "  ```json\n"
        '  {"answer":"yes"}\n'
        "  ```"
    )


def test_the_sections_stand_in_a_fixed_order() -> None:
    """Guidance comes first and the sections of the call last, in the order they were given in."""
    rendered = content(
        call_sections={"Tools": [1], "ResponseSchema": {"a": 1}, "ResponseFormat": "JSON."},
        prompt_context=("fact",),
        guidance="Guide.",
        instruction="Ask.",
    )

    assert rendered == (
        "Guidance: Guide.\n"
        "Instruction: Ask.\n"
        "Context:\n"
        "- fact\n"
        "Tools:\n"
        "- 1\n"
        "ResponseSchema:\n"
        "  a: 1\n"
        "ResponseFormat: JSON."
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
            "The value at prompt_context[1].output.when is <class 'int'>, which cannot be written; use plain data",
            "prompt_context[1].output.when",
        ),
        (
            InstructionView(ID, guidance={"a": int}),
            "The value at guidance.a is <class 'int'>, which cannot be written; use plain data",
            "guidance.a",
        ),
        (
            InstructionView(ID, {"a": [10**4300]}),
            "The value at instruction.a[0] has more than 4300 digits",
            "instruction.a[0]",
        ),
        (
            InstructionView(ID, "Look.", images=(PNG,), image_detail="medium"),
            "`image_detail` is 'medium'; it must be one of (None, 'low', 'high', 'auto')",
            "image_detail",
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


def test_a_result_is_its_own_records_fault() -> None:
    """A value in a folded result blames the result's record, with a path from its content."""
    odd = {"function": "look", "arguments": {}, "output": {"when": int}}
    view = InstructionView(
        ID, "Ask.", prompt_context=("fact", {"output": 1}, odd), result_ids=(UUID(int=8), UUID(int=9))
    )

    with pytest.raises(TurnCompileError) as caught:
        render([view])
    assert str(caught.value) == (
        "Record 00000000-0000-0000-0000-000000000009: The value at output.when is <class 'int'>, which cannot be "
        "written; use plain data"
    )
    assert (caught.value.record_ids, caught.value.path) == ((UUID(int=9),), "output.when")


def test_results_and_facts_make_one_context() -> None:
    """What came from results stands behind the instruction's own, and what is empty is left out of both."""
    view = InstructionView(ID, prompt_context=("fact", None, {"output": 1}, {"output": None}), result_ids=(ID, ID))

    assert render([view])[0].content == "Context:\n- fact\n- output: 1"


class Marked(str):
    """A text that shows itself as another one."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another text"


def test_plain_content_is_read_exactly() -> None:
    """What a class derived from `str` says of itself does not count."""
    assert content(plain_content=Marked("Raw.")) == "Raw."
