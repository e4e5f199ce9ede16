"""Conservative token numbers without a tokenizer.

The rule: lean high. Text counts by its UTF-8 bytes, at a rate that prose, code and JSON do not exceed on recorded
traffic; long runs of digits, hex or UUIDs do. Media count by a stated constant, never by the length of their
encoding. `token_counter=` on an adapter replaces all of this.
"""

from __future__ import annotations

BYTES_PER_TOKEN = 3
"""Prose measured 3.9 to 5.2 bytes a token on recorded traffic; code and JSON are denser. Hex, digits and UUIDs can be
denser still, down to two bytes a token, and are undercounted."""

OPAQUE_BYTES_PER_TOKEN = 5
"""Encrypted reasoning and signatures: 5.1 to 10.6 base64 characters for each billed reasoning token, measured."""

MESSAGE_TOKENS = 8
"""What a provider adds around each message; measured on very short ones."""

CALL_TOKENS = 26
"""What a provider adds around each tool call or tool result: up to 57 tokens for a pair, measured on Anthropic."""

IMAGE_TOKENS = 1_600
"""The largest image Anthropic bills, 1.15 megapixels at 750 pixels a token; others bill less for one image."""

AUDIO_TOKENS = 1_920
"""One minute at Gemini's 32 tokens a second."""

VIDEO_TOKENS = 17_700
"""One minute at Gemini's 295 tokens a second (263 for frames, 32 for sound)."""

DOCUMENT_TOKENS = 6_000
"""Two pages at Anthropic's upper figure of 3,000 tokens a page."""


def text_bytes(text: str) -> int:
    """Return the UTF-8 length of `text`; lone surrogates count three bytes."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


def tokens_of_bytes(count: int, rate: int = BYTES_PER_TOKEN) -> int:
    """Return the tokens of `count` bytes at `rate` bytes a token, rounded up."""
    return -(-count // rate)


def text_tokens(text: str) -> int:
    """Return the tokens of a text, rounded up."""
    return tokens_of_bytes(text_bytes(text))


def opaque_tokens(data: str | int) -> int:
    """Return the tokens of an encrypted text, or of one of that many bytes, rounded up."""
    return tokens_of_bytes(data if isinstance(data, int) else text_bytes(data), OPAQUE_BYTES_PER_TOKEN)
