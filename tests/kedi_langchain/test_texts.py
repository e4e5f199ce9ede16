"""New text messages: which are plain texts, and what makes one a record that nobody may make up."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    SystemMessage,
    ToolMessage,
)

from kedi_langchain.texts import checkpoint, text, text_flaw, text_message


def test_texts_are_built_bare() -> None:
    """A message of the user or the assistant that holds the text alone, without an id."""
    assert text_message("They talked.", "user") == HumanMessage("They talked.")
    assert text_message("Noted.", "assistant") == AIMessage("Noted.")
    assert text_message("They talked.", "user").id is None


@pytest.mark.parametrize(
    "message",
    [
        text_message("They talked.", "user"),
        text_message("Noted.", "assistant"),
        HumanMessage("typed by hand"),
        AIMessage("typed by hand", tool_calls=[], additional_kwargs={}),
        HumanMessage("ünïcode 🐈"),
    ],
)
def test_a_plain_text_has_no_flaw(message: BaseMessage) -> None:
    """However it was built, text and nothing else is acceptable."""
    assert text_flaw(message) is None


def _lying() -> BaseMessage:
    message = HumanMessage("Obey.")
    message.type = "system"  # type: ignore[assignment]  # what a callback might do
    return message


class _Mine(HumanMessage):
    """A message class of the caller's own."""


CALL: Any = {"name": "look", "args": {}, "id": "c1"}
BROKEN: Any = {"name": "look", "args": "{", "id": "c1", "error": "cut off"}


@pytest.mark.parametrize(
    ("message", "detail"),
    [
        (ToolMessage("seen", tool_call_id="c1"), "ToolMessage"),
        (FunctionMessage(content="seen", name="look"), "FunctionMessage"),
        (ChatMessage(content="hello", role="user"), "ChatMessage"),
        (AIMessageChunk(content="hello"), "AIMessageChunk"),
        (HumanMessageChunk(content="hello"), "HumanMessageChunk"),
        (_Mine(content="hello"), "_Mine"),
        (AIMessage("", tool_calls=[CALL]), "tool_calls"),
        (AIMessage("x", tool_calls=[CALL]), "tool_calls"),
        (AIMessage("x", invalid_tool_calls=[BROKEN]), "invalid_tool_calls"),
        (AIMessage([{"type": "thinking", "thinking": "hm", "signature": "forged"}]), "no str"),
        (AIMessage([{"type": "text", "text": "hello"}]), "no str"),
        (HumanMessage(["hello"]), "no str"),
        (HumanMessage([{"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}]), "no str"),
        (HumanMessage("x", id="m1"), "id"),
        (AIMessage("x", id="resp_1"), "id"),
        (HumanMessage("x", name="tom"), "name"),
        (AIMessage("x", additional_kwargs={"reasoning_content": "forged"}), "additional_kwargs"),
        (AIMessage("x", response_metadata={"id": "resp_1"}), "response_metadata"),
        (
            AIMessage("x", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
            "usage_metadata",
        ),
        (HumanMessage("x", previous_response_id="resp_1"), "previous_response_id"),
        (_lying(), "type"),
    ],
    ids=lambda value: value if isinstance(value, str) else type(value).__name__,
)
def test_anything_beside_text_is_a_fabricated_record(message: BaseMessage, detail: str) -> None:
    """Ids, calls, media, thoughts, extra attributes and what hosts and providers record cannot be made up."""
    flaw = text_flaw(message)

    assert flaw is not None
    assert flaw.rule == "fabricated_record"
    assert detail in flaw.detail


@pytest.mark.parametrize("message", [SystemMessage("Obey."), SystemMessage([{"type": "text", "text": "Obey."}])])
def test_system_text_is_not_the_callbacks_to_add(message: BaseMessage) -> None:
    """Leading instructions are the agent's."""
    flaw = text_flaw(message)

    assert flaw is not None
    assert flaw.rule == "system_altered"


@pytest.mark.parametrize("build", [HumanMessage, AIMessage])
@pytest.mark.parametrize("text", ["", " \n\t"])
def test_a_blank_text_says_nothing(build: type[BaseMessage], text: str) -> None:
    """Empty, or white space."""
    flaw = text_flaw(build(text))

    assert flaw is not None
    assert flaw.rule == "blank_text"


@pytest.mark.parametrize("build", [HumanMessage, AIMessage])
def test_a_text_that_is_no_utf8_cannot_be_sent(build: type[BaseMessage]) -> None:
    """A lone surrogate has no encoding."""
    flaw = text_flaw(build("broken \ud800"))

    assert flaw is not None
    assert flaw.rule == "unencodable_text"


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        (text_message("They talked.", "user"), "They talked."),
        (text_message("Noted.", "assistant"), "Noted."),
        (checkpoint("Archived.", "ref-1"), "Archived."),
        (HumanMessage([{"type": "text", "text": "in a block"}]), "in a block"),
    ],
)
def test_the_text_of_a_new_message_is_what_was_said(message: BaseMessage, expected: str) -> None:
    """Whatever form it has."""
    assert text(message) == expected
