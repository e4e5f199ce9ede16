"""Detached copies and strict comparison: plain records, models, containers, and everything that is not plain."""

import copy
import datetime as dt
import decimal
import enum
import threading
from collections import OrderedDict, defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import pydantic
import pytest

from kedi_compile.structure import clone, same

T = TypeVar("T")
UTC = dt.UTC
NAN = float("nan")


@dataclass
class Point:
    """A plain record."""

    x: Any = 0
    tags: list[Any] = field(default_factory=list)


@dataclass
class Nested:
    """A record that holds records."""

    inner: Point
    by_name: dict[str, Point]


@dataclass(frozen=True)
class Frozen:
    """A frozen record can still hold a list."""

    tags: list[Any]


@dataclass(slots=True)
class Slotted:
    """A record without `__dict__`, one field hidden from its `repr`."""

    x: Any = 0
    hidden: Any = field(default=0, repr=False)


@dataclass
class Boxed(Generic[T]):
    """A generic record."""

    item: T


@dataclass
class Guarded:
    """A record that leaves its lock out of copies, as `copy` lets it."""

    x: int
    lock: Any = field(default_factory=threading.Lock, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        return {"x": self.x}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__(**state)  # type: ignore[misc]  # starts over, with a lock of its own


class Model(pydantic.BaseModel):
    """A model with extra and private fields."""

    model_config = pydantic.ConfigDict(extra="allow")
    items: list[int] = []
    _seen: list[int] = pydantic.PrivateAttr(default_factory=list)


class Rooted(pydantic.RootModel[list[int]]):
    """A root model keeps part of its state on the class."""


class Plain:
    """An object of a class of its own."""

    def __init__(self, x: Any) -> None:
        self.x = x


class Shared:
    """An object whose deep copy is itself."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "Shared":
        return self


class Unreadable:
    """An object that can be copied, but whose state cannot be read."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "Unreadable":
        return Unreadable()

    def __reduce_ex__(self, protocol: Any) -> Any:
        msg = "no state for you"
        raise RuntimeError(msg)


class Uncopyable:
    """An object that refuses to be copied."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "Uncopyable":
        msg = "cannot copy a connection"
        raise RuntimeError(msg)


class Text(str):
    """A str of a class of its own."""

    __slots__ = ()


class Colour(enum.Enum):
    """Members are compared by identity."""

    RED = 1
    BLUE = 2


VALUES: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "nan": lambda: float("nan"),
    "signalling nan": lambda: decimal.Decimal("sNaN"),
    "complex nan": lambda: complex(float("nan"), 1),
    "list": lambda: [1, [2, "three"]],
    "dict": lambda: {"a": [1], 2: {"b": None}},
    "dict with nan key": lambda: {float("nan"): 1},
    "dict with object key": lambda: {Colour.RED: 1, (1, "a"): 2, frozenset({1}): 3},
    "tuple with list": lambda: (1, [2]),
    "set": lambda: {1, "a", (2, 3)},
    "frozenset": lambda: frozenset({1, "a"}),
    "bytearray": lambda: bytearray(b"ab"),
    "deque": lambda: deque([1, [2]], maxlen=4),
    "ordered dict": lambda: OrderedDict(a=[1], b=2),
    "default dict": lambda: defaultdict(list, a=[1]),
    "record": lambda: Point(1, ["a"]),
    "nested records": lambda: Nested(Point(1), {"p": Point(2, [Point(3)])}),
    "frozen record": lambda: Frozen([1]),
    "slotted record": lambda: Slotted([1], [2]),
    "generic record": lambda: Boxed([1]),
    "guarded record": lambda: Guarded(3),
    "model": lambda: Model.model_validate({"items": [1], "more": [2]}),
    "root model": lambda: Rooted([1]),
    "plain object": lambda: Plain([1, Plain(2)]),
    "exception": lambda: ValueError("a", [1]),
    "subclass of str": lambda: Text("a"),
    "enum member": lambda: Colour.RED,
    "class": lambda: Plain,
    "function": lambda: len,
    "datetime": lambda: dt.datetime(2026, 1, 1, 12, tzinfo=UTC),
    "lone surrogate": lambda: "\ud800",
    "big int": lambda: 10**40,
}

CHANGES: dict[str, tuple[Any, Any]] = {
    "int and bool": (1, True),
    "int and float": (1, 1.0),
    "int and str": (1, "1"),
    "bytes and str": (b"a", "a"),
    "bytes and bytearray": (b"a", bytearray(b"a")),
    "list and tuple": ([1], (1,)),
    "zero and minus zero": (0.0, -0.0),
    "nan and number": (NAN, 1.0),
    "decimals of other length": (decimal.Decimal("1.0"), decimal.Decimal("1.00")),
    "one instant in two zones": (
        dt.datetime(2026, 1, 1, 12, tzinfo=UTC),
        dt.datetime(2026, 1, 1, 13, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    ),
    "both folds of an hour": (dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, fold=1)),  # noqa: DTZ001
    "naive and aware": (dt.datetime(2026, 1, 1), dt.datetime(2026, 1, 1, tzinfo=UTC)),  # noqa: DTZ001
    "complex numbers with nan": (complex(NAN, 1), complex(NAN, 2)),
    "nested value": ({"a": [1, {"b": 2}]}, {"a": [1, {"b": 3}]}),
    "nested type": ({"a": [1]}, {"a": [True]}),
    "key order": ({"a": 1, "b": 2}, {"b": 2, "a": 1}),
    "key type": ({1: "a"}, {True: "a"}),
    "missing key": ({"a": 1}, {"a": 1, "b": 2}),
    "dict and subclass": ({"a": 1}, OrderedDict(a=1)),
    "subclass content": (OrderedDict(a=1), OrderedDict(a=True)),
    "str and subclass": ("a", Text("a")),
    "subclass of str": (Text("a"), Text("b")),
    "set member type": ({1}, {True}),
    "set size": ({1}, {1, 2}),
    "deque length limit": (deque([1], maxlen=2), deque([1], maxlen=3)),
    "record field": (Point(1), Point(2)),
    "record field type": (Point(1), Point(True)),
    "record class": (Point([1]), Frozen([1])),
    "nested record": (Nested(Point(1), {}), Nested(Point(1, ["new"]), {})),
    "hidden slot": (Slotted(1, 2), Slotted(1, 3)),
    "model field": (Model(items=[1]), Model(items=[2])),
    "model extra": (Model.model_validate({"more": 1}), Model.model_validate({"more": 2})),
    "model fields that were set": (Model(items=[]), Model()),
    "root model": (Rooted([1]), Rooted([2])),
    "plain object": (Plain([1]), Plain([2])),
    "exception": (ValueError("a"), ValueError("b")),
    "enum member": (Colour.RED, Colour.BLUE),
    "enum member and value": (Colour.RED, 1),
    "classes": (Plain, Shared),
    "functions": (len, repr),
}


@pytest.mark.parametrize("name", VALUES)
def test_a_clone_is_the_same(name: str) -> None:
    """A copy agrees with its original in type and content, all the way down."""
    value = VALUES[name]()

    assert same(value, clone(value))


@pytest.mark.parametrize("name", VALUES)
def test_two_values_built_alike_are_the_same(name: str) -> None:
    """Sameness is a matter of content, not of identity."""
    assert same([VALUES[name]()], [VALUES[name]()])


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_not_the_same(name: str) -> None:
    """Whatever a serialiser could tell apart is not the same, in either direction and at any depth."""
    one, other = CHANGES[name]

    assert not same(one, other)
    assert not same(other, one)
    assert not same(Point({"deep": [one]}), Point({"deep": [other]}))


def test_private_state_of_a_model_counts() -> None:
    """A model's private attributes are part of it."""
    one, other = Model(items=[1]), Model(items=[1])
    other._seen.append(1)  # noqa: SLF001  # the subject

    assert not same(one, other)


def test_an_extra_attribute_on_a_record_counts() -> None:
    """A record with one more attribute than its fields is another one."""
    one, other = Point(1), Point(1)
    other.note = "forged"  # type: ignore[attr-defined]  # the point of the test

    assert not same(one, other)
    assert not same(other, one)


@pytest.mark.parametrize(
    ("value", "parts"),
    [
        ([[1]], lambda value: [value, value[0]]),
        ({"a": {"b": [1]}}, lambda value: [value, value["a"], value["a"]["b"]]),
        (([1],), lambda value: [value[0]]),
        (Nested(Point(1), {"p": Point(2)}), lambda value: [value, value.inner, value.by_name, value.by_name["p"]]),
        (Frozen([1]), lambda value: [value.tags]),
        (Slotted([1]), lambda value: [value, value.x]),
        (Boxed([1]), lambda value: [value, value.item]),
        (
            Model.model_validate({"items": [1], "more": [2]}),
            lambda value: [value, value.items, value.__pydantic_extra__],
        ),
        (Rooted([1]), lambda value: [value, value.root]),
        (Plain([1]), lambda value: [value, value.x]),
        (OrderedDict(a=[1]), lambda value: [value, value["a"]]),
        (deque([[1]]), lambda value: [value, value[0]]),
        ({1, 2}, lambda value: [value]),
        (bytearray(b"a"), lambda value: [value]),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_clone_shares_nothing_mutable(value: Any, parts: Callable[[Any], list[Any]]) -> None:
    """No container or record of the original is reachable from the copy."""
    copied = clone(value)

    assert not {id(part) for part in parts(value)} & {id(part) for part in parts(copied)}


def test_immutable_leaves_are_shared() -> None:
    """A long text is not copied."""
    text = "long " * 1_000

    assert clone([text])[0] is text


def test_a_clone_leaves_the_original_alone() -> None:
    """Changing a copy in any place changes nothing else."""
    value = Nested(Point(1, ["a"]), {"p": Point(2)})
    before = copy.deepcopy(value)
    copied = clone(value)
    copied.inner.tags.append("b")
    copied.by_name["p"].x = 9
    del copied.by_name["p"]

    assert same(value, before)


def test_a_class_with_its_own_deep_copy_is_asked() -> None:
    """A payload's copy hook decides, also inside plain records."""
    value = Shared()

    assert clone(Point(value)).x is value


def test_what_a_copy_hook_raises_is_raised() -> None:
    """A payload that cannot be copied is no silent reference to the original."""
    with pytest.raises(RuntimeError, match="cannot copy a connection"):
        clone({"connection": Uncopyable()})


def test_a_lock_cannot_be_cloned() -> None:
    """What `copy` refuses is refused here."""
    with pytest.raises(TypeError, match="lock"):
        clone([threading.Lock()])


def test_an_object_that_hides_its_state_is_the_same_as_itself_only() -> None:
    """Where nothing can be read, only identity proves anything; nothing is raised."""
    value = Unreadable()

    assert same([value], [value])
    assert not same([value], [clone(value)])


def test_aliases_may_become_two_objects() -> None:
    """Two references to one list are copied by value, which is what a serialiser sees."""
    shared = [1]

    assert same([shared, shared], clone([shared, shared]))
    assert same([shared, shared], [[1], [1]])
