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
import sys
import uuid
import weakref
from collections.abc import Callable, Mapping
from enum import Enum
from functools import cached_property
from types import MemberDescriptorType
from typing import Any, Generic, TypeVar

T = TypeVar("T")
V = TypeVar("V")
H = TypeVar("H", bound=Callable[..., Any])

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


class PerClass(Generic[V]):
    """Values by class; a class that was made on the fly is forgotten when nobody else has it."""

    def __init__(self, known: Mapping[type, V] | None = None) -> None:
        self._lasting: dict[type, V] = dict(known or {})
        self._passing: weakref.WeakKeyDictionary[type, V] = weakref.WeakKeyDictionary()

    def get(self, cls: type) -> V | None:
        """Return the value of this very class, or None."""
        found = self._lasting.get(cls)
        return self._passing.get(cls) if found is None else found

    def put(self, cls: type, value: V) -> V:
        """Remember and return the value of a class."""
        module = sys.modules.get(cls.__module__)
        lasting = getattr(module, cls.__qualname__, None) is cls
        (self._lasting if lasting else self._passing)[cls] = value
        return value


def clone(value: T) -> T:
    """Return a copy of `value` that shares no mutable object with it, and shares within itself what `value` shares.

    Strings and other immutable leaves are shared. Raises whatever a payload's own copy hook raises.
    """
    try:
        copied: T = _clone(value, {})
    except RecursionError:
        return copy.deepcopy(value)  # needs fewer frames for each level
    return copied


Memo = dict[int, Any]
Cloner = Callable[[Any, Memo], Any]


def _clone(value: Any, memo: Memo) -> Any:
    cls = type(value)
    if cls in LEAVES:
        return value
    if (known := memo.get(id(value))) is not None:
        return known
    return (_CLONERS.get(cls) or _cloner_for(cls))(value, memo)


def _clone_record(value: Any, memo: Memo) -> Any:
    new = memo[id(value)] = object.__new__(type(value))
    fields = new.__dict__
    for name, item in value.__dict__.items():
        fields[name] = item if type(item) in LEAVES else _clone(item, memo)
    return new


def _clone_model(value: Any, memo: Memo) -> Any:
    new = memo[id(value)] = object.__new__(type(value))
    object.__setattr__(new, "__dict__", _clone(value.__dict__, memo))
    for slot in _PYDANTIC_SLOTS:
        object.__setattr__(new, slot, _clone(getattr(value, slot), memo))
    return new


def _clone_list(value: list[Any], memo: Memo) -> list[Any]:
    new: list[Any] = []
    memo[id(value)] = new
    for item in value:
        new.append(item if type(item) in LEAVES else _clone(item, memo))  # noqa: PERF401  # the memo needs it first
    return new


def _clone_dict(value: dict[Any, Any], memo: Memo) -> dict[Any, Any]:
    new: dict[Any, Any] = {}
    memo[id(value)] = new
    for key, item in value.items():
        new[_clone(key, memo)] = item if type(item) in LEAVES else _clone(item, memo)
    return new


def _clone_tuple(value: tuple[Any, ...], memo: Memo) -> tuple[Any, ...]:
    new = tuple([_clone(item, memo) for item in value])
    return memo.setdefault(id(value), new) if value else new


def _clone_set(value: set[Any], memo: Memo) -> set[Any]:
    return {_clone(item, memo) for item in value}


def _share(value: Any, _memo: Memo) -> Any:
    return value


def _deep_copy(value: Any, memo: Memo) -> Any:
    new = copy.deepcopy(value, memo)
    return memo.setdefault(id(value), new)


_CLONERS: PerClass[Cloner] = PerClass({list: _clone_list, dict: _clone_dict, tuple: _clone_tuple, set: _clone_set})


def _cloner_for(cls: type) -> Cloner:
    """Choose, and remember, how values of `cls` are cloned."""
    return _CLONERS.put(cls, _by_kind(cls, _share, _clone_record, _clone_model, _deep_copy))


def _by_kind(cls: type, single: H, record: H, model: H, other: H) -> H:
    """Choose a handler by what instances of `cls` are: one of a kind, records, pydantic models, or anything else."""
    if issubclass(cls, (Enum, type)):
        return single
    if is_plain_record(cls):
        return record
    return model if _is_plain_model(cls) else other


def is_plain_record(cls: type) -> bool:
    """Tell whether an instance of `cls` is nothing but its `__dict__`: a dataclass without slots or own copy hooks."""
    return (
        dataclasses.is_dataclass(cls)
        and not any(vars(base).get("__slots__") for base in cls.__mro__)
        and not issubclass(cls, (list, dict, tuple, set, str, bytes, int, float))
        and not _copies_itself(cls)
    )


