"""Which record a refusal is about: the step that knows it adds it to what a deeper place found wrong."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from uuid import UUID

from kedi_compile.errors import TurnCompileError


@contextmanager
def blaming(record_id: UUID) -> Iterator[None]:
    """Name the record in every `TurnCompileError` raised inside."""
    try:
        yield
    except TurnCompileError as exc:
        raise TurnCompileError(f"Record {record_id}: {exc}", record_ids=[record_id], path=exc.path) from exc
