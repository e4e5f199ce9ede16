"""Refusing: a value of another type, and naming the record that a refusal is about.

The place that finds a fault says what and where inside the record; the step that knows the record adds it.
"""

from __future__ import annotations

from uuid import UUID

from kedi_compile.errors import TurnCompileError


class blaming:  # noqa: N801  # read as a verb: `with blaming(record.id)`
    """Name the record in a `TurnCompileError` raised inside that names none yet; its class and path stay."""

    __slots__ = ("_record_id",)

    def __init__(self, record_id: UUID) -> None:
        self._record_id = record_id

    def __enter__(self) -> None:
        """Nothing is to be done before."""

    def __exit__(self, _kind: object, exc: BaseException | None, _trace: object) -> None:
        if isinstance(exc, TurnCompileError) and not exc.record_ids:
            record_id = self._record_id
            raise type(exc)(f"Record {record_id}: {exc}", record_ids=[record_id], path=exc.path) from exc


def refuse_other(value: object, kinds: type | tuple[type, ...], right: str, path: str | None = None) -> None:
    """Refuse a value that is of none of the kinds, with a sentence of what would be right.

    Raises:
        TurnCompileError: it is of none of them.
    """
    if not isinstance(value, kinds):
        found = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise TurnCompileError(f"{right}, not a {found}", path=path)
