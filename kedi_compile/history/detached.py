"""The detached messages a callback works on: cloned one by one, when it first touches them.

A callback that keeps ten groups of a thousand messages pays for ten groups. The clones are remembered, so that what
comes back can be told from foreign objects by identity and compared with its untouched original.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Generic, TypeVar, overload

from kedi_compile.dialect import Dialect

MessageT = TypeVar("MessageT")


class DetachedMessages(Sequence[MessageT], Generic[MessageT]):
    """A read-only sequence of detached copies, one per entry; asking twice gives the same copy.

    The messages themselves may be changed in place; that is then an alteration of their entry.
    """

    def __init__(self, originals: Sequence[MessageT], dialect: Dialect[MessageT]) -> None:
        self._originals = originals
        self._dialect = dialect
        self._copies: dict[int, MessageT] = {}

    def __len__(self) -> int:
        return len(self._originals)

    @overload
    def __getitem__(self, index: int) -> MessageT: ...
    @overload
    def __getitem__(self, index: slice) -> list[MessageT]: ...
    def __getitem__(self, index: int | slice) -> MessageT | list[MessageT]:
        if isinstance(index, slice):
            return [self._copy(place) for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        return self._copy(place)

    def __iter__(self) -> Iterator[MessageT]:
        return map(self._copy, range(len(self)))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (list, tuple, DetachedMessages)):
            return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # as for a list: the items are mutable

    def _copy(self, index: int) -> MessageT:
        copies = self._copies
        if index not in copies:
            copies[index] = self._dialect.clone(self._originals[index])
        return copies[index]

    def touched(self) -> dict[int, int]:
        """Return the entry index of each copy made so far, by the copy's `id()`."""
        return {id(message): index for index, message in self._copies.items()}