def _is_plain_model(cls: type) -> bool:
    """Tell whether `cls` is a pydantic model that keeps its state where `BaseModel` does; a `RootModel` does not."""
    slots = [getattr(cls, slot, None) for slot in _PYDANTIC_SLOTS]
    return all(isinstance(slot, MemberDescriptorType) for slot in slots) and not _copies_itself(cls)


_COPY_HOOKS = frozenset({"__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"})


def _copies_itself(cls: type) -> bool:
    """Whether a class has its own idea of its state or of a deep copy; pydantic's own base classes do not count."""
    bases = [base for base in cls.__mro__[:-1] if not base.__module__.startswith("pydantic.")]
    return any(_COPY_HOOKS & vars(base).keys() for base in bases)


Pairs = dict[tuple[int, int], tuple[Any, Any]]
Comparer = Callable[[Any, Any, Pairs], bool]


def same(left: object, right: object) -> bool:
    """Tell whether two values have the same types and contents all the way down.

    Stricter than `==`: `1`, `1.0` and `True` differ, and so do `{"a": 1}` and a subclass of dict with that item.
    Not-a-number equals itself.
    """
    return _same(left, right, {})


def _same(left: Any, right: Any, pairs: Pairs) -> bool:
    if left is right:
        return True
    cls = type(left)
    if cls is not type(right):
        return False
    if cls in _BY_VALUE:
        return bool(left == right)
    if (text := _BY_TEXT.get(cls)) is not None:
        return text(left) == text(right)
    pair = (id(left), id(right))
    if pair in pairs:  # proved already, or being proved further up: a cycle or a shared object
        return True
    pairs[pair] = (left, right)  # holds both, so that no `id()` is used twice
    return (_COMPARERS.get(cls) or _comparer_for(cls))(left, right, pairs)


def _same_record(left: Any, right: Any, pairs: Pairs) -> bool:
    ours, theirs = left.__dict__, right.__dict__
    if ours.keys() != theirs.keys():
        ours, theirs = record_state(left), record_state(right)
    if ours.keys() != theirs.keys():
        return False
    for name, item in ours.items():
        other = theirs[name]
        if other is not item and not _same(item, other, pairs):
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


def _same_model(left: Any, right: Any, pairs: Pairs) -> bool:
    if not _same_record(left, right, pairs):
        return False
    return all(_same(getattr(left, slot), getattr(right, slot), pairs) for slot in _PYDANTIC_SLOTS)


def _same_sequence(left: Any, right: Any, pairs: Pairs) -> bool:
    if len(left) != len(right):
        return False
    for mine, theirs in zip(left, right, strict=True):  # `all` would cost a frame for each level
        if mine is not theirs and not _same(mine, theirs, pairs):
            return False
    return True


def _same_dict(left: dict[Any, Any], right: dict[Any, Any], pairs: Pairs) -> bool:
    """The order counts: it is what a serialiser sends."""
    if len(left) != len(right):
        return False
    for (name, mine), (other, theirs) in zip(left.items(), right.items(), strict=True):
        if name is not other and not _same(name, other, pairs):
            return False
        if mine is not theirs and not _same(mine, theirs, pairs):
            return False
    return True


def _same_set(left: Any, right: Any, pairs: Pairs) -> bool:
    """Items that are the same have the same type and hash, so only those are compared."""
    buckets: dict[tuple[type, int], list[Any]] = {}
    for item in right:
        buckets.setdefault((type(item), hash(item)), []).append(item)
    return len(left) == len(right) and all(
        any(_same(item, other, pairs) for other in buckets.get((type(item), hash(item)), ())) for item in left
    )


def _same_state(left: Any, right: Any, pairs: Pairs) -> bool:
    """Compare what `copy` would carry over; an object that cannot say its state equals only itself."""
    ours, theirs = copy_state(left), copy_state(right)
    return ours is not None and theirs is not None and _same(ours, theirs, pairs)


def copy_state(value: Any) -> str | list[Any] | None:
    """Return what `copy` would carry over: a global's name, or how to rebuild the value; None if it cannot be read."""
    try:
        state = value.__reduce_ex__(4)
    except Exception:  # noqa: BLE001  # whatever a stranger's hook raises, its state cannot be read
        return None
    if isinstance(state, str):
        return state
    filled: list[Any] = [*state, None, None, None]
    rebuild, arguments, held, items, pairs = filled[:5]
    return [rebuild, arguments, held or None, list(items or ()), list(pairs or ())]


def _never(_left: object, _right: object, _pairs: Pairs) -> bool:
    """Enum members and classes are the same only by identity, which the caller has ruled out."""
    return False


_COMPARERS: PerClass[Comparer] = PerClass(
    {list: _same_sequence, tuple: _same_sequence, dict: _same_dict, set: _same_set, frozenset: _same_set}
)


def _comparer_for(cls: type) -> Comparer:
    return _COMPARERS.put(cls, _by_kind(cls, _never, _same_record, _same_model, _same_state))
