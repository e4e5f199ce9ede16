"""Messages as JSON and back: what comes back as it was, what comes back as plain JSON, and what is refused."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse
from pydantic_ai.usage import RequestUsage

from agents import asks, calls, lines, results, says, signed
from kedi_pydantic_ai import PydanticDialect
from recorded import FOLDER, WITHOUT, Recording, histories

DIALECT = PydanticDialect()
IMAGE = m.BinaryImage(b"\x89PNG\xff\x00", media_type="image/png", identifier="cat")
NOON = dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC)


@dataclass
class Place:
    """What a tool may return."""

    name: str
    seen: dt.datetime = NOON


class Room(BaseModel):
    """What a tool may return."""

    name: str
    size: Decimal = Decimal("1.50")


class Own(ModelRequest):
    """A message of a class of the user's own."""


MESSAGES: list[ModelMessage] = [
    asks("hello"),
    ModelRequest(parts=[m.SystemPromptPart("Be brief."), m.UserPromptPart(["look", IMAGE])], metadata={"tag": [1]}),
    says("hello", usage=RequestUsage(input_tokens=1), provider_name="anthropic", provider_details={"a": None}),
    ModelResponse(parts=[signed("deep"), m.FilePart(IMAGE), m.ToolCallPart("look", '{"a":1}', tool_call_id="c1")]),
    calls("c1", thought="deep", where={"room": "hall", "an": [1, 2.5, None, True, 10**30]}),
    results("c1", content={"z": 1, "a": ["ü", "\u2028", ""]}),
    results("c1", content=[IMAGE, "beside"]),
]


def same_after_a_round_trip(message: ModelMessage) -> bool:
    """Write, read and write again; nothing may differ."""
    data = DIALECT.dump(message)
    back = DIALECT.load(data)
    assert DIALECT.dump(back) == data
    return (
        DIALECT.digest(back) == DIALECT.digest(message)
        and DIALECT.fingerprint(back) == DIALECT.fingerprint(message)
        and DIALECT.same(back, message)
    )


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: lines([message])[0])
def test_what_is_written_comes_back_as_it_was(message: ModelMessage) -> None:
    """Equal in type and every field, the bytes of a file too."""
    assert same_after_a_round_trip(message)


RECORDINGS = [pytest.param(one, id=one.name) for one in histories()] or [pytest.param(None, id="none")]


@pytest.mark.skipif(FOLDER is None, reason=WITHOUT)
@pytest.mark.parametrize("recording", RECORDINGS)
def test_recorded_messages_come_back_as_they_were(recording: Recording) -> None:
    """Whatever a provider wrote: reasoning, native tools, compactions."""
    assert all(map(same_after_a_round_trip, recording.messages))


def test_a_record_is_one_json_object_without_space() -> None:
    """The bytes are the host's own form of one message."""
    message = ModelResponse(parts=[m.TextPart("hé")], timestamp=NOON)

    assert DIALECT.dump(message).startswith('{"parts":[{"content":"hé","id":null,"provider_name":null,'.encode())


@pytest.mark.parametrize(
    ("returned", "comes_back"),
    [
        (Place("hall"), {"name": "hall", "seen": "2026-01-01T12:00:00Z"}),
        (Room(name="hall"), {"name": "hall", "size": "1.50"}),
        ((1, 2), [1, 2]),
        ({1: "a"}, {"1": "a"}),
        (NOON, "2026-01-01T12:00:00Z"),
        (b"\xff\x00", "_wA="),
    ],
    ids=["dataclass", "model", "tuple", "key", "date", "bytes"],
)
def test_what_python_alone_knows_comes_back_as_the_json_the_model_read(returned: Any, comes_back: Any) -> None:
    """The host's own loss; writing it again gives the same bytes."""
    data = DIALECT.dump(results("c1", content=returned))
    back = DIALECT.load(data)

    assert getattr(back.parts[0], "content", None) == comes_back
    assert DIALECT.dump(back) == data


def test_the_host_completes_a_file() -> None:
    """It writes the identifier it computes, and knows an image by its class; the bytes stay."""
    file = m.BinaryContent(b"\x89PNG", media_type="image/png")
    data = DIALECT.dump(ModelRequest(parts=[m.UserPromptPart([file])]))

    back = DIALECT.load(data)

    (read,) = back.parts[0].content  # type: ignore[union-attr,misc]  # the part that was written
    assert (type(read), read.data, read.identifier) == (m.BinaryImage, file.data, file.identifier)  # type: ignore[union-attr]
    assert DIALECT.dump(back) == data


def _nested() -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for _ in range(5_000):
        nested = {"in": nested}
    return nested


@pytest.mark.parametrize(
    ("returned", "fault"),
    [
        ({"a": [float("nan")]}, "content.a.0 is nan, which is no JSON number"),
        (float("-inf"), "content is -inf, which is no JSON number"),
        (iter([1]), "content is a list_iterator, which writing would use up"),
        (object(), "Unable to serialize unknown type"),
        ("\ud800", "surrogates not allowed"),
        (_nested(), "nested too deeply"),
    ],
    ids=["nan", "infinite", "iterator", "object", "surrogate", "deep"],
)
def test_what_json_cannot_carry_is_refused(returned: Any, fault: str) -> None:
    """The error says what, and nothing is written by halves."""
    with pytest.raises(TypeError, match="ModelRequest cannot be written") as raised:
        DIALECT.dump(results("c1", content=returned))

    assert fault in str(raised.value)


def test_a_message_of_a_class_of_its_own_is_refused() -> None:
    """It would come back as another class."""
    with pytest.raises(TypeError, match="A Own cannot be written"):
        DIALECT.dump(Own(parts=[m.UserPromptPart("hello")]))


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"1", b"null", b"[]", b"{}", b"\xff", b"{", b'{"kind":"order","parts":[]}'),
        b'{"kind":"request","parts":[{"part_kind":"user-prompt","content":{"a":1}}]}',
        b'{"kind":"request","parts":[]},{"kind":"request","parts":[]}',
        b'{"kind":"request","parts":' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        b'{"type":"human","data":{"content":"hello"}}',
        b"\x80\x04N.",
    ],
    ids=range(13),
)
def test_foreign_data_is_no_message(data: bytes) -> None:
    """Whatever it is, it is refused as a value, at no length."""
    with pytest.raises(ValueError, match="The data is") as raised:
        DIALECT.load(data)

    assert len(str(raised.value)) < 400
