"""One LangChain message as JSON and back, in the layout of the host's `messages_to_dict`.

The rule: what is written is what the host reads back, so a second writing gives the same bytes. Chunks keep their
class, ids and metadata are kept, bytes are tagged. A tuple comes back as a list, a dataclass or pydantic model as its
plain fields; everything else that is no JSON, and a message of a class of the user's own, is refused. Reading calls
the host's message classes and nothing else. Measured on langchain-core 1.8.
"""

from __future__ import annotations

import base64
import dataclasses
import json
import math
from collections.abc import Iterator, Mapping
from typing import Any, Final

from langchain_core import messages as m
from langchain_core.messages import BaseMessage, messages_from_dict

from kedi_langchain.facts import all_fields, is_history

_CLASSES: Final = frozenset(
    {
        *(m.HumanMessage, m.AIMessage, m.SystemMessage, m.ToolMessage, m.FunctionMessage, m.ChatMessage),
        *(m.HumanMessageChunk, m.AIMessageChunk, m.SystemMessageChunk, m.ToolMessageChunk),
        *(m.FunctionMessageChunk, m.ChatMessageChunk),
    }
)
"""What `messages_from_dict` makes; it tells them apart by their `type`."""

_BYTES: Final = "kedi_compile.bytes"
"""The only key of an object that stands for bytes."""

_ESCAPED: Final = "kedi_compile.object"
"""The only key of an object that wraps one which would read as another."""

_LIMIT: Final = 200
"""How deep a record may be; what Python's own stack allows depends on who calls."""


def dump(message: BaseMessage) -> bytes:
    """Write one message as JSON.

    Raises:
        TypeError: it holds something that JSON cannot carry, or is of a class of the user's own.
    """
    kind = type(message).__name__
    if type(message) not in _CLASSES:
        msg = f"A {kind} cannot be written; only the message classes of langchain-core come back as they are"
        raise TypeError(msg)
    data = _written(message, kind)
    again = _written(load(data), kind)  # the host puts the keys of some fields in an order of its own
    if again != data and _in_order(again) != _in_order(data):
        msg = f"A {kind} cannot be written: the host reads it back as another message"
        raise TypeError(msg)
    return again


def load(data: bytes) -> BaseMessage:
    """Read one message that `dump` wrote.

    Raises:
        ValueError: the data is no JSON of one history message.
    """
    try:
        (message,) = messages_from_dict([_restored(json.loads(data))])
    except Exception as error:  # whatever the host's classes raise for fields that are none of theirs
        msg = f"The data is no message of LangChain: {str(error)[:200]}"
        raise ValueError(msg) from error
    if not is_history(message):
        msg = f"The data is a {type(message).__name__}, which is no history message"
        raise ValueError(msg)
    return message


def _written(message: BaseMessage, kind: str) -> bytes:
    plain = {"type": message.type, "data": _plain(all_fields(message), kind, 0)}
    try:
        return json.dumps(plain, ensure_ascii=False, separators=(",", ":")).encode()
    except UnicodeEncodeError as error:
        msg = f"A {kind} cannot be written as UTF-8: {error.reason}"
        raise TypeError(msg) from error


def _in_order(data: bytes) -> str:
    return json.dumps(json.loads(data), sort_keys=True)


def _plain(value: Any, path: str, depth: int) -> Any:
    """The value as JSON knows it; `path` says where it stands."""
    if depth > _LIMIT:
        msg = f"{path[:200]} cannot be written: it is nested too deeply"
        raise TypeError(msg)
    if value is None or isinstance(value, (bool, int, str)) or (isinstance(value, float) and math.isfinite(value)):
        return value
    if isinstance(value, bytes):
        return {_BYTES: base64.b64encode(value).decode()}
    if isinstance(value, (list, tuple)):
        return [_plain(item, f"{path}[{place}]", depth + 1) for place, item in enumerate(value)]
    if (fields := _fields(value)) is None:
        msg = f"{path} cannot be written: {type(value).__name__} is neither JSON nor bytes, dataclass or pydantic model"
        raise TypeError(msg)
    return _escaped({_key(name, path): _plain(item, f"{path}.{name}", depth + 1) for name, item in fields})


def _fields(value: Any) -> Iterator[tuple[Any, Any]] | None:
    if isinstance(value, Mapping):
        return iter(value.items())
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return ((field.name, getattr(value, field.name)) for field in dataclasses.fields(value))
    if hasattr(type(value), "model_fields"):
        return iter(_dumped(value).items())
    return None


def _dumped(model: Any) -> dict[str, Any]:
    """A pydantic model as it writes itself."""
    try:
        written: dict[str, Any] = model.model_dump(mode="json")
    except ValueError as error:
        msg = f"A {type(model).__name__} cannot be written: {str(error)[:200]}"
        raise TypeError(msg) from error
    return written


def _key(name: object, path: str) -> str:
    if not isinstance(name, str):
        msg = f"{path} cannot be written: its key {name!r} is no str"
        raise TypeError(msg)
    return name


def _escaped(plain: dict[str, Any]) -> dict[str, Any]:
    return {_ESCAPED: plain} if len(plain) == 1 and not {_BYTES, _ESCAPED}.isdisjoint(plain) else plain


def _restored(plain: Any) -> Any:
    if isinstance(plain, list):
        return [_restored(item) for item in plain]
    if not isinstance(plain, dict):
        return plain
    if len(plain) == 1 and _BYTES in plain:
        return base64.b64decode(plain[_BYTES], validate=True)
    if len(plain) == 1 and isinstance(inner := plain.get(_ESCAPED), dict):
        plain = inner
    return {name: _restored(item) for name, item in plain.items()}
