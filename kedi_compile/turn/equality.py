"""When two values count as equal in a fold: same types and same values, whatever the order of a mapping's keys.

Stricter than `==`, for which `True` is `1`, and looser than `structure.same`, for which the order of keys matters. A
token is hashable, so that a fold of many results takes linear time. Source: Turn specification, D2.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Hashable, Mapping
from collections.abc import Set as AbstractSet
from typing import Any

from .contents import exact
from .minimal_yaml.plain import plain


def token_of(value: Any) -> Hashable:
    """Return a token that two values share only if they are equal.

    A value that holds itself, that cannot be read, or that has no plain form counts as equal to itself alone.
    """
    try:
        return _token(value)
    except Exception:  # noqa: BLE001  # a value's own code may raise anything; rendering it will say so
        return (type(value), id(value))


def _token(value: Any) -> Hashable:
    for kind, token in _TOKENS:
        if isinstance(value, kind):
            return token(value)
    return (type(value), _token(plain(value, type(value).__name__, prune=False)))


def _items(value: Any) -> Hashable:
    return (tuple if isinstance(value, tuple) else list, *map(_token, value))


_TOKENS: tuple[tuple[Any, Callable[[Any], Hashable]], ...] = (
    (str, exact),
    ((bool, bytes, type(None)), lambda value: (type(value), value)),
    (int, lambda value: (type(value), int.__int__(value))),
    (float, lambda value: (float, float.__repr__(value))),
    (dt.date, lambda value: (type(value), value.isoformat())),
    (Mapping, lambda value: ("mapping", frozenset((_token(key), _token(item)) for key, item in value.items()))),
    ((list, tuple), _items),
    (AbstractSet, lambda value: ("set", frozenset(map(_token, value)))),
)
"""What a value of a plain type is compared by, by the first type it is an instance of."""
