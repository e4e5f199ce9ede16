"""The bytes of a saved history as the JSON objects of its messages, and whose messages they are.

The rule: a history is a list of messages, or an object with that list under `messages`; the first message says by its
shape which framework wrote it. No framework is imported here; what an object means to one is in `stacks.py`. Whatever
a file holds, it is one history or one `UnreadableHistory` in plain words.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

STANDARD_INPUT: Final = "-"

MOST_BYTES: Final = 32 * 1024 * 1024
"""How much of a history is read at most."""

SHAPES: Final[Mapping[str, frozenset[str]]] = {
    "pydantic-ai": frozenset({"kind", "parts"}),
    "langchain": frozenset({"type", "data"}),
}
"""Stack -> the keys that each of its messages has."""

_OTHER_FORMS: Final[tuple[tuple[frozenset[str], str], ...]] = (
    (frozenset({"lc", "kwargs"}), "it was written by LangChain's `dumps`, write it with `messages_to_dict`"),
    (frozenset({"role", "content"}), "it is a provider's own form, save the framework's messages instead"),
)
"""Keys of messages in forms that are often met -> what to say about them."""

_KINDS: Final[Mapping[type, str]] = {list: "a list", str: "a string", bool: "a boolean", type(None): "null"}

_SHOWN_KEYS: Final = 5


class UnreadableHistory(ValueError):
    """What was given is no saved history; the text says why, and where."""


@dataclass(frozen=True, slots=True)
class SavedHistory:
    """The messages of a history as JSON objects, and the stack that wrote them."""

    stack: str
    messages: tuple[Mapping[str, object], ...]


def read(source: str, stack: str | None = None) -> SavedHistory:
    """Read a saved history from a file, or from standard input where `source` is `-`.

    `stack` is one of `SHAPES`; None finds it out.

    Raises:
        UnreadableHistory: it cannot be read, or is no history.
    """
    return parse(_bytes_of(source), stack)


def parse(data: bytes, stack: str | None = None) -> SavedHistory:
    """Understand the bytes of a saved history.

    Raises:
        UnreadableHistory: they are no history.
    """
    if stack is not None and stack not in SHAPES:
        raise UnreadableHistory(f"`--stack` is {stack!r}; it must be one of {', '.join(SHAPES)}")
    messages = _messages_of(_json_of(data))
    if not messages:
        raise UnreadableHistory("The history is empty: it holds no message")
    found = stack or _stack_of(messages[0])
    return SavedHistory(found, tuple(_checked(index, message, found) for index, message in enumerate(messages)))


def _bytes_of(source: str) -> bytes:
    try:
        if source == STANDARD_INPUT:
            data = sys.stdin.buffer.read(MOST_BYTES + 1)
        else:
            with Path(source).open("rb") as file:
                data = file.read(MOST_BYTES + 1)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) and error.strerror else str(error)
        raise UnreadableHistory(f"{source} cannot be read: {why}") from error
    if len(data) > MOST_BYTES:
        raise UnreadableHistory(f"{source} holds more than {MOST_BYTES:,} bytes, which is the most that is read")
    return data


def _json_of(data: bytes) -> object:
    try:
        return json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise UnreadableHistory(f"The history is no UTF-8: {error.reason} at byte {error.start:,}") from error
    except RecursionError as error:
        raise UnreadableHistory("The history is nested too deeply") from error
    except ValueError as error:
        raise UnreadableHistory(f"The history is no JSON: {error}") from error


def _messages_of(value: object) -> list[object]:
    messages = value["messages"] if isinstance(value, dict) and "messages" in value else value
    if not isinstance(messages, list):
        raise UnreadableHistory(f"The history is {_kind_of(messages)}; it must be a list of messages")
    return messages


def _stack_of(message: object) -> str:
    found = next((name for name, keys in SHAPES.items() if isinstance(message, dict) and keys <= message.keys()), None)
    if found is None:
        expected = " nor ".join(f"of {name} ({_keys(keys)})" for name, keys in SHAPES.items())
        raise UnreadableHistory(f"Message 0 is {_kind_of(message)}, no message {expected}{_hint(message)}")
    return found


def _checked(index: int, message: object, stack: str) -> Mapping[str, object]:
    if not isinstance(message, dict) or not SHAPES[stack] <= message.keys():
        expected = f"a message of {stack} has {_keys(SHAPES[stack])}"
        raise UnreadableHistory(f"Message {index} is {_kind_of(message)}; {expected}{_hint(message)}")
    return message


def _hint(message: object) -> str:
    if not isinstance(message, dict):
        return ""
    return next((f"; {said}" for keys, said in _OTHER_FORMS if keys <= message.keys()), "")


def _kind_of(value: object) -> str:
    """Name a JSON value; an object by its first keys."""
    if isinstance(value, dict):
        more = ", …" if len(value) > _SHOWN_KEYS else ""
        return f"an object with {_keys(list(value)[:_SHOWN_KEYS])}{more}" if value else "an empty object"
    return _KINDS.get(type(value), "a number")


def _keys(names: frozenset[str] | list[str]) -> str:
    return ", ".join(repr(name[:40]) for name in (sorted(names) if isinstance(names, frozenset) else names))
