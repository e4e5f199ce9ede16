"""One Pydantic AI message as JSON and back, by the host's own adapter.

The rule: what is written is what the host reads back, so a second writing gives the same bytes. The host's own losses
stay its own: a tuple, set, date, number type of Python, dataclass or pydantic model that a tool returned comes back as
the plain JSON that the model was sent, and bare bytes as their base64 text; a file keeps its bytes, gains the
identifier the host computes for one that has none, and an image is a `BinaryImage` then. What JSON cannot carry at all
is refused: numbers that are not finite, iterators, objects no serialiser knows, lone surrogates. Measured on
pydantic-ai-slim 2.68.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import is_dataclass
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse


def dump(message: ModelMessage) -> bytes:
    """Write one message as JSON.

    Raises:
        TypeError: it holds something that JSON cannot carry, or is of a class of the user's own.
    """
    if type(message) not in (ModelRequest, ModelResponse):
        msg = f"A {type(message).__name__} cannot be written; only ModelRequest and ModelResponse come back as they are"
        raise TypeError(msg)
    try:
        _refuse_lost(message, "message")
        return _written(load(_written(message)))
    except RecursionError as error:
        msg = f"A {type(message).__name__} cannot be written: it is nested too deeply"
        raise TypeError(msg) from error
    except ValueError as error:
        msg = f"A {type(message).__name__} cannot be written as JSON: {error}"
        raise TypeError(msg) from error


def load(data: bytes) -> ModelMessage:
    """Read one message that `dump` wrote.

    Raises:
        ValueError: the data is no JSON of one message.
    """
    try:
        messages = ModelMessagesTypeAdapter.validate_json(b"[" + data + b"]")
    except RecursionError as error:
        msg = "The data is no message: it is nested too deeply"
        raise ValueError(msg) from error
    except Exception as error:
        msg = f"The data is no message of Pydantic AI: {_shortened(error)}"
        raise ValueError(msg) from error
    if len(messages) != 1:
        msg = f"The data is {len(messages)} messages; a record holds one"
        raise ValueError(msg)
    return messages[0]


def _written(message: ModelMessage) -> bytes:
    return ModelMessagesTypeAdapter.dump_json([message], warnings="none")[1:-1]


def _shortened(error: Exception) -> str:
    """The host lists the whole input, which may be of any size."""
    return str(error)[:200]


def _refuse_lost(value: Any, path: str) -> None:
    """Refuse what the host would write as something else, or use up while it writes.

    Raises:
        ValueError: something in `value` is one of these.
    """
    if isinstance(value, float) and not math.isfinite(value):
        msg = f"{path} is {value!r}, which is no JSON number"
        raise ValueError(msg)
    if isinstance(value, Iterator):
        msg = f"{path} is a {type(value).__name__}, which writing would use up"
        raise ValueError(msg)  # noqa: TRY004  # `dump` says whose fault it is, once for all
    for name, item in _held(value):
        _refuse_lost(item, f"{path}.{name}")


def _held(value: Any) -> Iterable[tuple[object, Any]]:
    if isinstance(value, Mapping):
        return value.items()
    if isinstance(value, (list, tuple, set, frozenset)):
        return enumerate(value)
    if is_dataclass(value) or hasattr(type(value), "model_fields"):
        return getattr(value, "__dict__", {}).items()
    return ()
