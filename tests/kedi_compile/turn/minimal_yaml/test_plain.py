"""Values as plain ones: what is kept, what is converted, what is left out, and what is refused."""

import datetime as dt
import re
from collections import OrderedDict, UserDict, UserString, deque, namedtuple
from dataclasses import dataclass, field
from decimal import Decimal
from enum import Enum, IntEnum, StrEnum
from pathlib import PurePosixPath
from types import MappingProxyType
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel, Field, model_serializer

from kedi_compile import TurnCompileError
from kedi_compile.turn.minimal_yaml.plain import LEAVES, Members, is_blank, plain

NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)


class Colour(StrEnum):
    """Members that are texts."""

    RED = "red"


class Size(IntEnum):
    """Members that are numbers."""

    BIG = 3


class Shape(Enum):
    """Members that are neither."""

    ROUND = (1, None)


class Letter(Enum):
    """Members whose values are texts, and that are no texts themselves."""

    A = "a"


class Text(str):
    """A text of a class of its own."""

    __slots__ = ()

    def __str__(self) -> str:
        return "another text"


class Count(int):
    """A number of a class of its own."""

    def __int__(self) -> int:
        return 0


class Moment(dt.datetime):
    """A time of a class of its own."""

    def isoformat(self, *_: Any) -> str:
        return "noon"


class Day(dt.date):
    """A date of a class of its own."""


class Row(list[int]):
    """A list of a class of its own."""


@dataclass(frozen=True)
class Point:
    """A record of plain fields."""

    x: int
    tags: tuple[str, ...] = ()
    note: Any = field(default=None, repr=False)


class Model(BaseModel):
    """A model with a field that JSON has no type for."""

    price: Decimal
    note: str | None = None


class Aliased(BaseModel):
    """A model whose field has another name outside."""

    price: int = Field(alias="cost")


Pair = namedtuple("Pair", "a b")  # noqa: PYI024  # a tuple of a derived kind


@pytest.mark.parametrize("value", ["a", 1, True, 1.5, b"a", dt.date(2026, 1, 2), NOON, None])
def test_plain_values_are_kept(value: Any) -> None:
    """What can be written is handed on as it is."""
    assert plain(value, "it") is value
    assert type(value) in {*LEAVES, int}


