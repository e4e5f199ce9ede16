"""When two values count as equal in a fold."""

import datetime as dt
import time
from collections import OrderedDict, UserDict, deque
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest
from pydantic import BaseModel

from kedi_compile.turn.equality import token_of


class Marked(str):
    """A text of a class of its own."""

    __slots__ = ()


class Handle:
    """An object that is equal to itself alone."""


class Weather(BaseModel):
    """A model, which cannot be hashed."""

    temp: int


@dataclass
class Place:
    """A record, which cannot be hashed."""

    name: str


def endless() -> list[Any]:
    """Return a list that holds itself."""
    value: list[Any] = []
    value.append(value)
    return value


class Hostile(UserDict[str, int]):
    """A mapping whose own code fails."""

    def items(self) -> Any:
        raise ZeroDivisionError


DAY = dt.date(2026, 1, 2)

DISTINCT: dict[str, list[Any]] = {
    "numbers": [1, True, 1.0, "1", b"1", Decimal(1), None],
    "empty values": [None, False, 0, 0.0, "", b"", [], (), {}, set()],
    "signs": [0.0, -0.0],
    "lists and tuples": [[1, 2], (1, 2), [2, 1], [[1, 2]], [1, True], [1, 1]],
    "mappings": [{"a": 1}, {"a": 2}, {"a": True}, {1: "a"}, {True: "a"}, [["a", 1]]],
    "records": [Weather(temp=1), Weather(temp=2), {"temp": 1}, Place("lake"), Place("pass"), {"name": "lake"}],
    "texts": ["a", "A", "á", "a\u0301"],
    "times": [
        *(DAY, "2026-01-02", dt.datetime(2026, 1, 2, tzinfo=dt.UTC), dt.date(2026, 1, 3)),
        *(dt.datetime(2026, 1, 2), dt.datetime(2026, 1, 2, 1, tzinfo=dt.timezone(dt.timedelta(hours=1)))),  # noqa: DTZ001
    ],
}


@pytest.mark.parametrize("name", DISTINCT)
def test_values_of_other_types_or_content_are_not_alike(name: str) -> None:
    """What a model would see otherwise is never taken for the same, bare or inside."""
    for one, other in combinations(DISTINCT[name], 2):
        assert token_of(one) != token_of(other), (one, other)
        assert token_of({"output": [one]}) != token_of({"output": [other]}), (one, other)


ALIKE: list[tuple[Any, Any]] = [
    ({"a": 1, "b": {"c": [2]}}, {"b": {"c": [2]}, "a": 1}),
    ({"a": 1}, OrderedDict(a=1)),
    ("a", Marked("a")),
    ({1, 2}, frozenset({2, 1})),
    (float("nan"), float("nan")),
    ([Decimal("1.5")], [Decimal("1.5")]),
    (Weather(temp=1), Weather(temp=1)),
    (Place("lake"), Place("lake")),
    (deque([1]), deque([1])),
    (bytearray(b"a"), bytearray(b"a")),
    (dt.date(2026, 1, 2), dt.date(2026, 1, 2)),
    (dt.datetime(2026, 1, 2, tzinfo=dt.UTC), dt.datetime(2026, 1, 2, tzinfo=dt.UTC)),
    ({"on": {DAY: [Place("lake")]}}, {"on": {dt.date(2026, 1, 2): [Place("lake")]}}),
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_equal_values_are_alike(one: Any, other: Any) -> None:
    """The order of keys and the class of a container do not count, at any depth."""
    assert token_of(one) == token_of(other)
    assert token_of({"k": [one]}) == token_of({"k": [other]})


@pytest.mark.parametrize(
    "make", [endless, Handle, lambda: [Handle()], Hostile], ids=["endless", "object", "object inside", "hostile"]
)
def test_what_cannot_be_compared_is_alike_to_itself_alone(make: Any) -> None:
    """A value that holds itself, has no plain form or fails to be read is equal by identity."""
    value, other = make(), make()

    assert token_of(value) == token_of(value)
    assert token_of(value) != token_of(other)


def test_many_results_are_compared_in_linear_time() -> None:
    """Eight times the results of one fold take about eight times as long, and not sixty-four times."""
    assert best_of_five(8_000) / best_of_five(1_000) <= 30


def best_of_five(size: int) -> float:
    """Return the seconds that the tokens of so many results take, compared with each other."""
    results = [{"function": "look", "at": Place(str(number)), "on": DAY, "output": [number]} for number in range(size)]
    taken = []
    for _ in range(5):
        started = time.perf_counter()
        assert len({token_of(item) for item in results}) == size
        taken.append(time.perf_counter() - started)
    return min(taken)
