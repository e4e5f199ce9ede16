"""The estimate of each kind of content: by bytes for text and data, by a constant for media, never by base64."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, FunctionMessage, HumanMessage, SystemMessage, ToolMessage

from kedi_compile import tokens as t
from kedi_langchain.tokens import content_tokens, estimate

CALL: Any = {"name": "look", "args": {"a": 1}, "id": "c1"}


@pytest.mark.parametrize("build", [SystemMessage, HumanMessage, AIMessage])
def test_a_text_counts_by_its_bytes(build: Any) -> None:
    """A message is its text and what a provider adds around it; a list of blocks is their sum."""
    expected = t.MESSAGE_TOKENS + 300 // t.BYTES_PER_TOKEN

    assert estimate(build("x" * 300)) == expected
    assert estimate(build(["x" * 150, {"type": "text", "text": "x" * 150}])) == expected


def test_text_of_other_scripts_counts_by_utf8() -> None:
    """Three bytes a character are more tokens than one, and text no encoder accepts counts too."""
    assert content_tokens("猫" * 30) == 3 * content_tokens("c" * 30)
    assert content_tokens("\ud800" * 3) == t.tokens_of_bytes(9)


def test_a_call_counts_name_and_arguments() -> None:
    """With what a provider adds around a call; an invalid one counts its raw text."""
    broken: Any = {"name": "look", "args": '{"a":1}', "id": "c1", "error": "cut off"}
    expected = t.MESSAGE_TOKENS + t.CALL_TOKENS + t.tokens_of_bytes(4 + 7)

    assert estimate(AIMessage("", tool_calls=[CALL])) == expected
    assert estimate(AIMessage("", invalid_tool_calls=[broken])) == expected


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "c1", "name": "look", "input": {"a": 1}},
        {"type": "tool_call", "id": "c1", "name": "look", "args": {"a": 1}},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": '{"a":1}'},
    ],
    ids=lambda block: str(block["type"]),
)
def test_a_call_counts_once_although_the_content_repeats_it(block: dict[str, Any]) -> None:
    """The provider is sent one of the two."""
    assert estimate(AIMessage([block], tool_calls=[CALL])) == estimate(AIMessage("", tool_calls=[CALL]))


def test_a_call_in_the_content_alone_counts_too() -> None:
    """No history is free because of how it was built."""
    block = {"type": "tool_use", "id": "c1", "name": "look", "input": {"text": "x" * 3_000}}

    assert estimate(AIMessage([block])) >= 1_000


@pytest.mark.parametrize(
    "result", [ToolMessage("seen", tool_call_id="c1"), FunctionMessage(content="seen", name="look")]
)
def test_a_result_counts_its_content(result: Any) -> None:
    """With what a provider adds around a result."""
    assert estimate(result) == t.MESSAGE_TOKENS + t.CALL_TOKENS + content_tokens("seen")


PICTURE = "cG5n" * 500_000


@pytest.mark.parametrize(
    ("block", "tokens"),
    [
        ({"type": "image", "base64": PICTURE, "mime_type": "image/png"}, t.IMAGE_TOKENS),
        ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}, t.IMAGE_TOKENS),
        ({"type": "image", "source": {"type": "base64", "data": PICTURE}}, t.IMAGE_TOKENS),
        ({"type": "input_image", "image_url": "https://example.com/cat.png"}, t.IMAGE_TOKENS),
        ({"type": "input_audio", "input_audio": {"data": PICTURE, "format": "wav"}}, t.AUDIO_TOKENS),
        ({"type": "audio", "base64": PICTURE, "mime_type": "audio/wav"}, t.AUDIO_TOKENS),
        ({"type": "video", "url": "https://example.com/cat.mp4"}, t.VIDEO_TOKENS),
        ({"type": "file", "file": {"file_data": PICTURE}}, t.DOCUMENT_TOKENS),
        ({"type": "document", "source": {"type": "base64", "data": PICTURE}}, t.DOCUMENT_TOKENS),
    ],
    ids=lambda value: str(value["type"]) if isinstance(value, dict) else None,
)
def test_media_count_by_a_constant(block: dict[str, Any], tokens: int) -> None:
    """Whatever their size, and wherever they stand."""
    assert content_tokens([block]) == tokens
    assert estimate(ToolMessage([block], tool_call_id="c1")) == t.MESSAGE_TOKENS + t.CALL_TOKENS + tokens


@pytest.mark.parametrize(
    ("mime_type", "tokens"),
    [
        ("image/png", t.IMAGE_TOKENS),
        ("audio/wav", t.AUDIO_TOKENS),
        ("video/mp4", t.VIDEO_TOKENS),
        ("application/pdf", t.DOCUMENT_TOKENS),
    ],
)
def test_geminis_media_count_no_less_than_what_they_are(mime_type: str, tokens: int) -> None:
    """One block type holds every kind of medium there."""
    assert content_tokens([{"type": "media", "data": "cG5n", "mime_type": mime_type}]) >= tokens


def test_words_in_a_document_count_as_words() -> None:
    """A long text does not become cheap by being called a document."""
    block = {"type": "document", "source": {"type": "text", "data": "x" * 300_000, "media_type": "text/plain"}}

    assert content_tokens([block]) >= 100_000


@pytest.mark.parametrize(
    "signed",
    [
        {"type": "thinking", "thinking": "x" * 30, "signature": "s" * 3_000},
        {"type": "reasoning", "reasoning": "x" * 30, "extras": {"signature": "s" * 3_000}},
        {"type": "reasoning", "summary": [], "encrypted_content": "s" * 3_000},
        {"type": "redacted_thinking", "data": "s" * 3_000},
        {"type": "reasoning_content", "reasoning_content": {"text": "x" * 30, "signature": "s" * 3_000}},
    ],
    ids=["thinking", "v1", "openai", "redacted", "bedrock"],
)
def test_a_signature_counts_at_its_own_rate(signed: dict[str, Any]) -> None:
    """Encrypted reasoning is billed, as less than a text of its length."""
    assert content_tokens([signed]) == t.opaque_tokens("s" * 3_000)


def test_a_thought_counts_as_text() -> None:
    """Where there is no signature, or a short one."""
    thought = {"type": "thinking", "thinking": "x" * 300, "signature": "s"}

    assert content_tokens([thought]) == 300 // t.BYTES_PER_TOKEN


def test_data_counts_by_its_json() -> None:
    """A block of a provider's own is what it says, also where JSON cannot hold it."""
    block = {"type": "web_search_tool_result", "content": ["x" * 300]}
    odd = {"type": "novelty", "value": {1, 2}}

    assert content_tokens([block]) >= t.text_tokens("x" * 300)
    assert content_tokens([odd]) > 0


def test_reasoning_beside_the_content_counts() -> None:
    """State that goes back to the provider costs tokens; the rest of the extra fields is not sent."""
    bare = estimate(AIMessage("so"))

    assert estimate(AIMessage("so", additional_kwargs={"reasoning_content": "x" * 300})) >= bare + 100
    assert estimate(AIMessage("so", additional_kwargs={"mine": "x" * 300})) == bare
