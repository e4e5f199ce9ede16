"""Messages as JSON and back: what comes back as it was, what comes back as plain JSON, and what is refused."""

from __future__ import annotations

import datetime as dt
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
    messages_from_dict,
)
from langchain_core.messages.tool import tool_call_chunk
from pydantic import BaseModel

from kedi_langchain import LangChainDialect
from recorded import FOLDER, WITHOUT

DIALECT = LangChainDialect()
CALL: Any = {"name": "look", "args": {"where": {"room": "hall"}, "n": 1}, "id": "c1"}
BROKEN: Any = {"name": "look", "args": "{", "id": "c2", "error": "cut off"}
USAGE: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


@dataclass
class Place:
    """What a tool may keep as its artifact."""

    name: str
    inside: tuple[Any, ...] = (1, b"\xff")


class Room(BaseModel):
    """What a tool may keep as its artifact."""

    seen: dt.date = dt.date(2026, 1, 1)


class Own(HumanMessage):
    """A message of a class of the user's own."""


MESSAGES: list[BaseMessage] = [
    SystemMessage("Be brief."),
    HumanMessage(["look:", {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}], id="m1"),
    HumanMessage([{"type": "image", "data": b"\x89PNG\xff"}], name="ann"),
    AIMessage(
        [{"type": "thinking", "thinking": "deep", "signature": "s"}],
        tool_calls=[CALL],
        invalid_tool_calls=[BROKEN],
        usage_metadata=USAGE,
        response_metadata={"id": "resp_1", "logprobs": [0.5, None]},
    ),
    ToolMessage("seen", tool_call_id="c1", artifact={"raw": [1, 2.5, b"\xff"], "big": 10**30}, name="look"),
    ToolMessage("no JSON", tool_call_id="c2", status="error"),
    AIMessageChunk(content="so", response_metadata={"id": "resp_1"}, chunk_position="last"),
    AIMessageChunk(content="", tool_call_chunks=[tool_call_chunk(name="look", args='{"a": 1', id="c1", index=0)]),
    ChatMessage(content="go on", role="user"),
    AIMessage("", additional_kwargs={"function_call": {"name": "look", "arguments": "{}"}}),
    FunctionMessage(content="seen", name="look"),
    HumanMessage("next", mine={"tag": 1}),
    HumanMessage("marks", mine=[{"kedi_compile.bytes": "x"}, {"kedi_compile.object": {"kedi_compile.bytes": "x"}}]),
]


def same_after_a_round_trip(message: BaseMessage) -> bool:
    """Write, read and write again; nothing may differ."""
    data = DIALECT.dump(message)
    back = DIALECT.load(data)
    assert DIALECT.dump(back) == data
    return (
        type(back) is type(message)
        and DIALECT.digest(back) == DIALECT.digest(message)
        and DIALECT.fingerprint(back) == DIALECT.fingerprint(message)
        and DIALECT.same(back, message)
    )


@pytest.mark.parametrize("message", MESSAGES, ids=range(len(MESSAGES)))
def test_what_is_written_comes_back_as_it_was(message: BaseMessage) -> None:
    """Equal in class and every field, ids, metadata and bytes too."""
    assert same_after_a_round_trip(message)


def test_usage_is_written_in_the_order_in_which_the_host_reads_it() -> None:
    """`ChatAnthropic` adds it afterwards, with keys in another order than the host's own."""
    message = AIMessage("seen")
    usage: Any = {**USAGE, "input_token_details": {"cache_read": 2, "cache_creation": 1}}
    message.usage_metadata = usage

    data = DIALECT.dump(message)

    assert b'{"cache_creation":1,"cache_read":2}' in data
    assert DIALECT.load(data) == message
    assert DIALECT.dump(DIALECT.load(data)) == data


def _recorded() -> list[Any]:
    folder = Path(FOLDER or "") / "histories" / "langchain"
    paths = sorted(folder.glob("*.json")) if FOLDER else []
    return [pytest.param(path, id=path.stem) for path in paths] or [pytest.param(None, id="none")]


