"""The layout of everyday values: mappings with words as keys, lists, texts, numbers and dates.

An emitter decides each line by looking back and ahead; for values of these few types the line follows from the value
alone, in a tenth of the time. What is not of them (a set, bytes, a key of several lines, a text that ends in empty
lines) is left to the emitter, the whole document with it. The tests hold both to the same bytes.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable
from functools import lru_cache
from math import isfinite
from typing import Any

from .scalars import (
    BREAKS,
    double_quoted,
    has_break,
    indented,
    is_hard,
    is_read_as_text,
    literal_hints,
    may_be_unquoted,
    single_quoted,
)

_LONGEST_KEY = 100
"""A longer key may need a line of its own."""


class NeedsEmitter(Exception):
    """The value is not everyday: an answer to the caller, and no error."""


def write(value: Any) -> str:
    """Return a mapping or list that is not empty as block YAML.

    Raises:
        NeedsEmitter: the value, or a part of it, is of another kind.
    """
    if type(value) not in _BLOCKS or not value:
        raise NeedsEmitter
    return f"{_block(value, 0)}\n"


def _block(value: Any, column: int) -> str:
    if (block := _BLOCKS.get(type(value))) is not None and value:
        return block(value, column)
    return _scalar(value, column)


def _mapping(value: dict[Any, Any], column: int) -> str:
    lines = [f"{_key(key)}:{_behind_key(item, column)}" for key, item in value.items()]
    return ("\n" + " " * column).join(lines)


def _behind_key(value: Any, column: int) -> str:
    kind = type(value)
    if kind is dict and value:
        return "\n" + " " * (column + 2) + _mapping(value, column + 2)
    if kind in (list, tuple) and value:
        return "\n" + " " * column + _sequence(value, column)
    return f" {_scalar(value, column + 2)}"


def _sequence(value: list[Any] | tuple[Any, ...], column: int) -> str:
    return ("\n" + " " * column).join([f"- {_block(item, column + 2)}" for item in value])


_BLOCKS: dict[type, Callable[[Any, int], str]] = {dict: _mapping, list: _sequence, tuple: _sequence}


def _key(key: Any) -> str:
    if type(key) is str and 0 < len(key) <= _LONGEST_KEY:
        return _short_key(key)
    raise NeedsEmitter


@lru_cache(maxsize=1024)
def _short_key(key: str) -> str:
    if has_break(key):
        raise NeedsEmitter
    return _line(key, 0)


def _scalar(value: Any, column: int) -> str:
    if (scalar := _SCALARS.get(type(value))) is not None:
        return scalar(value, column)
    raise NeedsEmitter


def _text(text: str, column: int) -> str:
    return _lines(text, column) if "\n" in text else _line(text, column)


def _number(value: float) -> str:
    if not isfinite(value):
        raise NeedsEmitter
    text = repr(value)
    return text.replace("e", ".0e", 1) if "." not in text else text


def _line(text: str, column: int) -> str:
    if not text:
        return "''"
    if is_hard(text):
        return f'"{double_quoted(text)}"'
    if may_be_unquoted(text) and is_read_as_text(text):
        return text
    if has_break(text):
        raise NeedsEmitter
    return f"'{single_quoted(text, column)}'"


def _lines(text: str, column: int) -> str:
    if is_hard(text) or text[-1] == " ":
        return f'"{double_quoted(text)}"'
    hints = literal_hints(text)
    if hints.endswith("+") or text[-1] in BREAKS[1:]:
        raise NeedsEmitter
    body = indented(text.removesuffix("\n"), column)
    return f"|{hints}\n{body}"


def _time(text: str) -> str:
    """A date or time as the emitter writes it, unless it would have to say which type the text is."""
    if is_read_as_text(text):
        raise NeedsEmitter
    return text


_SCALARS: dict[type, Callable[[Any, int], str]] = {
    str: _text,
    int: lambda value, _: str(value),
    float: lambda value, _: _number(value),
    dt.date: lambda value, _: _time(value.isoformat()),
    dt.datetime: lambda value, _: _time(value.isoformat(" ")),
    bool: lambda value, _: "true" if value else "false",
    type(None): lambda *_: "null",
}
