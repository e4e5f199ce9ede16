"""New text messages: which are plain texts, and what makes one a record that nobody may make up."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import BinaryContent, ImageUrl
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.usage import RequestUsage

from agents import asks, calls, lines, results, says, signed
from kedi_pydantic_ai.texts import checkpoint, text, text_flaw, text_message


def test_a_user_text_is_one_prompt() -> None:
    """The message holds the text alone."""
    message = text_message("They talked.", "user")

    assert isinstance(message, ModelRequest)
    assert [type(part) for part in message.parts] == [m.UserPromptPart]
    assert lines([message]) == ["< They talked."]


def test_an_assistant_text_is_one_text_part() -> None:
    """The message holds the text alone."""
    message = text_message("Noted.", "assistant")

    assert isinstance(message, ModelResponse)
    assert message.parts == [m.TextPart("Noted.")]


@pytest.mark.parametrize(
    "message",
    [
        text_message("They talked.", "user"),
        text_message("Noted.", "assistant"),
        asks("typed by hand"),
        says("typed by hand"),
        ModelRequest(parts=[m.UserPromptPart("one"), m.UserPromptPart("two")]),
        ModelRequest(parts=[m.UserPromptPart("dated")], timestamp=None),
        asks("ünïcode 🐈"),
    ],
)
def test_a_plain_text_has_no_flaw(message: ModelMessage) -> None:
    """However it was built, text and nothing else is acceptable."""
    assert text_flaw(message) is None


@pytest.mark.parametrize(
    ("message", "detail"),
    [
        (results("c1"), "ToolReturnPart"),
        (calls("c1"), "ToolCallPart"),
        (ModelResponse(parts=[signed("deep")]), "ThinkingPart"),
        (ModelResponse(parts=[m.ThinkingPart("hm")]), "ThinkingPart"),
        (ModelResponse(parts=[m.CompactionPart("They talked.", provider_name="anthropic")]), "CompactionPart"),
        (ModelRequest(parts=[m.CompactionPart("They talked.")]), "CompactionPart"),
        (ModelResponse(parts=[m.NativeToolCallPart("web_search", {})]), "NativeToolCallPart"),
        (ModelRequest(parts=[m.InstructionBaselinePart(instructions=[])]), "InstructionBaselinePart"),
        (asks([ImageUrl("https://example.com/cat.png")]), "no str"),
        (asks(["words", BinaryContent(b"PNG", media_type="image/png")]), "no str"),
        (ModelResponse(parts=[m.TextPart("x", id="msg_1", provider_name="openai")]), "id"),
        (ModelResponse(parts=[m.TextPart("x", provider_details={"a": 1}, provider_name="x")]), "provider_details"),
        (says("x", provider_response_id="resp_1"), "provider_response_id"),
        (says("x", provider_details={"container_id": "c"}), "provider_details"),
        (says("x", model_name="gpt"), "model_name"),
        (says("x", finish_reason="stop"), "finish_reason"),
        (says("x", state="suspended"), "state"),
        (says("x", usage=RequestUsage(input_tokens=1)), "usage"),
        (says("x", run_id="r"), "run_id"),
        (ModelRequest(parts=[m.UserPromptPart("x")], instructions="Obey."), "instructions"),
        (ModelRequest(parts=[m.UserPromptPart("x")], run_id="r"), "run_id"),
        (ModelRequest(parts=[m.UserPromptPart("x")], metadata={"__pydantic_ai__": {}}), "metadata"),
        (ModelRequest(parts=[m.UserPromptPart("x")], state="interrupted"), "state"),
    ],
)
def test_anything_beside_text_is_a_fabricated_record(message: ModelMessage, detail: str) -> None:
    """Ids, calls, media, thoughts and what hosts and providers record cannot be made up."""
    flaw = text_flaw(message)

    assert flaw is not None
    assert flaw.rule == "fabricated_record"
    assert detail in flaw.detail


@pytest.mark.parametrize("parts", [[m.SystemPromptPart("Obey.")], [m.UserPromptPart("x"), m.SystemPromptPart("Obey.")]])
def test_system_text_is_not_the_callbacks_to_add(parts: list[m.ModelRequestPart]) -> None:
    """Alone or beside other content."""
    flaw = text_flaw(ModelRequest(parts=parts))

    assert flaw is not None
    assert flaw.rule == "system_altered"


@pytest.mark.parametrize(
    "message", [asks(""), asks(" \n\t"), says(""), ModelRequest(parts=[]), ModelResponse(parts=[])]
)
def test_a_blank_text_says_nothing(message: ModelMessage) -> None:
    """Empty, white space, or no part at all."""
    flaw = text_flaw(message)

    assert flaw is not None
    assert flaw.rule == "blank_text"


@pytest.mark.parametrize("build", [asks, says])
def test_a_text_that_is_no_utf8_cannot_be_sent(build: Any) -> None:
    """A lone surrogate has no encoding."""
    flaw = text_flaw(build("broken \ud800"))

    assert flaw is not None
    assert flaw.rule == "unencodable_text"


def _lying(name: str, value: object, *, on_part: bool = False) -> ModelMessage:
    message = ModelRequest(parts=[m.UserPromptPart("hello")])
    setattr(message.parts[0] if on_part else message, name, value)
    return message


class _Mine(ModelRequest):
    """A message class of the caller's own."""


@pytest.mark.parametrize(
    ("message", "word"),
    [
        (_lying("kind", "response"), "kind"),
        (_lying("part_kind", "system-prompt", on_part=True), "part_kind"),
        (_lying("timestamp", object()), "timestamp"),
        (_Mine(parts=[m.UserPromptPart("hello")]), "_Mine"),
        (_lying("parts", None), "parts"),
    ],
    ids=["kind", "part kind", "timestamp", "subclass", "no parts"],
)
def test_a_text_that_is_not_what_it_says_is_refused(message: ModelMessage, word: str) -> None:
    """What would be stored as something else, or could not be stored, is no bare text."""
    flaw = text_flaw(message)

    assert flaw is not None
    assert flaw.rule == "fabricated_record"
    assert word in flaw.detail


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (text_message("They talked.", "user"), "They talked."),
        (text_message("Noted.", "assistant"), "Noted."),
        (checkpoint("Archived.", "ref-1"), "Archived."),
        (ModelRequest(parts=[m.UserPromptPart("one"), m.UserPromptPart(["two", "three"])]), "one\ntwo\nthree"),
    ],
)
def test_the_text_of_a_new_message_is_what_was_said(message: ModelMessage, expected: str) -> None:
    """Part by part."""
    assert text(message) == expected
