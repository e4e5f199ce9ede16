"""Token numbers of Pydantic AI messages, from above.

Texts, tool names, arguments and results count by their bytes, media by the constants of `kedi_compile.tokens`.
Signatures and encrypted state count at their own rate: providers bill most of them. `ModelRequest.instructions` are not
history.
"""

from __future__ import annotations

from typing import Any, Final

import orjson
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelRequest

from kedi_compile import tokens as t
from kedi_pydantic_ai.parts import LegacyRetryPart

_MEDIA_TOKENS: Final[tuple[tuple[str, int], ...]] = (
    ("image/", t.IMAGE_TOKENS),
    ("audio/", t.AUDIO_TOKENS),
    ("video/", t.VIDEO_TOKENS),
)
_URL_TOKENS: Final[dict[type, int]] = {
    m.ImageUrl: t.IMAGE_TOKENS,
    m.AudioUrl: t.AUDIO_TOKENS,
    m.VideoUrl: t.VIDEO_TOKENS,
    m.DocumentUrl: t.DOCUMENT_TOKENS,
    m.UploadedFile: t.DOCUMENT_TOKENS,
    m.CachePoint: 0,
}


def estimate(message: ModelMessage) -> int:
    """Return the estimated tokens of one message."""
    total = t.MESSAGE_TOKENS
    of_part = _request_part if isinstance(message, ModelRequest) else _response_part
    for part in message.parts:
        total += of_part(part)
    return total


def _request_part(part: Any) -> int:
    if isinstance(part, m.BaseToolReturnPart):
        return t.CALL_TOKENS + content_tokens(part.content)
    content = getattr(part, "content", None)
    if content is None:
        return t.text_tokens(repr(part))
    return t.CALL_TOKENS + content_tokens(content) if isinstance(part, LegacyRetryPart) else content_tokens(content)


def _response_part(part: Any) -> int:
    if isinstance(part, m.TextPart):
        return t.text_tokens(part.content)
    if isinstance(part, m.BaseToolCallPart):
        size = t.text_bytes(part.tool_name) + _json_bytes(part.args)
        return t.CALL_TOKENS + t.tokens_of_bytes(size) + _details_tokens(part)
    if isinstance(part, m.ThinkingPart):
        return max(t.text_tokens(part.content), t.opaque_tokens(part.signature or "")) + _details_tokens(part)
    content = getattr(part, "content", None)
    return t.CALL_TOKENS + content_tokens(content) + _details_tokens(part)


def _details_tokens(part: Any) -> int:
    details = part.provider_details
    return t.opaque_tokens(_json_bytes(details)) if details else 0


def content_tokens(content: Any) -> int:
    """Return the tokens of user content or a tool result: a str, media, a sequence of these, or any data."""
    if isinstance(content, str):
        return t.text_tokens(content)
    if isinstance(content, (list, tuple)):
        return sum(content_tokens(item) for item in content) + len(content)
    if isinstance(content, m.BinaryContent):
        return _binary_tokens(content)
    if (known := _URL_TOKENS.get(type(content))) is not None:
        return known
    if isinstance(content, m.TextContent):
        return t.text_tokens(content.content)
    return t.tokens_of_bytes(_json_bytes(content))


def _binary_tokens(content: m.BinaryContent) -> int:
    if content.media_type.startswith("text/"):
        return t.tokens_of_bytes(len(content.data))
    return next(
        (tokens for prefix, tokens in _MEDIA_TOKENS if content.media_type.startswith(prefix)), t.DOCUMENT_TOKENS
    )


def _json_bytes(value: Any) -> int:
    """Return the size of a value as JSON; what JSON cannot hold counts by its `repr`."""
    if value is None:
        return 2  # what an empty object takes
    if isinstance(value, str):
        return t.text_bytes(value)
    try:
        return len(orjson.dumps(value, default=repr, option=orjson.OPT_NON_STR_KEYS))
    except (TypeError, ValueError):
        return t.text_bytes(repr(value))
