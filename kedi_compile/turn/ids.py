"""Ids of records: read from a UUID or its text, put in an order, and named in a message."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from uuid import UUID

from kedi_compile.errors import TurnCompileError


def record_id(value: object) -> UUID:
    """Return a record's id from a UUID or its text.

    Raises:
        TurnCompileError: the value is neither.
    """
    if isinstance(value, UUID):
        return value
    if isinstance(value, str):
        with suppress(ValueError):
            return UUID(value)
    raise TurnCompileError(f"{value!r} is no record id; it must be a UUID or its text")


def optional_id(value: object) -> UUID | None:
    """Return a record's id, or None for None."""
    return None if value is None else record_id(value)


def ids_of(order: object) -> list[UUID]:
    """Return an order of UUIDs or their texts as UUIDs.

    Raises:
        TurnCompileError: `order` is no sequence, or is used up by reading it, or one of its items is no id.
    """
    if isinstance(order, str | Mapping) or not isinstance(order, Iterable) or iter(order) is order:
        raise TurnCompileError(f"A progression is a sequence of record ids, not a {type(order).__name__}")
    return [record_id(item) for item in order]


def named(ids: Sequence[UUID]) -> str:
    """Name records in a message."""
    return f"{len(ids)} record(s) ({', '.join(map(str, ids))})"
