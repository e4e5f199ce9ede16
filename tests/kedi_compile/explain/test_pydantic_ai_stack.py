"""How Pydantic AI's saved messages are read, and the words that are found in them."""

from __future__ import annotations

import json
from typing import Any, Final

import pytest
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ModelResponse

from agents import asks, calls, results, says, turns
from kedi_compile.explain.pydantic_ai_stack import load, words
from kedi_compile.explain.reading import UnreadableHistory

UNKNOWN_KIND: Final = "found using 'kind' does not match any of the expected tags: 'request', 'response'"


def test_what_the_host_wrote_comes_back_as_it_was() -> None:
    """Messages are read as `ModelMessagesTypeAdapter` reads them, pictures and all."""
    picture = asks(["look", m.BinaryContent(b"\x89PNG", media_type="image/png")])
    history = [*turns(1), picture, calls("c1", thought="hm"), results("c1"), says("done")]

    saved = ModelMessagesTypeAdapter.dump_json(history)

    read = [load(index, message) for index, message in enumerate(json.loads(saved))]
    assert read == ModelMessagesTypeAdapter.validate_json(saved)


@pytest.mark.parametrize(
    ("message", "said"),
    [
        (
            {"kind": "x", "parts": []},
            f"Input tag 'x' {UNKNOWN_KIND}",
        ),
        (
            {"kind": "response", "parts": [{"part_kind": "text", "content": 3}]},
            "Input should be a valid string at response.parts.0.text.content",
        ),
    ],
)
def test_what_is_no_message_is_named_with_its_place(message: dict[str, Any], said: str) -> None:
    """The complaint has the message's index and the way to the field that is wrong."""
    with pytest.raises(UnreadableHistory) as refused:
        load(4, message)

    assert str(refused.value) == f"Message 4 is no message of Pydantic AI: {said}"


def test_what_the_host_would_not_read_is_no_message() -> None:
    """Half a character and bottomless nesting are refused as the host refuses them."""
    deep: Any = 1
    for _ in range(600):
        deep = [deep]
    for content in ("\ud800", deep):
        with pytest.raises(UnreadableHistory, match="Message 0 is no message of Pydantic AI: Invalid JSON"):
            load(0, {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": content}]})


def test_nesting_beyond_python_is_named() -> None:
    """What not even Python can write down again is nested too deeply."""
    deep: Any = 1
    for _ in range(100_000):
        deep = [deep]

    with pytest.raises(UnreadableHistory, match="Message 2 is nested too deeply"):
        load(2, {"kind": "request", "parts": deep})


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (asks("a question"), "a question"),
        (asks([m.ImageUrl("https://example.com/a.png"), "a caption"]), "a caption"),
        (asks([m.TextContent("marked")]), "marked"),
        (says("an answer"), "an answer"),
        (ModelResponse(parts=[m.ToolCallPart("look", {}, tool_call_id="c")]), ""),
        (ModelRequest(parts=[]), ""),
    ],
)
def test_the_words_of_a_message_are_its_first_text(message: m.ModelMessage, found: str) -> None:
    """A message that holds no text has no words."""
    assert words(message) == found
