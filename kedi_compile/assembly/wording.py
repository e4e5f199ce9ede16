"""Text on its way into a request: normalised, checked, fenced, and digested.

Words that people and programs write for the model (contracts, objectives, frames) are normalised, so that the same
words give the same bytes on every platform. Evidence is data: its bytes stay as they are, inside a fence that nothing
in it can close. Source: Assembly specification, Context budget and rehydration ("actual normalized text sizes").
"""

from __future__ import annotations

import hashlib
import re
import unicodedata
from functools import lru_cache

from kedi_compile.errors import AssemblyError

_FENCES = re.compile(r"`{3,}")


def normalised(text: str) -> str:
    """Return the text with line feeds, composed characters (NFC), and nothing blank at its ends or line ends."""
    plain = text if text.isascii() else unicodedata.normalize("NFC", text)
    lines = plain.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return "\n".join(line.rstrip() for line in lines).strip("\n")


@lru_cache(maxsize=4096)
def comparable(text: str) -> str:
    """Return a text without what two ways of writing it may differ in: case and spacing."""
    return " ".join(text.split()).casefold()


def digest_of(text: str) -> str:
    """Return the sha256 of the text's UTF-8 bytes, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()


def utf8_size(text: str) -> int:
    """Return how many bytes the text has as UTF-8."""
    return len(text) if text.isascii() else len(text.encode())


def fence_of(body: str) -> str:
    """Return a fence that is longer than any in the body."""
    # One character is looked for many times faster than three, and most bodies hold not even that.
    longest = max(map(len, _FENCES.findall(body)), default=2) if "`" in body else 2
    return "`" * (longest + 1)


def fenced(body: str, fence: str = "") -> tuple[str, ...]:
    """Return the body, byte for byte, between two fences longer than any in it, in pieces; `fence` is a known one."""
    fence = fence or fence_of(body)
    return (fence, "\n", body, "" if body.endswith("\n") or not body else "\n", fence)


def check_text(value: object, what: str, *, may_be_blank: bool = False) -> None:
    """Refuse what is no text, blank text, or text that cannot be sent.

    Raises:
        AssemblyError: the message names `what`, and for text that is no UTF-8 the place, 0-based in characters.
    """
    if not isinstance(value, str):
        kind = type(value).__name__
        hint = "; decode it first, for example with errors='replace'" if isinstance(value, (bytes, bytearray)) else ""
        msg = f"{what} is {kind}, and must be str{hint}"
        raise AssemblyError(msg)
    if not may_be_blank and not value.strip():
        msg = f"{what} is blank; give it words, or leave the record out"
        raise AssemblyError(msg)
    _check_encodes(value, what)


def check_texts(values: object, what: str) -> None:
    """Refuse what is no tuple of texts; one str is none, though it is a sequence of them.

    Raises:
        AssemblyError: the message names `what`.
    """
    if not isinstance(values, tuple):
        msg = f"{what} are {type(values).__name__}, and must be a tuple of str"
        raise AssemblyError(msg)
    for place, value in enumerate(values):
        check_text(value, f"{what}, at {place},")


def check_optional(value: object, what: str) -> None:
    """Refuse what is neither None nor text with words.

    Raises:
        AssemblyError: the message names `what`.
    """
    if value is not None:
        check_text(value, what)


def _check_encodes(value: str, what: str) -> None:
    if value.isascii():
        return
    try:
        value.encode()
    except UnicodeEncodeError as error:
        msg = (
            f"{what} cannot be written as UTF-8 at character {error.start}; the bytes it came from are no UTF-8: "
            "decode them with errors='replace', and say so in the record's version or coverage"
        )
        raise AssemblyError(msg) from None
