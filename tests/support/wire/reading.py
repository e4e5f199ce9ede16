"""Typed reading of parsed JSON bodies.

A request body is whatever JSON the client sent, so every validator reads it through these functions:
a value of another type reads as empty instead of raising. Nothing here knows a provider.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias, TypeVar

Body: TypeAlias = Mapping[str, object]

T = TypeVar("T")


def text_of(value: object) -> str:
    """Return the value if it is a string, else the empty string."""
    return value if isinstance(value, str) else ""


def mapping_of(value: object) -> Body:
    """Return the value if it is a JSON object, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def mappings_of(value: object) -> tuple[Body, ...]:
    """Return the JSON objects of a list; a list member of another type reads as an empty object."""
    if not isinstance(value, Sequence) or isinstance(value, str):
        return ()
    return tuple(mapping_of(member) for member in value)


def is_blank(value: object) -> bool:
    """Return whether the value has no visible character."""
    return not text_of(value).strip()


def repeated(values: Iterable[T]) -> tuple[T, ...]:
    """Return each value that occurs more than once, in the order of its second occurrence."""
    seen: set[T] = set()
    again: dict[T, None] = {}
    for value in values:
        if value in seen:
            again[value] = None
        seen.add(value)
    return tuple(again)


def with_next(values: tuple[T, ...]) -> Iterator[tuple[T, T | None]]:
    """Yield each value with the one after it, the last one with None."""
    for index, value in enumerate(values):
        yield value, values[index + 1] if index + 1 < len(values) else None


def with_previous(values: tuple[T, ...]) -> Iterator[tuple[T | None, T]]:
    """Yield each value with the one before it, the first one with None."""
    for index, value in enumerate(values):
        yield values[index - 1] if index else None, value


def count_key(value: object, key: str) -> int:
    """Return how often a key with a non-null value occurs anywhere inside a JSON value."""
    return sum(1 for found in _walk(value) if found.get(key) is not None)


def _walk(value: object) -> Iterator[Body]:
    if isinstance(value, Mapping):
        yield value
        for member in value.values():
            yield from _walk(member)
    elif isinstance(value, Sequence) and not isinstance(value, str):
        for member in value:
            yield from _walk(member)
