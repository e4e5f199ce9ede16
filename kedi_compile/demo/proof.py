"""Compares what was validated with what was sent, from the outside: native messages against the bytes of the bodies.

Both sides are taken apart into the same plain pieces, each by its own few lines, and no code of the adapter or of the
client takes part. A piece is a tuple that begins with its kind: `("text", role, words)`, `("call", id, name, args)`,
`("result", id, words)`, `("thinking", words, signature)` or `("system", words)`.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage

from kedi_compile.demo.performance import Edit, Performance, Refusal
from kedi_compile.demo.replay import Recording

Piece = tuple[object, ...]


@dataclass(frozen=True)
class Check:
    """One thing the demo claims, and whether it holds."""

    claim: str
    holds: bool


@dataclass(frozen=True)
class Compared:
    """The digests of one kept group as it was validated and as it was sent."""

    group_id: str
    pieces: int
    validated: str
    sent: str

    @property
    def agrees(self) -> bool:
        """Whether the two are the same."""
        return self.validated == self.sent


def compare(edit: Edit, body: bytes) -> tuple[list[Compared], int]:
    """Compare the kept groups with a body, in order; also return how many pieces of the body belong to none."""
    sent = list(sent_pieces(json.loads(body)))
    rows: list[Compared] = []
    for seen in edit.groups:
        if seen.kept:
            pieces = [piece for message in seen.messages for piece in native_pieces(message)]
            taken, sent = sent[: len(pieces)], sent[len(pieces) :]
            rows.append(Compared(seen.group.group_id, len(pieces), _digest(pieces), _digest(taken)))
    return rows, len(sent)


def check_all(recording: Recording, seen: Performance, refused: Refusal) -> list[Check]:
    """Check every claim of the demo, in the order it makes them."""
    first, second = (compare(edit, body) for edit, body in zip(seen.edits, seen.sent, strict=True))
    kept = len(messages_in(seen.sent[0])) - 1
    return [
        Check("the careless slice was refused", refused.error is not None),
        Check("nothing of the careless slice was sent", not refused.sent),
        Check("request 1 is these groups in this order and nothing else", _all_agree(*first)),
        Check("request 2, after the tool call, is its validated history and nothing else", _all_agree(*second)),
        Check(f"request 2 begins with the same {kept:,} bytes of messages: cached prefix kept", _extends(seen.sent)),
        Check("both requests are the ones the recorded answers were given to", are_as_recorded(recording, seen.sent)),
    ]


_NATIVE: Final[Mapping[type, Callable[[Any], Piece]]] = {
    m.SystemPromptPart: lambda part: ("system", part.content),
    m.UserPromptPart: lambda part: ("text", "user", part.content),
    m.TextPart: lambda part: ("text", "assistant", part.content),
    m.ThinkingPart: lambda part: ("thinking", part.content, part.signature),
    m.ToolCallPart: lambda part: ("call", part.tool_call_id, part.tool_name, part.args_as_dict()),
    m.ToolReturnPart: lambda part: ("result", part.tool_call_id, part.model_response_str()),
}

_SENT: Final[Mapping[str, Callable[[str, dict[str, Any]], Piece]]] = {
    "text": lambda role, block: ("text", role, block["text"]),
    "thinking": lambda _, block: ("thinking", block["thinking"], block["signature"]),
    "tool_use": lambda _, block: ("call", block["id"], block["name"], block["input"]),
    "tool_result": lambda _, block: ("result", block["tool_use_id"], "".join(_texts(block["content"]))),
}


def native_pieces(message: ModelMessage) -> list[Piece]:
    """Take a native message apart."""
    return [_NATIVE[type(part)](part) for part in message.parts]


def sent_pieces(body: dict[str, Any]) -> Iterator[Piece]:
    """Take the body of a Messages request apart."""
    for words in _texts(body.get("system", [])):
        yield "system", words
    for message in body["messages"]:
        for block in _blocks(message["content"]):
            yield _SENT[block["type"]](message["role"], block)


def _blocks(content: str | list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def _texts(content: str | list[dict[str, Any]]) -> list[str]:
    return [block["text"] for block in _blocks(content)]


def _digest(pieces: Sequence[Piece]) -> str:
    return hashlib.sha256(json.dumps(pieces, ensure_ascii=False).encode()).hexdigest()[:12]


def _all_agree(rows: Sequence[Compared], left_over: int) -> bool:
    return bool(rows) and left_over == 0 and all(row.agrees for row in rows)


def messages_in(body: bytes) -> bytes:
    """Cut the messages out of a body, byte for byte; a quoted `"messages":` inside a text has other bytes."""
    text = body.decode()
    start = text.index("[", text.index('"messages":'))
    _, end = json.JSONDecoder().raw_decode(text, start)
    return text[start:end].encode()


def _extends(sent: Sequence[bytes]) -> bool:
    """Whether the second body has the first one's tools, system text and messages, then more messages."""
    first, second = map(json.loads, sent)
    before = [(body.get("tools"), body.get("system")) for body in (first, second)]
    return before[0] == before[1] and messages_in(sent[1]).startswith(messages_in(sent[0])[:-1] + b",")


def are_as_recorded(recording: Recording, sent: Sequence[bytes]) -> bool:
    """Whether the bodies are the requests that the recorded answers were given to."""
    asked = [json.loads(body) for body in sent]
    recorded = [exchange.request for exchange in recording.exchanges]
    return [_words(body) for body in asked] == [_words(body) for body in recorded]


def _words(body: Mapping[str, object]) -> tuple[object, ...]:
    """What a model answers to; sampling and transport settings may change with the client's version."""
    return body.get("system"), body["messages"]
