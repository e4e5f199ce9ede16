"""Saved histories as a user has them on disk, written out literally, for the tests of `kedi-compile explain`.

Both tell one story: system text, two closed exchanges, one with a tool call behind a signed thought, one more closed.
`PENDING` leaves a call open at the end.
"""

from __future__ import annotations

from typing import Any, Final

Saved = list[dict[str, Any]]


def _asked(text: str) -> dict[str, Any]:
    return {"kind": "request", "parts": [{"part_kind": "user-prompt", "content": text}]}


def _answered(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "response", "parts": list(parts)}


def _text(text: str) -> dict[str, Any]:
    return {"part_kind": "text", "content": text}


def _call(call_id: str) -> dict[str, Any]:
    return {"part_kind": "tool-call", "tool_name": "look", "args": {}, "tool_call_id": call_id}


PYDANTIC_AI: Final[Saved] = [
    {"kind": "request", "parts": [{"part_kind": "system-prompt", "content": "Be brief."}]},
    _asked("What is the tide?"),
    _answered(_text("Low.")),
    _asked("And the wind?"),
    _answered(_text("North.")),
    _asked("Look at the harbour."),
    _answered({"part_kind": "thinking", "content": "hm", "signature": "s", "provider_name": "anthropic"}, _call("c1")),
    {
        "kind": "request",
        "parts": [{"part_kind": "tool-return", "tool_name": "look", "content": "full", "tool_call_id": "c1"}],
    },
    _answered(_text("It is full.")),
    _asked("Thank you."),
    _answered(_text("Any time.")),
]

PENDING: Final[Saved] = [*PYDANTIC_AI, _asked("Look again."), _answered(_call("c2"))]


def _said(kind: str, content: object, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, "type": kind, **fields}}


LANGCHAIN: Final[Saved] = [
    _said("system", "Be brief."),
    _said("human", "What is the tide?", id="q1"),
    _said("ai", "Low."),
    _said("human", "And the wind?", id="q2"),
    _said("ai", "North."),
    _said("human", "Look at the harbour.", id="q3"),
    _said(
        "ai",
        [{"type": "thinking", "thinking": "hm", "signature": "s"}],
        tool_calls=[{"name": "look", "args": {}, "id": "c1"}],
    ),
    _said("tool", "full", tool_call_id="c1", name="look"),
    _said("ai", "It is full."),
    _said("human", "Thank you.", id="q4"),
    _said("ai", "Any time."),
]
