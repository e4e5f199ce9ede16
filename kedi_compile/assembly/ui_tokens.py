"""Command tokens of a user interface, such as `/nothink`: what is stripped, escaped, kept, or refused.

The rule, for a token that stands as a word of its own (`/nothink`, not `docs/nothink` or `/nothink/x`):

    in what a user wrote    alone on a line, or the first or last word     stripped: it was meant for the interface
                            in code (backticks or a fenced block)          kept, byte for byte: it is quoted
                            anywhere else                                  escaped: put into backticks
    in evidence             in a body                                      kept: it stands in a fence, as data
                            in a name (a path, a handle, an anchor)        escaped: nobody vouches for it
    in any other text       outside code                                   refused by the invariant `no_ui_tokens`

A path or word that only looks like one is left alone. Source: Assembly specification, Compiler invariants.
"""

from __future__ import annotations

import itertools
import re
from bisect import bisect_left
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from kedi_compile.assembly.wording import check_text
from kedi_compile.errors import AssemblyError

DEFAULT_UI_TOKENS: Final = ("/nothink", "/no_think", "/no-think", "/think", "/compact", "/clear", "/reset", "/retry")
"""What common chat interfaces take for themselves, in any case of letters."""

_CODE = re.compile(
    r"(?m)^[ \t]*(?:(?P<fence>```++)(?=[^`\n]*$)|(?P<wave>~~~++))[^\n]*(?:\n|\Z)"
    r"(?s:.*?)(?:^[ \t]*(?(fence)(?P=fence)|(?P=wave))[^\n]*$|\Z)"
    r"|(?<!`)(?P<tick>`++)[^\n]{1,2000}?(?<!`)(?P=tick)(?!`)"
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
    """The tokens of an interface; each begins with `/` and is matched in any case of letters.

    Raises:
        AssemblyError: one of them is not one word that begins with `/`.
    """

    tokens: tuple[str, ...] = DEFAULT_UI_TOKENS
    _pattern: re.Pattern[str] = field(init=False, repr=False, compare=False)
    _longest: int = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        for token in self.tokens:
            check_text(token, "A command token")
            if not re.fullmatch(r"/\S*\w", token):
                msg = f"The command token {token!r} is none: it begins with `/`, ends in a letter, and is one word"
                raise AssemblyError(msg)
        names = "|".join(sorted((re.escape(token[1:]) for token in self.tokens), key=len, reverse=True)) or r"(?!)"
        # The slash comes first, so that a text is searched for it and nothing else.
        pattern = re.compile(rf"/(?<![^\s(\[\"'\u201c\u2018*_]/)(?:{names})(?![\w/.-]*\w|/)", re.IGNORECASE)
        object.__setattr__(self, "_pattern", pattern)
        object.__setattr__(self, "_longest", max(map(len, self.tokens), default=0))

    def find(self, text: str) -> list[str]:
        """Return the tokens outside code, in order."""
        return [match[0] for match in self._found(text)]

    def may_be_in(self, texts: Iterable[str]) -> bool:
        """Tell whether there is anything to find, in code or not; a no for many texts is quicker than one for each."""
        return self._pattern.search("\n".join(texts)) is not None

    def clean(self, text: str) -> UserText:
        """Strip and escape the tokens of what a user wrote; without any the text is the same object."""
        if not self.find(text):
            return UserText(text)
        stripped: list[str] = []
        rest = self.escape(self._without_ends(self._without_lines(text, stripped), stripped))
        return UserText(rest.text, tuple(stripped), rest.escaped)

    def escape(self, text: str) -> UserText:
        """Put the tokens outside code into backticks; without any the text is the same object."""
        found = self._found(text)
        if not found:
            return UserText(text)
        pieces, done = [], 0
        for match, ticks in zip(found, _ticks(text, found), strict=True):
            gap = " " if text[match.end() : match.end() + 1] == "`" else ""
            pieces += [text[done : match.start()], f"{ticks}{match[0]}{ticks}{gap}"]
            done = match.end()
        return UserText("".join([*pieces, text[done:]]), escaped=tuple(match[0] for match in found))

    def _found(self, text: str) -> list[re.Match[str]]:
        found = list(self._pattern.finditer(text)) if "/" in text else []
        spans = _code(text) if found else []
        return [match for match in found if not _touches(match.span(), spans)]

    def _without_lines(self, text: str, stripped: list[str]) -> str:
        """Leave out lines that are nothing but one token."""
        kept, spans, end = [], _code(text), 0
        for line in text.splitlines(keepends=True):
            start, end = end, end + len(line)
            if self._pattern.fullmatch(line.strip()) and not _touches((start, end), spans):
                stripped.append(line.strip())
            else:
                kept.append(line)
        return "".join(kept)

    def _without_ends(self, text: str, stripped: list[str]) -> str:
        """Leave out tokens that are the first or the last words."""
        start, end = _stripped(text, 0, len(text))
        whole, spans = (start, end), _code(text)
        while start < end:
            if (stop := self._after_first(text, start, end)) is not None:
                stripped.append(text[start:stop])
                start, end = _stripped(text, stop, end)
            elif (last := self._before_last(text, start, end)) is not None and not _touches((last, end), spans):
                stripped.append(text[last:end])
                start, end = _stripped(text, start, last)
            else:
                break
        return text if (start, end) == whole else text[start:end]

    def _after_first(self, text: str, start: int, end: int) -> int | None:
        match = self._pattern.match(text, start, end)
        return match.end() if match and (match.end() == end or text[match.end()].isspace()) else None

    def _before_last(self, text: str, start: int, end: int) -> int | None:
        word = end
        while word > max(start, end - self._longest) and not text[word - 1].isspace():
            word -= 1
        is_word = word == start or text[word - 1].isspace()
        return word if is_word and self._pattern.fullmatch(text, word, end) else None


def _stripped(text: str, start: int, end: int) -> tuple[int, int]:
    while start < end and text[start].isspace():
        start += 1
    while start < end and text[end - 1].isspace():
        end -= 1
    return start, end


def _ticks(text: str, found: list[re.Match[str]]) -> Iterator[str]:
    """Yield for each token as many backticks as no run of them in its line has."""
    line_end, ticks = -1, ""
    for match in found:
        if match.start() >= line_end:
            line_start = text.rfind("\n", 0, match.start()) + 1
            line_end = text.find("\n", match.end())
            line_end = len(text) if line_end < 0 else line_end
            taken = {len(run) for run in re.findall("`+", text[line_start:line_end])}
            ticks = "`" * next(number for number in itertools.count(1) if number not in taken)
        yield ticks


def _code(text: str) -> list[tuple[int, int]]:
    return [match.span() for match in _CODE.finditer(text)] if "`" in text or "~~~" in text else []


def _touches(span: tuple[int, int], spans: list[tuple[int, int]]) -> bool:
    """Whether a span meets one of those, which ascend and do not overlap."""
    before = bisect_left(spans, (span[1],))
    return before > 0 and spans[before - 1][1] > span[0]
