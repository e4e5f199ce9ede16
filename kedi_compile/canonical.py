"""Canonical digests: the one meaning of "the same history" across requests, copies and processes.

A digest covers types as well as values, so `1`, `1.0`, `True` and `"1"` differ, and so do a tuple and a list. Plain
data is written by `marshal` in its version 2, which keeps exact types, bit patterns of floats and lone surrogates, and
no references; everything else is taken apart by its state. An object whose state cannot be read gets a digest of its
own each time: a change is never missed, an equal object may be. In-process comparison of two objects at hand is
`structure.same`.
"""

from __future__ import annotations

import datetime as dt
import gc
import hashlib
import marshal
from collections.abc import Callable, Iterable, Sequence
from itertools import count
from struct import pack
from typing import Any

from kedi_compile.structure import PerClass, copy_state, record_state

Ignore = Callable[[type], frozenset[str]]

_FORMAT = 2
"""The pieces of a digest begin with a tag: M plain data, O the class of an object, F its scalar fields, S a set, T a
time, C a class, G a global, R how `copy` rebuilds it, B a cycle, H another digest, X what cannot be read, or a
container's type."""

_DEPTH = 100
"""Nesting up to which a payload is taken for plain data; deeper ones are walked."""

_WIDEST = 100_000
"""Values on one level up to which a payload is taken for plain data; beyond, it may share itself over and over."""

_AT_ONCE = 64
"""Values that are looked at together; one that is not plain costs the others of its batch a look of their own."""

_CONTAINERS = frozenset({list, tuple, dict})
_SCALARS = frozenset({type(None), bool, int, float, str, bytes})
_PLAIN = _SCALARS | _CONTAINERS
_PLAIN_SIZE = type("", (), {}).__basicsize__
_HAS_MORE: PerClass[bool] = PerClass()
_strangers = count()


def ignore_nothing(_cls: type) -> frozenset[str]:
    """Leave no field out: the digest of all there is."""
    return frozenset()


def digest(value: object, *, ignore: Ignore = ignore_nothing) -> bytes:
    """Return the 32-byte digest of `value`.

    `ignore` names, for the class of a record, the fields that are bookkeeping and not content. A value that is too
    deep to be walked counts as unreadable.
    """
    try:
        return _Digester(ignore).digest(value)
    except RecursionError:
        return hashlib.sha256(b"X" + str(next(_strangers)).encode()).digest()


def digests(values: Sequence[object]) -> list[bytes]:
    """Return the digest of each value; whether they are plain data, as most are, is asked of many at a time."""
    found: list[bytes] = []
    for start in range(0, len(values), _AT_ONCE):
        some = values[start : start + _AT_ONCE]
        found += map(_plain_digest if _is_plain(some) else digest, some)
    return found


def _plain_digest(value: Any) -> bytes:
    """What a digester makes of plain data, which is a single piece."""
    return hashlib.sha256(_piece(b"M", marshal.dumps(value, _FORMAT))).digest()


def _piece(tag: bytes, data: bytes) -> bytes:
    """Mark and measure one piece, so that no two sequences of pieces read alike."""
    return tag + pack(">Q", len(data)) + data


def combine(digests: Iterable[bytes]) -> bytes:
    """Return the digest of a sequence whose items have the given 32-byte digests, in order."""
    return hashlib.sha256(b"".join(digests)).digest()


class _Digester:
    """Digests one value from the digests of what it holds, each object once."""

    def __init__(self, ignore: Ignore) -> None:
        self._ignore = ignore
        self._pieces: list[bytes] = []
        self._open: dict[int, int] = {}  # what is being written further up, by `id()`: a cycle comes back to it
        self._known: dict[int, tuple[object, bytes]] = {}  # holds the objects, so that no `id()` is used twice

    def digest(self, value: Any) -> bytes:
        """Return the digest of a value of any kind."""
        outer, self._pieces = self._pieces, []
        self.write(value)
        pieces, self._pieces = self._pieces, outer
        return hashlib.sha256(b"".join(pieces)).digest()

    def put(self, tag: bytes, data: bytes) -> None:
        """Write one piece."""
        self._pieces.append(_piece(tag, data))

    def write(self, value: Any) -> None:
        """Write plain data as it is, and the digest of anything else."""
        if _is_plain(value):
            self.put(b"M", marshal.dumps(value, _FORMAT))
        elif (depth := self._open.get(id(value))) is not None:
            self.put(b"B", str(depth).encode())
        else:
            self.put(b"H", self._digest_once(value))

    def _digest_once(self, value: Any) -> bytes:
        if (known := self._known.get(id(value))) is not None:
            return known[1]
        self._open[id(value)] = len(self._open)
        outer, self._pieces = self._pieces, []
        self._container(value) if type(value) in _CONTAINERS else self._object(value)
        pieces, self._pieces = self._pieces, outer
        del self._open[id(value)]
        found = hashlib.sha256(b"".join(pieces)).digest()
        self._known[id(value)] = (value, found)
        return found

    def _container(self, value: Any) -> None:
        self.put(type(value).__name__.encode(), str(len(value)).encode())
        for item in [part for pair in value.items() for part in pair] if type(value) is dict else value:
            self.write(item)

    def _object(self, value: Any) -> None:
        cls = type(value)
        self.put(b"O", f"{cls.__module__}.{cls.__qualname__}".encode())
        if cls is dt.datetime or cls is dt.time:  # the zone's class is no content: a loaded one has another
            self.put(b"T", f"{value.isoformat()} {value.fold}".encode())
        elif isinstance(value, type):
            self.put(b"C", f"{value.__module__}.{value.__qualname__}".encode())
        elif isinstance(value, (set, frozenset)):
            self.put(b"S", b"".join(sorted(map(self.digest, value))))
        elif not _has_more(cls) and type(getattr(value, "__dict__", None)) is dict:
            self._fields(record_state(value), self._ignore(cls))
        else:
            self._state(copy_state(value))

    def _fields(self, state: dict[str, Any], left_out: frozenset[str]) -> None:
        """Write a record's fields, the many scalar ones in one piece."""
        fields = {name: item for name, item in state.items() if name not in left_out}
        scalars = {name: item for name, item in fields.items() if type(item) in _SCALARS}
        self.put(b"F", marshal.dumps((list(fields), scalars), _FORMAT))
        for name, item in fields.items():
            if name not in scalars:
                self.write(item)

    def _state(self, state: str | list[Any] | None) -> None:
        """Write what `copy` would carry over."""
        if state is None:
            self.put(b"X", str(next(_strangers)).encode())
        elif isinstance(state, str):
            self.put(b"G", state.encode())
        else:
            rebuild, *parts = state
            self.put(b"R", getattr(rebuild, "__qualname__", repr(rebuild)).encode())
            for part in parts:
                self.write(part)


def _is_plain(value: object) -> bool:
    """Whether `value` is plain data all the way down; `marshal` alone would take any buffer for bytes."""
    level = [value]
    for _ in range(_DEPTH):
        if len(level) > _WIDEST or not _PLAIN.issuperset(map(type, level)):
            return False
        level = gc.get_referents(*[item for item in level if type(item) in _CONTAINERS])
        if not level:
            return True
    return False


def _has_more(cls: type) -> bool:
    """Whether an instance may hold state beside its `__dict__`: slots, or what a built-in base keeps."""
    known = _HAS_MORE.get(cls)
    if known is None:
        slots = any(vars(base).get("__slots__") for base in cls.__mro__)
        known = _HAS_MORE.put(cls, slots or cls.__basicsize__ > _PLAIN_SIZE)
    return known
