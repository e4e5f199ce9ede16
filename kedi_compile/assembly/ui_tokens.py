"""Command tokens of a user interface, such as `/nothink`: what is stripped, escaped, kept, or refused.

The rule, for a token that stands as a word of its own (`/nothink`, not `docs/nothink` or `/nothink/x`):

    in what a user wrote    alone on a line, or the first or last word     stripped: it was meant for the interface
                            in code (backticks or a fenced block)          kept, byte for byte: it is quoted
                            anywhere else                                  escaped: put into backticks
    in evidence             anywhere                                       kept: a body stands in a fence, as data
    in any other text       outside code                                   refused by the invariant `no_ui_tokens`

A path or word that only looks like one is left alone. Source: Assembly specification, Compiler invariants.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

DEFAULT_UI_TOKENS: Final = ("/nothink", "/no_think", "/no-think", "/think", "/compact", "/clear", "/reset", "/retry")
"""What common chat interfaces take for themselves, in any case of letters."""

_CODE = re.compile(
    r"(?m)^[ \t]*(?P<fence>```+|~~~+)[^\n]*\n(?s:.*?)(?:^[ \t]*(?P=fence)[^\n]*$|\Z)"
    r"|(?P<tick>`+)(?!`)[^\n]{1,2000}?(?<!`)(?P=tick)(?!`)"
)
"""A fenced block, also one that is never closed, or a span within one line."""


@dataclass(frozen=True)
class UserText:
    """What a user wrote, ready for a model, and the tokens that were `stripped` from it or `escaped` in it."""

    text: str
    stripped: tuple[str, ...] = ()
    escaped: tuple[str, ...] = ()


@dataclass(frozen=True)
class UiTokens:
    """The tokens of an interface; each begins with `/` and is matched in any case of letters."""

    tokens: tuple[str, ...] = DEFAULT_UI_TOKENS
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        names = "|".join(sorted(map(re.escape, self.tokens), key=len, reverse=True)) or r"(?!)"
        pattern = re.compile(rf"(?<![^\s(\[\"'\u201c\u2018*_])(?:{names})(?![\w/.-]*\w|/)", re.IGNORECASE)
        object.__setattr__(self, "_pattern", pattern)

    def find(self, text: str) -> list[str]:
        """Return the tokens outside code, in order."""
        if "/" not in text:
            return []
        return [match[0] for piece, is_code in _pieces(text) if not is_code for match in self._pattern.finditer(piece)]

    def clean(self, text: str) -> UserText:
        """Strip and escape the tokens of what a user wrote; without any the text is the same object."""
        if not self.find(text):
            return UserText(text)
        stripped: list[str] = []
        text = self._without_ends(self._without_lines(text, stripped), stripped)
        escaped: list[str] = []
        out = "".join(piece if is_code else self._escaped(piece, escaped) for piece, is_code in _pieces(text))
        return UserText(out, tuple(stripped), tuple(escaped))

    def _without_lines(self, text: str, stripped: list[str]) -> str:
        """Leave out lines that are nothing but one token."""
        kept = []
        for piece, is_code in _pieces(text):
            lines = [piece] if is_code else piece.splitlines(keepends=True)
            alone = [line for line in lines if not is_code and self._pattern.fullmatch(line.strip())]
            stripped += [line.strip() for line in alone]
            kept += [line for line in lines if not any(line is one for one in alone)]
        return "".join(kept)

    def _without_ends(self, text: str, stripped: list[str]) -> str:
        """Leave out tokens that are the first or the last words."""
        words = text.strip()
        while (found := self._at_start(words)) or (found := self._at_end(words)):
            stripped.append(found)
            cut = len(found)
            words = (words[cut:] if self._at_start(words) else words[:-cut]).strip()
            if not words:
                return ""
        return text if words == text.strip() else words

    def _at_start(self, words: str) -> str | None:
        match = self._pattern.match(words)
        return match[0] if match and (match.end() == len(words) or words[match.end()].isspace()) else None

    def _at_end(self, words: str) -> str | None:
        last = words.rsplit(None, 1)[-1:] or [""]
        match = self._pattern.fullmatch(last[0])
        is_quoted = match is not None and any(
            is_code and piece.endswith(last[0]) for piece, is_code in list(_pieces(words))[-1:]
        )
        return match[0] if match and not is_quoted else None

    def _escaped(self, piece: str, escaped: list[str]) -> str:
        def quote(match: re.Match[str]) -> str:
            escaped.append(match[0])
            return f"`{match[0]}`"

        return self._pattern.sub(quote, piece)


def _pieces(text: str) -> Iterator[tuple[str, bool]]:
    """Yield the pieces of a text in order, and whether each is code."""
    end = 0
    for match in _CODE.finditer(text) if "`" in text or "~~~" in text else ():
        yield text[end : match.start()], False
        yield match[0], True
        end = match.end()
    yield text[end:], False
