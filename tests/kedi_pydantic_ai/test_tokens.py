"""The estimate of each kind of content: by bytes for text and data, by a constant for media, never by base64."""

from __future__ import annotations

import dataclasses
from typing import Any

import pydantic
import pytest
from pydantic_ai import AudioUrl, BinaryContent, DocumentUrl, ImageUrl, UploadedFile, VideoUrl
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelRequest, ModelResponse

from agents import asks, calls, results, says
from kedi_compile import tokens as t
from kedi_pydantic_ai.tokens import content_tokens, estimate


def test_a_text_counts_by_its_bytes() -> None:
    """A message is its text and what a provider adds around it."""
    assert estimate(asks("x" * 300)) == t.MESSAGE_TOKENS + 300 // t.BYTES_PER_TOKEN
    assert estimate(says("x" * 300)) == t.MESSAGE_TOKENS + 300 // t.BYTES_PER_TOKEN


def test_text_of_other_scripts_counts_by_utf8() -> None:
    """Three bytes a character are more tokens than one."""
    assert content_tokens("猫" * 30) == 3 * content_tokens("c" * 30)


def test_an_unencodable_text_counts_too() -> None:
    """A history may hold text no encoder accepts."""
    assert content_tokens("\ud800" * 3) == t.tokens_of_bytes(9)


def test_a_call_counts_name_and_arguments() -> None:
    """With what a provider adds around a call; a JSON string counts like the data it says."""
    as_data = ModelResponse(parts=[m.ToolCallPart("look", {"a": 1}, tool_call_id="c1")])
    as_text = ModelResponse(parts=[m.ToolCallPart("look", '{"a":1}', tool_call_id="c1")])

    assert estimate(as_data) == t.MESSAGE_TOKENS + t.CALL_TOKENS + t.tokens_of_bytes(4 + 7)
    assert estimate(as_text) == estimate(as_data)


def test_every_call_and_result_of_a_batch_counts() -> None:
    """Two calls cost twice what one does."""
    one, two = estimate(calls("c1")), estimate(calls("c1", "c2"))

    assert two - one == one - t.MESSAGE_TOKENS
    assert estimate(results("c1", "c2")) - estimate(results("c1")) == t.CALL_TOKENS + content_tokens("seen")


@pytest.mark.parametrize(
    ("content", "tokens"),
    [
        (ImageUrl("https://example.com/x"), t.IMAGE_TOKENS),
        (AudioUrl("https://example.com/x"), t.AUDIO_TOKENS),
        (VideoUrl("https://example.com/x"), t.VIDEO_TOKENS),
        (DocumentUrl("https://example.com/x"), t.DOCUMENT_TOKENS),
        (UploadedFile("file-1", provider_name="openai"), t.DOCUMENT_TOKENS),
        (BinaryContent(b"x", media_type="image/png"), t.IMAGE_TOKENS),
        (BinaryContent(b"x" * 5_000_000, media_type="image/png"), t.IMAGE_TOKENS),
        (BinaryContent(b"x", media_type="audio/wav"), t.AUDIO_TOKENS),
        (BinaryContent(b"x", media_type="video/mp4"), t.VIDEO_TOKENS),
        (BinaryContent(b"x", media_type="application/pdf"), t.DOCUMENT_TOKENS),
        (BinaryContent(b"x" * 300, media_type="text/plain"), 300 // t.BYTES_PER_TOKEN),
        (m.CachePoint(), 0),
        (m.TextContent("x" * 300), 300 // t.BYTES_PER_TOKEN),
    ],
    ids=lambda value: type(value).__name__,
)
def test_media_count_by_a_constant(content: Any, tokens: int) -> None:
    """Whatever their size; text in a file counts as text."""
    assert content_tokens(content) == tokens


def test_user_content_of_several_items_is_their_sum() -> None:
    """Words and pictures in one prompt, with a little for each border."""
    picture = ImageUrl("https://example.com/x")

    assert content_tokens(["x" * 300, picture]) == content_tokens("x" * 300) + t.IMAGE_TOKENS + 2


def test_a_picture_in_a_tool_result_counts_as_a_picture() -> None:
    """Alone or in a list."""
    picture = BinaryContent(b"x" * 90_000, media_type="image/png")

    assert estimate(results("c1", content=picture)) == t.MESSAGE_TOKENS + t.CALL_TOKENS + t.IMAGE_TOKENS
    assert content_tokens([picture, picture]) == 2 * t.IMAGE_TOKENS + 2


@dataclasses.dataclass
class Room:
    """A typed result."""

    name: str


class Weather(pydantic.BaseModel):
    """A typed result of another kind."""

    degrees: float


@pytest.mark.parametrize(
    ("data", "shown"),
    [
        ({"a": [1, 2]}, '{"a":[1,2]}'),
        ({1: "one"}, '{"1":"one"}'),
        (Room("hall"), '{"name":"hall"}'),
        (Weather(degrees=4.5), '"Weather(degrees=4.5)"'),
        (4, "4"),
        (None, "{}"),
        (10**40, str(10**40)),
    ],
    ids=["dict", "dict with int keys", "dataclass", "model", "int", "None", "an int no JSON encoder takes"],
)
def test_data_counts_by_its_json(data: object, shown: str) -> None:
    """What JSON cannot hold counts by its representation."""
    assert content_tokens(data) == t.tokens_of_bytes(len(shown))


def test_a_model_counts_no_less_than_what_the_host_sends() -> None:
    """The JSON of a pydantic model is not undercounted."""

    class Wide(pydantic.BaseModel):
        notes: dict[str, list[int]] = {"a": [1, 2, 3], "b": [4]}

    assert content_tokens(Wide()) >= t.text_tokens(Wide().model_dump_json())


def test_a_signature_counts_and_is_no_text() -> None:
    """Encrypted reasoning is billed, at its own rate; the larger of thought and signature counts."""
    bare = estimate(ModelResponse(parts=[m.ThinkingPart("x" * 30)]))
    signed = estimate(ModelResponse(parts=[m.ThinkingPart("x" * 30, signature="s" * 3_000)]))

    assert bare == t.MESSAGE_TOKENS + t.text_tokens("x" * 30)
    assert bare < signed < t.MESSAGE_TOKENS + t.text_tokens("s" * 3_000)


def test_provider_details_count() -> None:
    """State that goes back to the provider costs tokens."""
    bare = ModelResponse(parts=[m.ToolCallPart("look", {}, tool_call_id="c1")])
    heavy = ModelResponse(
        parts=[m.ToolCallPart("look", {}, tool_call_id="c1", provider_details={"thought_signature": "s" * 900})]
    )

    assert estimate(heavy) > estimate(bare) + 100


def test_a_provider_executed_result_counts_its_content() -> None:
    """A web search that came back is part of the history."""
    message = ModelResponse(parts=[m.NativeToolReturnPart("web_search", "x" * 300, tool_call_id="s1")])

    assert estimate(message) == t.MESSAGE_TOKENS + t.CALL_TOKENS + 300 // t.BYTES_PER_TOKEN


def test_framework_state_counts_something() -> None:
    """A part without content is estimated by its representation rather than as nothing."""
    assert estimate(ModelRequest(parts=[m.InstructionBaselinePart(instructions=[])])) > t.MESSAGE_TOKENS


def test_instructions_do_not_count() -> None:
    """They are injected separately, with every request."""
    bare, instructed = asks("now"), asks("now")
    instructed.instructions = "Be brief." * 100

    assert estimate(instructed) == estimate(bare)
