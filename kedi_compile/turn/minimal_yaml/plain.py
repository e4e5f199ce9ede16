"""Values as plain ones: what a renderer can write, with empty parts left out.

Text, numbers, booleans, None, bytes, dates, lists, tuples, mappings and sets are kept, their subclasses as the plain
type; a set is put in an order of its own. Enum members become their values, dataclasses and models mappings, and what
JSON has no type for (`Decimal`, `UUID`, `Path`, `timedelta`, ...) the text that pydantic writes for it. Anything else
is refused, and the message names the way to it. Source: Turn specification, D2; what is empty is LionAGI's rule.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections import UserString
from collections.abc import Callable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from enum import Enum
from pathlib import PurePath
from typing import Any, NoReturn, TypeVar

from pydantic import BaseModel
from pydantic_core import PydanticSerializationError, to_jsonable_python

from kedi_compile.errors import TurnCompileError

T = TypeVar("T")

LEAVES: frozenset[type] = frozenset({str, float, bool, bytes, type(None), dt.date, dt.datetime})
"""The exact types that are written as they are; so is `int`, up to Python's own limit."""

_MOST_DIGITS = 4300
_TOO_LONG = 10**_MOST_DIGITS


class Members(tuple[Any, ...]):
    """The members of a set in a fixed order: a set's own order changes with every process."""

    __slots__ = ()


def plain(value: Any, root: str, *, prune: bool = True) -> Any:
    """Return a value of plain types alone that shares no container with `value`.

    With `prune`, what is None, blank text or an empty container is left out of every container, and so is a container
    that became empty by it; 0 and False stay. `root` is the name of the place, for messages.

    Raises:
        TurnCompileError: a value has no plain form, holds itself, or two keys become one; `path` is the way to it.
    """
    walk = _Walk(root, prune=prune)
    try:
        return walk.plain(value)
    except TurnCompileError:
        raise
    except RecursionError:
        walk.refuse("is nested too deeply to be written")
    except Exception as exc:  # noqa: BLE001  # a value's own code may raise anything
        walk.refuse(f"cannot be read ({type(exc).__name__}: {exc})")


