"""Token numbers of LangChain messages, from above.

Texts, tool names, arguments and results count by their bytes, media by the constants of `kedi_compile.history.tokens`.
Signatures and encrypted state count at their own rate: providers bill most of them. Calls count once, from
`tool_calls`, although the content may repeat them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, ToolMessage

from kedi_compile.history import tokens as t
from kedi_langchain.blocks import CALL_BLOCKS, EXTRA_FIELDS, REASONING

_MEDIA: Final[dict[str, int]] = {
    **dict.fromkeys(("image", "image_url", "input_image"), t.IMAGE_TOKENS),
    **dict.fromkeys(("audio", "input_audio"), t.AUDIO_TOKENS),
    "video": t.VIDEO_TOKENS,
    **dict.fromkeys(("file", "input_file", "document", "media"), t.DOCUMENT_TOKENS),
}
_OPAQUE: Final = ("signature", "thought_signature", "encrypted_content", "data")


def estimate(message: BaseMessage) -> int:
    """Return the estimated tokens of one message."""
    total = t.MESSAGE_TOKENS + content_tokens(message.content)
    if isinstance(message, (ToolMessage, FunctionMessage)):
        return total + t.CALL_TOKENS
    if isinstance(message, AIMessage):
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            total += t.CALL_TOKENS + t.tokens_of_bytes(_size(call["name"]) + _size(call["args"]))
    if message.additional_kwargs:
        kept = {name: value for name, value in message.additional_kwargs.items() if name in EXTRA_FIELDS}
        total += t.tokens_of_bytes(_size(kept)) if kept else 0
    return total


def content_tokens(content: object) -> int:
    """Return the tokens of raw content: a str, a block, or a list of these."""
    if isinstance(content, str):
        return t.text_tokens(content)
    if isinstance(content, (list, tuple)):
        return sum(map(content_tokens, content))
    if isinstance(content, Mapping):
        return _block_tokens(content)
    return t.tokens_of_bytes(_size(content))


def _block_tokens(block: Mapping[str, Any]) -> int:
    kind = block.get("type")
    if kind in CALL_BLOCKS:
        return 0
    if kind in _MEDIA:
        return _MEDIA[kind]
    if kind in REASONING:
        return _reasoning_tokens(block)
    if isinstance(text := block.get("text"), str):
        return t.text_tokens(text)
    return t.tokens_of_bytes(_size(block))


def _reasoning_tokens(block: Mapping[str, Any]) -> int:
    """Either the text or its encrypted form is billed, not both."""
    inner = block.get("reasoning_content")
    sources = [one for one in (block, block.get("extras"), inner) if isinstance(one, Mapping)]
    opaque = sum(t.opaque_tokens(one[name]) for one in sources for name in _OPAQUE if isinstance(one.get(name), str))
    texts = [value for one in sources for name, value in one.items() if name not in _OPAQUE and name != "type"]
    return max(opaque, sum(t.tokens_of_bytes(_size(value)) for value in texts if value))


def _size(value: Any) -> int:
    """Return the size of a value as JSON; what JSON cannot hold counts by its `repr`."""
    if value is None:
        return 2
    if isinstance(value, str):
        return t.text_bytes(value)
    try:
        return len(orjson.dumps(value, default=repr, option=orjson.OPT_NON_STR_KEYS))
    except (TypeError, ValueError):
        return t.text_bytes(repr(value))