@pytest.mark.skipif(FOLDER is None, reason=WITHOUT)
@pytest.mark.parametrize("path", _recorded())
def test_recorded_messages_come_back_as_they_were(path: Path) -> None:
    """Whatever a provider wrote: reasoning, server tools, compactions."""
    assert all(map(same_after_a_round_trip, messages_from_dict(json.loads(path.read_bytes()))))


def test_a_record_has_the_layout_of_the_host() -> None:
    """The bytes are those of `messages_to_dict`, without space."""
    assert DIALECT.dump(HumanMessage("hé")) == (
        '{"type":"human","data":{"content":"hé","additional_kwargs":{},"response_metadata":{},"type":"human",'
        '"name":null,"id":null}}'.encode()
    )


@pytest.mark.parametrize(
    ("artifact", "comes_back"),
    [
        (Place("hall"), {"name": "hall", "inside": [1, b"\xff"]}),
        (Room(), {"seen": "2026-01-01"}),
        ((1, 2), [1, 2]),
    ],
    ids=["dataclass", "model", "tuple"],
)
def test_records_come_back_as_their_plain_fields(artifact: Any, comes_back: Any) -> None:
    """The class is lost; writing it again gives the same bytes."""
    data = DIALECT.dump(ToolMessage("seen", tool_call_id="c1", artifact=artifact))
    back = DIALECT.load(data)

    assert isinstance(back, ToolMessage)
    assert back.artifact == comes_back
    assert DIALECT.dump(back) == data


def _nested() -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for _ in range(5_000):
        nested = {"in": nested}
    return nested


@pytest.mark.parametrize(
    ("artifact", "fault"),
    [
        ({"a": [float("nan")]}, r"ToolMessage\.artifact\.a\[0\] cannot be written: float is neither JSON"),
        ({1, 2}, r"ToolMessage\.artifact cannot be written: set is neither JSON"),
        (object(), r"ToolMessage\.artifact cannot be written: object is neither JSON"),
        (dt.date(2026, 1, 1), r"ToolMessage\.artifact cannot be written: date is neither JSON"),
        (iter([1]), r"ToolMessage\.artifact cannot be written: list_iterator is neither JSON"),
        ({1: "a"}, r"ToolMessage\.artifact cannot be written: its key 1 is no str"),
        (_nested(), "cannot be written: it is nested too deeply"),
        ("\ud800", "cannot be written as UTF-8: surrogates not allowed"),
    ],
    ids=["nan", "set", "object", "date", "iterator", "key", "deep", "surrogate"],
)
def test_what_json_cannot_carry_is_refused(artifact: Any, fault: str) -> None:
    """The error says what and where, and nothing is written by halves."""
    with pytest.raises(TypeError, match=fault):
        DIALECT.dump(ToolMessage("seen", tool_call_id="c1", artifact=artifact))


@pytest.mark.parametrize("message", [Own(content="hello"), RemoveMessage(id="m1")], ids=["own", "order"])
def test_a_message_of_another_class_is_refused(message: BaseMessage) -> None:
    """It would come back as another class, or is no history."""
    with pytest.raises(TypeError, match="cannot be written; only the message classes of langchain-core"):
        DIALECT.dump(message)


@pytest.mark.parametrize(
    "data",
    [
        *(b"", b"1", b"null", b"[]", b"{}", b"\xff", b"{", b'{"type":"order","data":{}}', b'{"type":"human","data":1}'),
        b'{"type":"human","data":{"content":{"a":1}}}',
        b'{"type":"human","data":{"content":{"kedi_compile.bytes":"?"}}}',
        b'{"type":"remove","data":{"id":"m1"}}',
        b'{"lc":1,"type":"constructor","id":["langchain_core","messages","HumanMessage"],"kwargs":{"content":"x"}}',
        b'{"type":"human","data":{"content":' + b"[" * 100_000 + b"]" * 100_000 + b"}}",
        b'{"kind":"request","parts":[]}',
        b"\x80\x04N.",
    ],
    ids=range(16),
)
def test_foreign_data_is_no_message(data: bytes) -> None:
    """Whatever it is, it is refused as a value, at no length."""
    with pytest.raises(ValueError, match="The data is") as raised:
        DIALECT.load(data)

    assert len(str(raised.value)) < 400
