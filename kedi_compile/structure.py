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
from functools import cached_property
from types import MemberDescriptorType
from typing import Any, TypeVar

T = TypeVar("T")

_BY_VALUE: frozenset[type] = frozenset(
    {str, int, bool, bytes, type(None), type(Ellipsis), type, uuid.UUID, dt.date, dt.timedelta}
)
"""Leaves for which `==` means the same."""

_BY_TEXT: dict[type, Callable[[Any], object]] = {
    float: repr,
    complex: repr,
    decimal.Decimal: repr,
    dt.datetime: lambda value: (value.isoformat(), value.fold),
    dt.time: lambda value: (value.isoformat(), value.fold),
    dt.timezone: repr,
}
"""Leaves that may be equal and yet be written differently (0.0 and -0.0, 1.0 and 1.00, two zones), or be no number."""

LEAVES: frozenset[type] = _BY_VALUE | _BY_TEXT.keys()
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
    """Tell whether `cls` is a pydantic model that keeps its state where `BaseModel` does; a `RootModel` does not."""
    slots = [getattr(cls, slot, None) for slot in _PYDANTIC_SLOTS]
    return all(isinstance(slot, MemberDescriptorType) for slot in slots) and not _copies_itself(cls)


def _copies_itself(cls: type) -> bool:
    """Whether a class has its own idea of its state or of a deep copy; pydantic's own base classes do not count."""
    bases = [base for base in cls.__mro__[:-1] if not base.__module__.startswith("pydantic.")]
    return any(_COPY_HOOKS & vars(base).keys() for base in bases)


_COPY_HOOKS = frozenset({"__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"})


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
    if cls in _BY_VALUE:
        return left == right
    if (text := _BY_TEXT.get(cls)) is not None:
        return text(left) == text(right)
    comparer = _COMPARERS.get(cls) or _comparer_for(cls)
    return comparer(left, right)


def _same_record(left: Any, right: Any) -> bool:
    ours, theirs = left.__dict__, right.__dict__
    if ours.keys() != theirs.keys():
        ours, theirs = record_state(left), record_state(right)
    if ours.keys() != theirs.keys():
        return False
    for name, item in ours.items():
        other = theirs[name]
        if other is not item and not same(item, other):
            return False
    return True


def record_state(record: Any) -> dict[str, Any]:
    """Return a record's fields in their declared order, then what else it holds.

    A field left at its class's default may be absent from the instance, and a cached property that somebody read may
    be present: neither makes a difference.
    """
    cls, held = type(record), vars(record)
    declared = getattr(cls, "__dataclass_fields__", {})
    state = {name: getattr(record, name) for name in declared if name in held or hasattr(cls, name)}
    for name in held:
        if name not in state and not isinstance(getattr(cls, name, None), cached_property):
            state[name] = held[name]
    return state


def _same_model(left: Any, right: Any) -> bool:
    return _same_record(left, right) and all(
        same(getattr(left, slot), getattr(right, slot)) for slot in _PYDANTIC_SLOTS
    )


def _same_sequence(left: Any, right: Any) -> bool:
    if len(left) != len(right):
        return False
    return all(mine is theirs or same(mine, theirs) for mine, theirs in zip(left, right, strict=True))


def _same_dict(left: dict[Any, Any], right: dict[Any, Any]) -> bool:
    """The order counts: it is what a serialiser sends."""
    if len(left) != len(right):
        return False
    for (name, mine), (other, theirs) in zip(left.items(), right.items(), strict=True):
        if not ((name is other or same(name, other)) and (mine is theirs or same(mine, theirs))):
            return False
    return True


def _same_set(left: Any, right: Any) -> bool:
    return len(left) == len(right) and all(
        any(type(item) is type(other) and same(item, other) for other in right) for item in left
    )


def _same_state(left: Any, right: Any) -> bool:
    """Compare what `copy` would carry over; an object that cannot say its state equals only itself."""
    try:
        ours, theirs = left.__reduce_ex__(4), right.__reduce_ex__(4)
    except Exception:  # noqa: BLE001  # whatever a stranger's hook raises, its state cannot be read
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
