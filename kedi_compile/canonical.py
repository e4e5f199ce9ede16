"""Canonical digests: the one meaning of "the same history" across requests, copies and processes.

A digest covers types as well as values, so `1`, `1.0`, `True` and `"1"` differ, and so do a tuple and a list. Texts
are hashed as UTF-8 with surrogates passed through: a history may hold text no encoder accepts. In-process comparison
of two objects at hand is `structure.same`, which is cheaper.
"""

from __future__ import annotations

import hashlib
import struct
from collections.abc import Callable, Iterable
from typing import Any

Sink = Callable[[bytes], None]

_PLAIN: dict[type, bytes] = {type(None): b"N", bool: b"B", int: b"I"}


def digest(value: object, *, ignore: frozenset[str] = frozenset()) -> bytes:
    """Return the 32-byte digest of `value`.

    `ignore` names record fields that are left out at every depth, for bookkeeping that is not content. An object
    without readable state is covered by its type and `repr`, so its digest holds within one process only.
    """
    hasher = hashlib.sha256()
    _feed(value, hasher.update, ignore)
    return hasher.digest()


def combine(digests: Iterable[bytes]) -> bytes:
    """Return the digest of a sequence whose items have the given 32-byte digests, in order."""
    return hashlib.sha256(b"".join(digests)).digest()


def _feed(value: Any, put: Sink, ignore: frozenset[str]) -> None:
    cls = type(value)
    if cls is str:
        _put(b"S", value.encode("utf-8", "surrogatepass"), put)
    elif (tag := _PLAIN.get(cls)) is not None:
        _put(tag, str(value).encode(), put)
    elif cls is float:
        put(b"F" + struct.pack(">d", value))
    elif cls is bytes:
        _put(b"Y", value, put)
    elif cls is list or cls is tuple:
        _feed_items(b"L" if cls is list else b"T", value, put, ignore)
    elif cls is dict:
        _feed_pairs(b"D", value, put, ignore)
    else:
        _feed_object(value, put, ignore)


def _put(tag: bytes, data: bytes, put: Sink) -> None:
    put(tag + struct.pack(">Q", len(data)) + data)


def _feed_items(tag: bytes, items: Any, put: Sink, ignore: frozenset[str]) -> None:
    put(tag + struct.pack(">Q", len(items)))
    for item in items:
        _feed(item, put, ignore)


def _feed_pairs(tag: bytes, pairs: dict[Any, Any], put: Sink, ignore: frozenset[str]) -> None:
    put(tag + struct.pack(">Q", len(pairs)))
    for key, item in pairs.items():
        _feed(key, put, ignore)
        _feed(item, put, ignore)


def _feed_object(value: Any, put: Sink, ignore: frozenset[str]) -> None:
    cls = type(value)
    _put(b"O", f"{cls.__module__}.{cls.__qualname__}".encode(), put)
    if isinstance(value, (set, frozenset)):
        members = sorted(digest(item, ignore=ignore) for item in value)
        _feed_items(b"L", members, put, ignore)
    elif (fields := getattr(value, "__dict__", None)) is not None and not isinstance(value, type):
        _feed_pairs(b"D", {name: item for name, item in fields.items() if name not in ignore}, put, ignore)
    else:
        _put(b"R", repr(value).encode("utf-8", "surrogatepass"), put)
