"""What is known about messages, remembered for as long as each is provably what it was.

A tool loop asks for the same facts on every request, and a tool or another capability may have changed an old message
in place meanwhile. The check is one look at every reference the messages hold: the saved children of all their
containers, in order, must be the very same objects. Children are held, so no address is used twice; leaves are of
types that cannot change; `gc.get_referents` leaves the string keys of a dict out, so keys are compared beside it; sizes
show an item that moved between neighbouring containers. An equal copy costs a fresh look; a change never passes. A
message that holds anything else (a set, a model, an object of its own class) is described anew each time.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from itertools import chain
from operator import is_
from typing import Any, Generic, TypeVar

from kedi_compile.dialect import Dialect, MessageFacts
from kedi_compile.structure import LEAVES, is_plain_record

MessageT = TypeVar("MessageT")


class Row(Generic[MessageT]):
    """One message as it is; facts are read when first asked for. A changed message gets a new row."""

    __slots__ = ("_digest", "_facts", "_tokens", "message")

    def __init__(self, message: MessageT) -> None:
        self.message = message
        self._facts: MessageFacts | None = None
        self._tokens: int | None = None
        self._digest: bytes | None = None

    def facts(self, dialect: Dialect[MessageT]) -> MessageFacts:
        """The message's facts."""
        if self._facts is None:
            self._facts = dialect.describe(self.message)
        return self._facts

    def tokens(self, count: Callable[[MessageT], int]) -> int:
        """The message's tokens, by the one counter of the run."""
        if self._tokens is None:
            self._tokens = count(self.message)
        return self._tokens

    def digest(self, dialect: Dialect[MessageT]) -> bytes:
        """The message's 32-byte digest."""
        if self._digest is None:
            self._digest = dialect.digest(self.message)
        return self._digest


class _Watch(Generic[MessageT]):
    """Some rows, and all their messages refer to: the containers and their children, flat and in order."""

    __slots__ = ("_children", "_containers", "_dicts", "_keys", "_sizes", "rows")

    def __init__(self, rows: list[Row[MessageT]]) -> None:
        """Look at the messages, level by level.

        Raises:
            TypeError: part of a message cannot be watched.
        """
        self.rows = rows
        self._containers: list[Any] = []
        self._children: list[Any] = []
        self._dicts: list[dict[Any, Any]] = []
        _check_watchable([row.message for row in rows])
        level: list[Any] = [vars(row.message) for row in rows]
        seen: dict[int, Any] = {}
        while level:
            self._containers += level
            children = gc.get_referents(*level)
            self._children += children
            inner = {id(child): child for child in children if type(child) not in LEAVES and id(child) not in seen}
            _check_watchable(inner.values())
            seen |= inner
            self._dicts += [child for child in inner.values() if type(child) is dict]
            level = [child if type(child) in _CONTAINERS else vars(child) for child in inner.values()]
        self._sizes = list(map(len, self._containers))
        self._keys = list(chain.from_iterable(self._dicts))

    def is_unchanged(self) -> bool:
        """Tell whether every container still holds the very same objects in the same places."""
        found = gc.get_referents(*self._containers)
        return (
            len(found) == len(self._children)
            and all(map(is_, found, self._children))
            and list(map(len, self._containers)) == self._sizes
            and all(map(is_, chain.from_iterable(self._dicts), self._keys))
        )


_CONTAINERS = frozenset({list, dict, tuple})


def _check_watchable(values: Iterable[object]) -> None:
    if not all(map(_is_watchable, map(type, values))):
        msg = "A value holds more than its references show"
        raise TypeError(msg)


def _is_watchable(cls: type) -> bool:
    return cls in _CONTAINERS or is_plain_record(cls)


class Memory(Generic[MessageT]):
    """The rows of the history as last seen by one run."""

    def __init__(self, dialect: Dialect[MessageT]) -> None:
        self._dialect = dialect
        self._watches: list[_Watch[MessageT]] = []
        self._unwatched: list[Row[MessageT]] = []

    @property
    def is_used(self) -> bool:
        """Whether anyone has looked at a message yet."""
        return bool(self._watches or self._unwatched)

    def recall(self, messages: Sequence[MessageT]) -> list[Row[MessageT]]:
        """Return one row per message: the known one where the message is unchanged, else a new one.

        The last message, which the host goes on completing, is watched apart from the others.
        """
        known = self._recall_watched({id(message) for message in messages})
        known.update(self._recall_unwatched(messages, known))
        new = {id(message): Row(message) for message in messages if id(message) not in known}
        last = [row for row in new.values() if row.message is messages[-1]]
        self._watch([row for row in new.values() if row not in last])
        self._watch(last)
        known.update(new)
        return [known[id(message)] for message in messages]

    def _recall_watched(self, present: set[int]) -> dict[int, Row[MessageT]]:
        """Return the unchanged rows of present messages; watches of others are made anew without those."""
        whole, loose = [], []
        for watch in self._watches:
            if watch.is_unchanged():
                rows = [row for row in watch.rows if id(row.message) in present]
                whole += [watch] if len(rows) == len(watch.rows) else []
                loose += rows if len(rows) < len(watch.rows) else []
        self._watches = whole
        self._watch(loose)
        return {id(row.message): row for watch in self._watches for row in watch.rows}

    def _recall_unwatched(
        self, messages: Sequence[MessageT], known: dict[int, Row[MessageT]]
    ) -> dict[int, Row[MessageT]]:
        """Return the rows of messages that cannot be watched and still have their digest."""
        rows = {id(row.message): row for row in self._unwatched}
        present = [rows[id(message)] for message in messages if id(message) in rows and id(message) not in known]
        self._unwatched = [row for row in present if self._dialect.digest(row.message) == row.digest(self._dialect)]
        return {id(row.message): row for row in self._unwatched}

    def _watch(self, rows: list[Row[MessageT]]) -> None:
        if not rows:
            return
        try:
            self._watches.append(_Watch(rows))
        except TypeError:
            if len(rows) > 1:
                for row in rows:
                    self._watch([row])
            else:
                rows[0].digest(self._dialect)
                self._unwatched += rows