class _Walk:
    def __init__(self, root: str, *, prune: bool) -> None:
        self._path: list[str] = [root]
        self._prune = prune
        self._open: set[int] = set()

    def refuse(self, flaw: str) -> NoReturn:
        shown, deeper = self._path[:_DEEPEST], self._path[_DEEPEST:]
        path = "".join([*shown, *(["..."] if deeper else [])]).removeprefix(".")
        place = f" at {path}" if path else ""
        raise TurnCompileError(f"The value{place} {flaw}", path=path) from None

    def plain(self, value: Any) -> Any:
        if type(value) in LEAVES:
            return value
        if type(value) is int:
            return value if abs(value) < _TOO_LONG else self.refuse(f"has more than {_MOST_DIGITS} digits")
        if (exact := _CONTAINERS.get(type(value))) is not None:
            return exact(self, value)
        for kind, convert in _CONVERSIONS:
            if isinstance(value, kind):
                return convert(self, value)
        return self.record(value) if _is_record(value) else self.other(value)

    def inside(self, value: Any, build: Callable[[Any], T]) -> T:
        """Build from a container, which must not be found again inside itself."""
        if id(value) in self._open:
            self.refuse("holds itself")
        self._open.add(id(value))
        built = build(value)
        self._open.remove(id(value))
        return built

    def at(self, step: str, value: Any) -> Any:
        self._path.append(step)
        found = self.plain(value)
        self._path.pop()
        return found

    def mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        return self.inside(value, self._mapping)

    def _mapping(self, value: Mapping[Any, Any]) -> dict[Any, Any]:
        made: dict[Any, Any] = {}
        for key, item in value.items():
            name = key if type(key) is str else self._key(key)
            found = self.at(f".{name}", item)
            if self._prune and is_blank(found):
                continue
            if name in made:
                self.refuse(f"has two keys that are both written {name!r}")
            made[name] = found
        return made

    def _key(self, key: Any) -> Any:
        """A key is never left out, and neither is a part of it."""
        pruning, self._prune = self._prune, False
        name = _hashable(self.at(f"[{key!r}]", key))
        self._prune = pruning
        return name

    def sequence(self, value: Sequence[Any]) -> list[Any]:
        return self.inside(value, self._items)

    def tuple(self, value: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(self.inside(value, self._items))

    def set(self, value: AbstractSet[Any]) -> Members:
        members = [_hashable(member) for member in self.inside(value, self._items)]
        if len(set(members)) < len(members):
            self.refuse("has two members that are written alike")
        return Members(sorted(members, key=_place_in_set))

    def _items(self, values: Sequence[Any] | AbstractSet[Any]) -> list[Any]:
        found = [self.at(f"[{place}]", item) for place, item in enumerate(values)]
        return [item for item in found if not is_blank(item)] if self._prune else found

    def record(self, value: Any) -> dict[str, Any]:
        return self.mapping({field.name: getattr(value, field.name) for field in dataclasses.fields(value)})

    def model(self, value: BaseModel) -> Any:
        return self.converted(value, lambda model: model.model_dump(warnings=False))  # what is odd is refused below

    def other(self, value: Any) -> Any:
        if isinstance(value, Iterator | type):
            self.refuse(f"is {value!r}, which cannot be written; use plain data")
        return self.converted(value, to_jsonable_python)

    def converted(self, value: Any, convert: Callable[[Any], Any]) -> Any:
        """Walk what pydantic makes of a value; a model keeps its sets, which would else be lists in hash order."""
        try:
            made = convert(value)
        except (PydanticSerializationError, ValueError, TypeError) as exc:
            self.refuse(f"is a {type(value).__name__}, which cannot be written ({exc}); use plain data")
        return self.plain(made)


_DEEPEST = 20
"""Steps of a path that a message shows."""

_CONTAINERS: dict[type, Callable[[_Walk, Any], Any]] = {dict: _Walk.mapping, list: _Walk.sequence, tuple: _Walk.tuple}
"""The containers that most values are."""

_CONVERSIONS: tuple[tuple[Any, Callable[[_Walk, Any], Any]], ...] = (
    (Enum, lambda walk, value: walk.plain(value.value)),
    (str, lambda _, value: str.__str__(value)),
    (int, lambda walk, value: walk.plain(int.__int__(value))),
    (float, lambda _, value: float.__float__(value)),
    (bytes | bytearray, lambda _, value: bytes(value)),
    (UserString, lambda _, value: str(value)),
    (dt.datetime, lambda _, value: dt.datetime.fromisoformat(dt.datetime.isoformat(value))),
    (dt.date, lambda _, value: dt.date.fromisoformat(dt.date.isoformat(value))),
    (PurePath, lambda _, value: str(value)),
    (BaseModel, _Walk.model),
    (Mapping, _Walk.mapping),
    (tuple, _Walk.tuple),
    (Sequence, _Walk.sequence),
    (AbstractSet, _Walk.set),
)
"""How a value that is no leaf becomes plain, by the first type it is an instance of."""


def is_blank(value: Any) -> bool:
    """Tell whether a plain value is None, text of blanks alone, or an empty container."""
    if isinstance(value, str):
        return not value or value.isspace()
    return value is None or (isinstance(value, dict | list | tuple) and not value)


def _is_record(value: Any) -> bool:
    return dataclasses.is_dataclass(value) and not isinstance(value, type)


def _hashable(value: Any) -> Any:
    """A key or a member of a set: it was hashable, so only a list or mapping made from a record needs another form."""
    if isinstance(value, Members):
        return value
    if isinstance(value, list | tuple):
        return tuple(map(_hashable, value))
    return tuple((key, _hashable(item)) for key, item in value.items()) if isinstance(value, dict) else value


def _place_in_set(member: Any) -> tuple[str, Any]:
    kind = type(member)
    return kind.__name__, member if kind in (str, int, bytes) else repr(member)
