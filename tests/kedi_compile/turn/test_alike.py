"""When two values count as equal in a fold."""

import datetime as dt
import time
from collections import OrderedDict, deque
from dataclasses import dataclass
from decimal import Decimal
from itertools import combinations
from typing import Any

import pytest
from pydantic import BaseModel

from kedi_compile.turn.alike import token_of


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


DISTINCT: dict[str, list[Any]] = {
    "numbers": [1, True, 1.0, "1", b"1", Decimal(1), None],
    "empty values": [None, False, 0, 0.0, "", b"", [], (), {}, set()],
    "signs": [0.0, -0.0],
    "lists and tuples": [[1, 2], (1, 2), [2, 1], [[1, 2]], [1, True], [1, 1]],
    "mappings": [{"a": 1}, {"a": 2}, {"a": True}, {1: "a"}, {True: "a"}, [["a", 1]]],
    "records": [Weather(temp=1), Weather(temp=2), {"temp": 1}, Place("lake"), Place("pass"), {"name": "lake"}],
    "texts": ["a", "A", "á", "a\u0301"],
    "times": [dt.date(2026, 1, 2), "2026-01-02", dt.datetime(2026, 1, 2, tzinfo=dt.UTC)],
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
]


@pytest.mark.parametrize(("one", "other"), ALIKE)
def test_equal_values_are_alike(one: Any, other: Any) -> None:
    """The order of keys and the class of a container do not count, at any depth."""
    assert token_of(one) == token_of(other)
    assert token_of({"k": [one]}) == token_of({"k": [other]})


@pytest.mark.parametrize("make", [endless, Handle, lambda: [Handle()]], ids=["endless", "object", "object inside"])
def test_what_cannot_be_compared_is_alike_to_itself_alone(make: Any) -> None:
    """A value that holds itself, and an object without a plain form, are equal by identity."""
    value, other = make(), make()

    assert token_of(value) == token_of(value)
    assert token_of(value) != token_of(other)


def test_many_results_are_compared_in_linear_time() -> None:
    """Four thousand results of one fold take no sixteen million comparisons."""
    results = [{"function": "look", "arguments": {"at": number}, "output": [number]} for number in range(4_000)]
    started = time.perf_counter()
    found = {token_of(item) for item in results}

    assert len(found) == 4_000
    assert time.perf_counter() - started < 2
