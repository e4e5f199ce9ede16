"""Copies and comparisons of payloads of unusual shape: cycles, sharing, large sets, classes made on the fly."""

import gc
from collections.abc import Callable
from typing import Any

import pydantic
import pytest

from kedi_compile.canonical import digest
from kedi_compile.structure import PerClass, clone, same


def _cycle() -> list[Any]:
    value: list[Any] = []
    value.append(value)
    return value


def _shared(times: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(times):
        value = [value, value]
    return value


def _deep(levels: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize("make", [_cycle, lambda: _shared(40), lambda: _deep(250)], ids=["cycle", "shared", "deep"])
def test_a_tangled_payload_is_copied_and_compared(make: Callable[[], list[Any]]) -> None:
    """Cycles, objects that share themselves over and over, and deep nesting come to an end and are the same."""
    value = make()

    copied = clone(value)

    assert copied is not value
    assert same(value, copied)


def test_a_copy_shares_within_itself_what_the_value_shares() -> None:
    """One list that stands twice in a payload is one list in the copy too."""
    inner = [1]

    copied = clone([inner, inner])

    assert copied[0] is copied[1]
    assert copied[0] is not inner


def test_a_change_in_a_tangled_payload_is_seen() -> None:
    """Having met a pair of objects once does not hide a difference elsewhere."""
    value = {"ring": _cycle(), "rows": [[1], [2]]}
    copied = clone(value)

    copied["rows"][1][0] = 3

    assert not same(value, copied)


def test_a_cycle_has_a_digest_that_holds() -> None:
    """A payload that contains itself is content like any other."""
    assert digest(_cycle()) == digest(_cycle())
    assert digest(_cycle()) != digest([[]])


def test_sets_of_different_types_differ() -> None:
    """Items that are equal but of another type are another set."""
    assert same({1, "a"}, {"a", 1})
    assert not same({1}, {True})
    assert not same({1}, {1.0})


def test_a_large_set_is_compared_in_one_pass() -> None:
    """Each item is looked up, not compared with every other one: the count of comparisons stays below two each."""
    compared: list[int] = []

    class Counted(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            compared.append(1)
            return str.__eq__(self, other)

    items = {Counted(f"v{number}") for number in range(500)}
    copied = {Counted(f"v{number}") for number in range(500)}
    compared.clear()

    same(items, copied)

    assert len(compared) < 1_000


def test_a_class_made_on_the_fly_is_forgotten() -> None:
    """What is remembered by class keeps no class alive that nobody else has."""
    for _ in range(20):

        class Passing(pydantic.BaseModel):
            x: int

        clone(Passing(x=1))
        same(Passing(x=1), Passing(x=1))
        digest(Passing(x=1))
    del Passing
    gc.collect()

    left = sum(isinstance(one, type) and one.__name__ == "Passing" for one in gc.get_objects())
    assert left <= 1  # pydantic itself may hold the last one


def test_a_value_by_class_is_of_this_very_class() -> None:
    """A subclass has no value of its own class's making."""
    table: PerClass[str] = PerClass({int: "int"})

    table.put(str, "str")

    assert (table.get(int), table.get(str), table.get(bool)) == ("int", "str", None)
