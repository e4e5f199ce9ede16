"""Token numbers of LangChain messages, from above.

Texts, tool names, arguments and results count by their bytes, media by the constants of `kedi_compile.tokens`.
Signatures and encrypted state count at their own rate: providers bill most of them. Calls count once, from
`tool_calls`, although the content may repeat them.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import orjson
from langchain_core.messages import AIMessage, BaseMessage, FunctionMessage, ToolMessage

from kedi_compile import tokens as t
from kedi_langchain.blocks import CALL_BLOCKS, EXTRA_FIELDS, REASONING, call_id, content_blocks

_MEDIA: Final[dict[str, int]] = {
    **dict.fromkeys(("image", "image_url", "input_image"), t.IMAGE_TOKENS),
    **dict.fromkeys(("audio", "input_audio"), t.AUDIO_TOKENS),
    "video": t.VIDEO_TOKENS,
    **dict.fromkeys(("file", "input_file", "document", "media"), t.DOCUMENT_TOKENS),
}
_OPAQUE: Final = ("signature", "thought_signature", "encrypted_content", "data")
_NO_WORDS: Final = frozenset({*_OPAQUE, "type", "id", "index"})


def estimate(message: BaseMessage) -> int:
    """Return the estimated tokens of one message."""
    total = t.MESSAGE_TOKENS + content_tokens(message.content)
    if isinstance(message, (ToolMessage, FunctionMessage)):
        return total + t.CALL_TOKENS
    if isinstance(message, AIMessage):
        for call in (*message.tool_calls, *message.invalid_tool_calls):
            total += t.CALL_TOKENS + t.tokens_of_bytes(_size(call["name"]) + _size(call["args"]))
        known = {call["id"] for call in (*message.tool_calls, *message.invalid_tool_calls)}
        alone = [block for block in content_blocks(message.content) if (call_id(block) or None) not in {None, *known}]
        total += sum(t.CALL_TOKENS + t.tokens_of_bytes(_size(block)) for block in alone)
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
    kind = str(block.get("type"))
    if kind in CALL_BLOCKS:
        return 0
    if kind in REASONING:
        return _reasoning_tokens(block)
    if (text := _written(block)) is not None:
        return content_tokens(text)
    if kind in _MEDIA:
        return max(_MEDIA[kind], _by_media_type(block))
    return t.tokens_of_bytes(_size(block))


def _written(block: Mapping[str, Any]) -> Any:
    """What a block holds in words: its text, or that of a document that came as text."""
    source = block.get("source")
    if isinstance(source, Mapping) and source.get("type") in ("text", "content"):
        return source.get("data") or source.get("content")
    return block["text"] if isinstance(block.get("text"), str) else None


def _by_media_type(block: Mapping[str, Any]) -> int:
    kind = str(block.get("mime_type", "")).partition("/")[0]
    return _MEDIA.get(kind, 0)


def _reasoning_tokens(block: Mapping[str, Any]) -> int:
    """Either the text or its encrypted form is billed, not both."""
    nested = [inner for inner in (block.get("extras"), block.get("reasoning_content")) if isinstance(inner, Mapping)]
    sources = [block, *nested]
    opaque = sum(t.opaque_tokens(one[name]) for one in sources for name in _OPAQUE if isinstance(one.get(name), str))
    words = [value for one in sources for name, value in one.items() if name not in _NO_WORDS and value not in nested]
    return max(opaque, sum(t.tokens_of_bytes(_size(value)) for value in words if value))


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
