"""What a request body says, as short lines, whichever of three provider APIs it is for.

The model's own words are left out, for they differ between a scripted and a real model; what the test wrote itself
stays: prompts, tool calls, tool results, and that there is reasoning.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

Piece = Mapping[str, Any]


def spoken(body: Piece) -> list[str]:
    """Return one line for each prompt, call, result and piece of reasoning, in order."""
    if "input" in body:
        return [line for item in body["input"] for line in _item(item)]
    return [line for message in body["messages"] for line in _message(message)]


def _message(message: Piece) -> Iterator[str]:
    """Read a message of Anthropic Messages or OpenAI Chat."""
    if message["role"] == "tool":
        yield f"result {message['content']}"
        return
    content = message.get("content") or []
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        yield from _block(block, message["role"])
    for call in message.get("tool_calls", []):
        yield _call(call["function"]["name"], json.loads(call["function"]["arguments"]))


def _block(block: Piece, role: str) -> Iterator[str]:
    match block["type"]:
        case "text":
            if role == "user":
                yield f"user {block['text']}"
        case "tool_use":
            yield _call(block["name"], block["input"])
        case "tool_result":
            content = block["content"]
            yield f"result {content if isinstance(content, str) else ''.join(part['text'] for part in content)}"
        case "thinking":
            yield "reasoning"
        case kind:
            raise ValueError(kind)


def _item(item: Piece) -> Iterator[str]:
    """Read an item of OpenAI Responses."""
    match item.get("type", "message"):
        case "message":
            if item["role"] == "user":
                yield f"user {item['content']}"
        case "function_call":
            yield _call(item["name"], json.loads(item["arguments"]))
        case "function_call_output":
            yield f"result {item['output']}"
        case "reasoning":
            yield "reasoning"
        case kind:
            raise ValueError(kind)


def _call(name: str, arguments: Mapping[str, object]) -> str:
    return f"call {name} {' '.join(map(str, arguments.values()))}"