CONVERTED: list[tuple[Any, Any]] = [
    (Text("a"), "a"),
    (Count(7), 7),
    (Colour.RED, "red"),
    (Size.BIG, 3),
    (Shape.ROUND, (1,)),
    (bytearray(b"a"), b"a"),
    (PurePosixPath("/a/b"), "/a/b"),
    (Decimal("1.50"), "1.50"),
    (UUID(int=1), "00000000-0000-0000-0000-000000000001"),
    (dt.timedelta(hours=1), "PT1H"),
    (dt.time(12, 30), "12:30:00"),
    (Moment(2026, 1, 2, 12, tzinfo=dt.UTC), NOON),
    (Day(2026, 1, 2), dt.date(2026, 1, 2)),
    (UserString("a"), "a"),
    (Point(1, ("a",)), {"x": 1, "tags": ("a",)}),
    (Model(price=Decimal("1.5")), {"price": "1.5"}),
    (Aliased(cost=2), {"price": 2}),
    (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
    (MappingProxyType({"a": 1}), {"a": 1}),
    (Row([1]), [1]),
    (deque([1]), [1]),
    (range(2), [0, 1]),
    (Pair(1, 2), (1, 2)),
    ({"a": [Point(1), {"b": Colour.RED}]}, {"a": [{"x": 1}, {"b": "red"}]}),
]
"""Values of other types, and the plain form of each."""


@pytest.mark.parametrize(("value", "form"), CONVERTED)
def test_values_of_other_types_have_a_plain_form(value: Any, form: Any) -> None:
    """Members, records, models, derived containers and numbers beyond JSON become plain data."""
    found = plain(value, "it")

    assert found == form
    assert type(found) is type(form)


@pytest.mark.parametrize("value", [None, "", " \t\n\u2003", [], (), {}, [None], {"a": {"b": ["", {}]}}, set()])
def test_empty_parts_are_left_out_at_any_depth(value: Any) -> None:
    """None, blank text and empty containers go, and so does a container that became empty by it."""
    assert plain({"kept": 1, "gone": value}, "it") == {"kept": 1}
    assert plain([value, 1, (value,)], "it") == [1]


@pytest.mark.parametrize("value", [0, 0.0, False, ".", b""])
def test_zero_and_false_are_values(value: Any) -> None:
    """What is falsy and still tells something stays."""
    assert plain({"a": [value]}, "it") == {"a": [value]}


def test_keys_are_not_left_out() -> None:
    """An empty text and None are keys like others, in their order."""
    assert list(plain({"": 1, None: 2, "a": 3, 0: 4}, "it")) == ["", None, "a", 0]


def test_nothing_is_left_out_without_pruning() -> None:
    """An example of a response shows its empty parts."""
    value: dict[str, Any] = {"a": None, "b": [""], "c": {}}

    assert plain(value, "it", prune=False) == value


def test_a_set_is_put_in_an_order_of_its_own() -> None:
    """The order does not depend on hashes, also where types differ."""
    found = plain({"b", "a", 2, 10, "", None, (1, 2)}, "it")

    assert isinstance(found, Members)
    assert found == (2, 10, "a", "b", (1, 2))


def test_a_set_of_records_has_a_plain_form() -> None:
    """Members that become mappings are told as tuples of pairs, for a set holds no mapping."""
    assert plain({Point(1, ("a",))}, "it") == ((("x", 1), ("tags", ("a",))),)


def test_keys_of_other_types_become_plain() -> None:
    """A key is converted as a value is."""
    assert plain({Colour.RED: 1, UUID(int=1): 2, Point(1): 3}, "it") == {
        "red": 1,
        "00000000-0000-0000-0000-000000000001": 2,
        (("x", 1), ("tags", ()), ("note", None)): 3,
    }


def test_a_part_of_a_key_is_never_left_out() -> None:
    """Two keys that differ in an empty part stay two."""
    assert plain({(1, None): "v", (1, ""): "w"}, "it") == {(1, None): "v", (1, ""): "w"}


class Tagged(BaseModel):
    """A model with a set."""

    tags: set[str]


def test_a_model_keeps_its_sets_in_their_order() -> None:
    """What pydantic writes as a list would be in hash order."""
    assert plain(Tagged(tags={"b", "a", "c"}), "it") == {"tags": Members(["a", "b", "c"])}


def test_a_set_may_hold_what_is_not_hashable() -> None:
    """The items of a mapping are such a set."""
    assert plain({"x": [1]}.items(), "it") == (("x", (1,)),)


def test_a_container_is_never_shared() -> None:
    """The plain form may be changed without changing the value, and the other way round."""
    value = {"a": [1], "b": (2, [3])}
    found = plain(value, "it")
    found["a"].append(4)
    found["b"][1].append(5)

    assert value == {"a": [1], "b": (2, [3])}


def test_a_container_may_be_met_twice() -> None:
    """A value that is shared is no value that holds itself."""
    shared = [1]

    assert plain([shared, {"a": shared}], "it") == [[1], {"a": [1]}]


def refusal(value: Any) -> TurnCompileError:
    """Return the error a value is refused with."""
    with pytest.raises(TurnCompileError) as caught:
        plain(value, "Context")
    return caught.value


class Opaque:
    """An object without a plain form."""


@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        (Opaque(), "is a Opaque, which cannot be written ("),
        (print, "is a builtin_function_or_method, which cannot be written ("),
        (int, "is <class 'int'>, which cannot be written; use plain data"),
        (Point, "is <class '"),
        (iter([1]), "is <list_iterator object at "),
        ((number for number in range(2)), "is <generator object "),
    ],
)
def test_a_value_without_a_plain_form_is_refused_with_the_way_to_it(value: Any, flaw: str) -> None:
    """Objects, classes and iterators are not guessed at; an iterator would be used up by looking."""
    error = refusal([1, {"output": [value]}])

    assert str(error).startswith(f"The value at Context[1].output[0] {flaw}")
    assert error.path == "Context[1].output[0]"


def test_the_way_to_a_field_and_a_key_is_named() -> None:
    """Fields of records, and keys that are refused themselves, are steps of the way."""
    assert refusal({"a": Point(1, note=[Opaque()])}).path == "Context.a.note[0]"
    assert re.fullmatch(r"Context\[<.*Opaque object at .*>\]", str(refusal({Opaque(): 1}).path))


