"""Detached copies of native messages, and the strict comparison that proves a copy was not changed.

Both walk plain records (dataclasses, pydantic models) and containers by structure, because the callback's input is
cloned on every request and a general deep copy costs three to five times as much. What is not plain goes to
`copy.deepcopy` and is compared by the state `copy` itself would carry over. Nothing here knows a framework.
"""

from __future__ import annotations

import copy
import dataclasses
import datetime as dt
import decimal
import uuid
from collections.abc import Callable
from enum import Enum
from typing import Any, TypeVar

T = TypeVar("T")

LEAVES: frozenset[type] = frozenset(
    {
        *(str, int, float, bool, bytes, complex, type(None), type(Ellipsis), type),
        *(dt.datetime, dt.date, dt.time, dt.timedelta, dt.timezone),
        *(decimal.Decimal, uuid.UUID),
    }
)
"""Exact types whose values cannot change, so a copy may share them."""

_PYDANTIC_SLOTS = ("__pydantic_fields_set__", "__pydantic_extra__", "__pydantic_private__")


def clone(value: T) -> T:
    """Return a copy of `value` that shares no mutable object with it.

    Strings and other immutable leaves are shared. Raises whatever a payload's own copy hook raises.
    """
    return _clone(value)  # type: ignore[no-any-return]  # the walk is typed by its table


def _clone(value: Any) -> Any:
    cls = type(value)
    if cls in LEAVES:
        return value
    handler = _CLONERS.get(cls) or _cloner_for(cls)
    return handler(value)


def _clone_record(value: Any) -> Any:
    new = object.__new__(type(value))
    fields = new.__dict__
    leaves, cloners = LEAVES, _CLONERS
    for name, item in value.__dict__.items():
        kind = type(item)
        fields[name] = item if kind in leaves else (cloners.get(kind) or _cloner_for(kind))(item)
    return new


def _clone_model(value: Any) -> Any:
    new = object.__new__(type(value))
    object.__setattr__(new, "__dict__", _clone_dict(value.__dict__))
    for slot in _PYDANTIC_SLOTS:
        object.__setattr__(new, slot, _clone(getattr(value, slot)))
    return new


def _clone_list(value: list[Any]) -> list[Any]:
    return [_clone(item) for item in value]


def _clone_dict(value: dict[Any, Any]) -> dict[Any, Any]:
    leaves = LEAVES
    return {
        key if type(key) in leaves else _clone(key): item if type(item) in leaves else _clone(item)
        for key, item in value.items()
    }


def _clone_tuple(value: tuple[Any, ...]) -> tuple[Any, ...]:
    return tuple(_clone(item) for item in value)


def _clone_set(value: set[Any]) -> set[Any]:
    return {_clone(item) for item in value}


def _share(value: Any) -> Any:
    return value


_CLONERS: dict[type, Callable[[Any], Any]] = {
    list: _clone_list,
    dict: _clone_dict,
    tuple: _clone_tuple,
    set: _clone_set,
}


def _cloner_for(cls: type) -> Callable[[Any], Any]:
    """Choose, and remember, how values of `cls` are cloned."""
    cloner: Callable[[Any], Any]
    if issubclass(cls, (Enum, type)):
        cloner = _share
    elif is_plain_record(cls):
        cloner = _clone_record
    elif _is_plain_model(cls):
        cloner = _clone_model
    else:
        cloner = copy.deepcopy
    _CLONERS[cls] = cloner
    return cloner


def is_plain_record(cls: type) -> bool:
    """Tell whether an instance of `cls` is nothing but its `__dict__`: a dataclass without slots or own copy hooks."""
    known = _RECORDS.get(cls)
    if known is None:
        known = _RECORDS[cls] = (
            dataclasses.is_dataclass(cls)
            and not any(vars(base).get("__slots__") for base in cls.__mro__)
            and not issubclass(cls, (list, dict, tuple, set, str, bytes, int, float))
            and not _copies_itself(cls)
        )
    return known


_RECORDS: dict[type, bool] = {}


def _is_plain_model(cls: type) -> bool:
    return (
        all(hasattr(cls, slot) for slot in _PYDANTIC_SLOTS) and hasattr(cls, "model_fields") and not _copies_itself(cls)
    )


def _copies_itself(cls: type) -> bool:
    """Whether a class has its own idea of a deep copy; pydantic's base implementation does not count."""
    own = getattr(cls, "__deepcopy__", None)
    if own is not None and not own.__module__.startswith("pydantic."):
        return True
    return any({"__reduce__", "__reduce_ex__"} & vars(base).keys() for base in cls.__mro__[:-1])


def same(left: object, right: object) -> bool:
    """Tell whether two values have the same types and contents all the way down.

    Stricter than `==`: `1`, `1.0` and `True` differ, and so do `{"a": 1}` and a subclass of dict with that item.
    Not-a-number equals itself.
    """
    if left is right:
        return True
    cls = type(left)
    if cls is not type(right):
        return False
    if cls in LEAVES:
        return left == right or (left != left and right != right)  # noqa: PLR0124  # not-a-number
    comparer = _COMPARERS.get(cls) or _comparer_for(cls)
    return comparer(left, right)


def _same_record(left: Any, right: Any) -> bool:
    ours, theirs = left.__dict__, right.__dict__
    if len(ours) != len(theirs):
        return False
    for name, item in ours.items():
        other = theirs.get(name, _MISSING)
        if other is not item and not same(item, other):
            return False
    return True


def _same_model(left: Any, right: Any) -> bool:
    return _same_record(left, right) and all(
        same(getattr(left, slot), getattr(right, slot)) for slot in _PYDANTIC_SLOTS
    )


def _same_sequence(left: Any, right: Any) -> bool:
    return len(left) == len(right) and all(map(same, left, right))


def _same_dict(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    # The order counts: it is what a serialiser sends.
    return (
        len(left) == len(right)
        and all(map(same, left, right))
        and all(same(item, right[key]) for key, item in left.items())
    )


def _same_set(left: Any, right: Any) -> bool:
    return len(left) == len(right) and all(
        any(type(item) is type(other) and same(item, other) for other in right) for item in left
    )


def _same_state(left: Any, right: Any) -> bool:
    """Compare what `copy` would carry over; an object that cannot say its state equals only itself."""
    try:
        ours, theirs = left.__reduce_ex__(4), right.__reduce_ex__(4)
    except TypeError:
        return False
    if isinstance(ours, str):
        return bool(ours == theirs)
    return _same_sequence(_listed(ours), _listed(theirs))


def _listed(state: tuple[Any, ...]) -> list[Any]:
    """The parts of a `__reduce_ex__` answer, its two iterators (list items, dict items) read out."""
    head, iterators = state[:3], state[3:5]
    return [*head, *(item and list(item) for item in iterators)]


_MISSING = object()

_COMPARERS: dict[type, Callable[[Any, Any], bool]] = {
    list: _same_sequence,
    tuple: _same_sequence,
    dict: _same_dict,
    set: _same_set,
    frozenset: _same_set,
}


def _comparer_for(cls: type) -> Callable[[Any, Any], bool]:
    if issubclass(cls, (Enum, type)):
        comparer: Callable[[Any, Any], bool] = _never
    elif is_plain_record(cls):
        comparer = _same_record
    elif _is_plain_model(cls):
        comparer = _same_model
    else:
        comparer = _same_state
    _COMPARERS[cls] = comparer
    return comparer


def _never(_left: object, _right: object) -> bool:
    """Enum members and classes are the same only by identity, which the caller has ruled out."""
    return False
