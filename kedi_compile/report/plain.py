"""Makes a text of a dump safe to show: what could command a terminal, or reorder a line, is spelt out instead.

Everything in a dump may come from a model, a tool or a stranger's file. A text that has passed here holds no control
character; markup is the business of who shows it (rich gets `Text`, the page escapes).
"""

from __future__ import annotations

import re
from typing import Final

_COMMANDS: Final = re.compile(r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""C0 and C1 controls, what changes the direction of text, line separators, and halves of a pair."""


def spell_out(text: str) -> str:
    r"""Return the text with each control character written as its escape, `\x1b`; a tab becomes spaces, lines stay."""
    return _COMMANDS.sub(_escape, text.replace("\r\n", "\n").replace("\t", "    "))


def on_one_line(text: str) -> str:
    r"""Return the text as `spell_out` does, on one line: a line break is written as `\n`."""
    return spell_out(text).replace("\n", r"\n")


def shorten(text: str, width: int) -> str:
    """Return the text on one line of at most `width` characters, cut in the middle, where names differ least."""
    text = on_one_line(text)
    if len(text) <= width:
        return text
    tail = (width - 1) // 2
    return f"{text[: width - 1 - tail]}…{text[len(text) - tail :]}"


def _escape(match: re.Match[str]) -> str:
    code = ord(match[0])
    return f"\\x{code:02x}" if code < 256 else f"\\u{code:04x}"  # noqa: PLR2004  # the two forms Python has