def test_a_value_that_holds_itself_is_refused() -> None:
    """There is no end to writing it, whichever container it holds itself through."""
    endless: list[Any] = []
    endless.append((endless,))
    mapping: dict[str, Any] = {}
    mapping["k"] = [mapping]

    assert str(refusal(endless)) == "The value at Context[0][0] holds itself"
    assert str(refusal({"a": mapping})) == "The value at Context.a.k[0] holds itself"


def test_a_value_that_is_nested_too_deeply_is_refused() -> None:
    """A hundred thousand levels are an error of the value and no crash; the way is shown in part."""
    value: list[Any] = [1]
    for _ in range(100_000):
        value = [value]
    error = refusal(value)

    assert str(error) == f"The value at Context{'[0]' * 19}... is nested too deeply to be written"


def test_two_keys_that_are_written_alike_are_refused() -> None:
    """Neither of two values may be lost."""
    error = refusal({"a": {Letter.A: 1, "a": 2}, "b": 3})

    assert str(error) == "The value at Context.a has two keys that are both written 'a'"


@pytest.mark.parametrize(("value", "empty"), [(None, True), ("\u00a0", True), ([], True), ((), True), ({}, True)])
def test_what_is_blank_is_told_of_plain_values(value: Any, empty: bool) -> None:
    """Blank is what Unicode calls white space."""
    assert is_blank(value) is empty


@pytest.mark.parametrize("value", ["\u200b", 0, False, b"", [None]])
def test_what_is_not_empty(value: Any) -> None:
    """A character without width is a character, and a list with an empty item is not looked into."""
    assert not is_blank(value)


class Broken(UserDict[str, int]):
    """A mapping whose own code fails."""

    def items(self) -> Any:
        raise ZeroDivisionError("of its own")


class Endless:
    """An iterator that cannot even be shown."""

    def __iter__(self) -> "Endless":
        return self

    def __next__(self) -> int:
        return 1

    def __repr__(self) -> str:
        raise ZeroDivisionError("of its own")


class Secret(BaseModel):
    """A model that fails to be written."""

    price: int

    @model_serializer
    def refuse(self) -> Any:
        raise LookupError("of its own")


@pytest.mark.parametrize(
    ("value", "flaw"),
    [
        (Broken(), "cannot be read (ZeroDivisionError: of its own)"),
        (Endless(), "cannot be read (ZeroDivisionError: of its own)"),
        (Secret(price=1), "is a Secret, which cannot be written ("),
    ],
    ids=["mapping", "iterator", "model"],
)
def test_what_a_values_own_code_raises_is_a_refusal(value: Any, flaw: str) -> None:
    """Any exception is told with the way to the value."""
    error = refusal({"a": [1, value]})

    assert str(error).startswith(f"The value at Context.a[1] {flaw}")
    assert error.path == "Context.a[1]"


@pytest.mark.parametrize(
    "value", [10**4300, -(10**4300), Count(10**4300), 10**5_000], ids=["first", "negative", "derived", "longer"]
)
def test_a_number_of_too_many_digits_is_refused(value: int) -> None:
    """Python itself would refuse to write it, without saying where it stands."""
    error = refusal({"a": [value]})

    assert str(error) == "The value at Context.a[0] has more than 4300 digits"
    assert error.path == "Context.a[0]"


@pytest.mark.parametrize("value", [10**4300 - 1, 1 - 10**4300], ids=["above", "below"])
def test_a_number_of_as_many_digits_as_python_writes_is_kept(value: int) -> None:
    """The limit is Python's own."""
    assert plain([value], "it") == [value]
    assert len(str(abs(value))) == 4300


@pytest.mark.parametrize(
    "value",
    [{Letter.A, "a"}, {(1, None), (1,)}, frozenset({UUID(int=1), str(UUID(int=1))})],
    ids=["member", "part", "id"],
)
def test_two_members_that_are_written_alike_are_refused(value: Any) -> None:
    """A set that would hold a member twice is no set."""
    error = refusal({"a": value})

    assert str(error) == "The value at Context.a has two members that are written alike"
    assert error.path == "Context.a"
