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
from collections.abc import Callable, Iterable
from itertools import count
from struct import pack
from typing import Any

from kedi_compile.structure import record_state

Sink = Callable[[bytes], None]
Ignore = Callable[[type], frozenset[str]]

_FORMAT = 2
_DEPTH = 100
_CONTAINERS = frozenset({list, tuple, dict})
_SCALARS = frozenset({type(None), bool, int, float, str, bytes})
_PLAIN = _SCALARS | _CONTAINERS
_PLAIN_SIZE = type("", (), {}).__basicsize__
_strangers = count()


def ignore_nothing(_cls: type) -> frozenset[str]:
    """Leave no field out: the digest of all there is."""
    return frozenset()


def digest(value: object, *, ignore: Ignore = ignore_nothing) -> bytes:
    """Return the 32-byte digest of `value`.

    `ignore` names, for the class of a record, the fields that are bookkeeping and not content.
    """
    pieces: list[bytes] = []
    _feed(value, pieces.append, ignore)
    return hashlib.sha256(b"".join(pieces)).digest()


def combine(digests: Iterable[bytes]) -> bytes:
    """Return the digest of a sequence whose items have the given 32-byte digests, in order."""
    return hashlib.sha256(b"".join(digests)).digest()


def _feed(value: Any, put: Sink, ignore: Ignore) -> None:
    if _is_plain(value):
        _put(b"M", marshal.dumps(value, _FORMAT), put)
    elif type(value) in _CONTAINERS:
        _feed_container(value, put, ignore)
    else:
        _feed_object(value, put, ignore)


def _is_plain(value: object) -> bool:
    """Whether `value` is plain data all the way down; `marshal` alone would take any buffer for bytes."""
    level = [value]
    for _ in range(_DEPTH):
        if not _PLAIN.issuperset(map(type, level)):
            return False
        level = gc.get_referents(*(item for item in level if type(item) in _CONTAINERS))
        if not level:
            return True
    return False


def _put(tag: bytes, data: bytes, put: Sink) -> None:
    put(tag + pack(">Q", len(data)))
    put(data)


def _feed_container(value: Any, put: Sink, ignore: Ignore) -> None:
    put(type(value).__name__.encode() + pack(">Q", len(value)))
    items = (part for pair in value.items() for part in pair) if type(value) is dict else value
    for item in items:
        _feed(item, put, ignore)


def _feed_object(value: Any, put: Sink, ignore: Ignore) -> None:
    cls = type(value)
    _put(b"O", f"{cls.__module__}.{cls.__qualname__}".encode(), put)
    if cls is dt.datetime or cls is dt.time:  # the zone's class is no content: a loaded one has another
        _put(b"T", f"{value.isoformat()} {value.fold}".encode(), put)
    elif isinstance(value, type):
        _put(b"C", f"{value.__module__}.{value.__qualname__}".encode(), put)
    elif isinstance(value, (set, frozenset)):
        _put(b"S", b"".join(sorted(digest(item, ignore=ignore) for item in value)), put)
    elif type(getattr(value, "__dict__", None)) is dict and not _has_more(cls):
        _feed_fields(record_state(value), ignore(cls), put, ignore)
    else:
        _feed_state(value, put, ignore)


def _feed_fields(state: dict[str, Any], left_out: frozenset[str], put: Sink, ignore: Ignore) -> None:
    """Feed a record's fields, the many scalar ones in one piece."""
    fields = {name: item for name, item in state.items() if name not in left_out}
    scalars = {name: item for name, item in fields.items() if type(item) in _SCALARS}
    _put(b"F", marshal.dumps((list(fields), scalars), _FORMAT), put)
    for name, item in fields.items():
        if name not in scalars:
            _feed(item, put, ignore)


def _has_more(cls: type) -> bool:
    """Whether an instance may hold state beside its `__dict__`: slots, or what a built-in base keeps."""
    known = _HAS_MORE.get(cls)
    if known is None:
        slots = any(vars(base).get("__slots__") for base in cls.__mro__)
        known = _HAS_MORE[cls] = slots or cls.__basicsize__ > _PLAIN_SIZE
    return known


_HAS_MORE: dict[type, bool] = {}


def _feed_state(value: Any, put: Sink, ignore: Ignore) -> None:
    """Feed what `copy` would carry over."""
    try:
        state = value.__reduce_ex__(4)
    except Exception:  # noqa: BLE001  # whatever a stranger's hook raises, its state cannot be read
        _put(b"X", str(next(_strangers)).encode(), put)
        return
    if isinstance(state, str):
        _put(b"G", state.encode(), put)
        return
    rebuild, arguments, *rest = state
    _put(b"R", getattr(rebuild, "__qualname__", repr(rebuild)).encode(), put)
    for part in (arguments, *rest[:1], *(part and list(part) for part in rest[1:3])):
        _feed(part, put, ignore)
