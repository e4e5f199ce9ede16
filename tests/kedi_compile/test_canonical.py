"""Canonical digests: equal content has one digest, and nothing else shares it."""

import array
import datetime as dt
import decimal
import enum
import os
import subprocess
import sys
import uuid
from collections import Counter, OrderedDict, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from itertools import combinations
from pathlib import PurePosixPath
from typing import Any

import pydantic
import pytest

from kedi_compile.canonical import combine, digest, digests
from kedi_compile.structure import clone

UUID = uuid.UUID("12345678-1234-5678-1234-567812345678")
NAN = float("nan")


@dataclass
class Record:
    """A record with a field that a JSON encoder would leave out."""

    text: Any = ""
    _url: str = ""
    stamp: int = 0


@dataclass
class OtherRecord:
    """The same fields, another class."""

    text: str = ""
    _url: str = ""
    stamp: int = 0


@dataclass(slots=True)
class Slotted:
    """A record whose `repr` tells nothing."""

    x: Any = field(default=0, repr=False)


class Model(pydantic.BaseModel):
    """A model with extra and private fields."""

    model_config = pydantic.ConfigDict(extra="allow")
    x: int = 0
    _seen: int = pydantic.PrivateAttr(default=0)


class Colour(enum.StrEnum):
    """A member is not its text."""

    RED = "red"
    BLUE = "blue"


class Text(str):
    """A str of a class of its own."""

    __slots__ = ()


class Row(list[int]):
    """A list of a class of its own."""


class Half:
    """A class with slots."""

    __slots__ = ("x",)

    def __init__(self, x: int) -> None:
        self.x = x


class Both(Half):
    """A class with slots and a `__dict__`."""


def deep(levels: int, core: object = 0) -> list[Any]:
    """Return a list nested that many times."""
    value: list[Any] = [core]
    for _ in range(levels):
        value = [value]
    return value


def private(seen: int) -> Model:
    """Return a model that differs in a private attribute only."""
    model = Model(x=1)
    model._seen = seen  # noqa: SLF001  # the subject
    return model


DISTINCT: dict[str, list[Any]] = {
    "empty values": [None, False, 0, 0.0, "", b"", [], (), {}, set(), frozenset()],
    "numbers": [1, 1.0, True, "1", b"1", complex(1), decimal.Decimal(1)],
    "floats": [None, NAN, float("inf"), float("-inf"), 0.0, -0.0],
    "ints over 64 bits": [2**64, 2**64 + 1, -(2**64), 2**63, float(2**64), 10**400],
    "texts": ["a", "A", "á", "a\u0301", "\ud800", "\udfff", "\x00", "", b"a", bytearray(b"a"), Text("a")],
    "uuids": [UUID, str(UUID), UUID.bytes, UUID.int],
    "members": [Colour.RED, Colour.BLUE, "red", "blue", Colour],
    "times": [
        dt.datetime(2026, 1, 1, tzinfo=dt.UTC),
        dt.datetime(2026, 1, 1),  # noqa: DTZ001
        dt.date(2026, 1, 1),
        "2026-01-01",
        "2026-01-01T00:00:00+00:00",
        dt.timedelta(1),
    ],
    "instants": [
        dt.datetime(2026, 1, 1, 12, tzinfo=dt.UTC),
        dt.datetime(2026, 1, 1, 13, tzinfo=dt.timezone(dt.timedelta(hours=1))),
    ],
    "sequences": [[1, 2], (1, 2), [2, 1], [[1, 2]], [1, [2]], [[1], 2], "12", Row([1, 2]), deque([1, 2]), {1, 2}],
    "framing": [["ab", "c"], ["a", "bc"], ["abc"], ["abc", ""], ["", "abc"], [b"ab", b"c"]],
    "dicts": [{"a": 1}, {"a": 2}, {"a": True}, {1: "a"}, [["a", 1]], [("a", 1)], OrderedDict(a=1), Counter(a=1)],
    "key order": [{"a": 1, "b": 2}, {"b": 2, "a": 1}],
    "sets": [{1, 2}, {1}, frozenset({1, 2}), [1, 2]],
    "buffers in a list": [[b"ab"], [bytearray(b"ab")], [array.array("B", b"ab")], [array.array("b", b"ab")], ["ab"]],
    "records": [Record("a"), Record("b"), OtherRecord("a"), {"text": "a", "_url": "", "stamp": 0}],
    "underscored fields": [Record("a", _url="x"), Record("a", _url="y")],
    "slotted records": [Slotted(1), Slotted(2), Slotted(True)],
    "slots beside a dict": [Both(1), Both(2), Half(1)],
    "models": [Model(x=1), Model(x=2), Model.model_validate({"x": 1, "y": 1}), Model.model_validate({"x": 1, "y": 2})],
    "private model fields": [private(1), private(2)],
    "subclass contents": [Text("a"), Text("b"), Row([1]), Row([2]), OrderedDict(a=1), OrderedDict(a=2), Counter(a=2)],
    "exceptions": [ValueError("a"), ValueError("b"), TypeError("a")],
    "partials": [partial(int, 1), partial(int, 2), int],
    "paths": [PurePosixPath("a"), PurePosixPath("b"), "a"],
    "classes": [Record, OtherRecord, "Record"],
    "depth": [deep(300), deep(301), deep(300, core=1)],
}


@pytest.mark.parametrize("name", DISTINCT)
def test_different_values_have_different_digests(name: str) -> None:
    """No two of these may share a digest, bare or inside a record; a change must never pass."""
    for one, other in combinations(DISTINCT[name], 2):
        assert digest(one) != digest(other), (one, other)
        assert digest(Record(text=[one])) != digest(Record(text=[other])), (one, other)


@pytest.mark.parametrize("name", DISTINCT)
def test_a_copy_has_the_digest_of_its_original(name: str) -> None:
    """An equal copy is the same history, whatever it is made of."""
    for value in DISTINCT[name]:
        assert digest(clone(value)) == digest(value), value


def test_the_order_in_a_set_does_not_count() -> None:
    """Sets built in another order are equal and have one digest, although they iterate otherwise."""
    one, other = set([8, 0, 16]), set([16, 8, 0])  # noqa: C405  # two literals would be one object

    assert list(one) != list(other)
    assert digest([one]) == digest([other])


def test_a_digest_is_the_same_in_every_process() -> None:
    """Thirty-two bytes that do not depend on addresses or on the hash seed."""
    program = "from kedi_compile.canonical import digest; print(digest([{'a', 'b', 'c'}, {'k': (1, None)}]).hex())"
    seeds = [os.environ | {"PYTHONHASHSEED": seed} for seed in ("1", "2")]
    printed = [subprocess.check_output([sys.executable, "-c", program], env=env, text=True).strip() for env in seeds]

    assert printed == [digest([{"c", "b", "a"}, {"k": (1, None)}]).hex()] * 2
    assert len(printed[0]) == 64


@pytest.mark.parametrize("text", ["plain", "grüße", "\ud800", "語"])
def test_a_digest_leaves_no_copy_inside_a_text(text: str) -> None:
    """No encoder caches its bytes inside the caller's string, which would double the memory of a history."""
    value = text * 2
    before = sys.getsizeof(value)
    digest(Record(value))

    assert sys.getsizeof(value) == before


def without_stamp(cls: type) -> frozenset[str]:
    """Name the bookkeeping of `Record`."""
    return frozenset({"stamp"}) if cls is Record else frozenset()


def test_ignored_fields_do_not_count() -> None:
    """A record's bookkeeping is left out, and only what is named."""
    first, later, other = Record("a", stamp=1), Record("a", stamp=2), Record("b", stamp=1)

    assert digest(first, ignore=without_stamp) == digest(later, ignore=without_stamp)
    assert digest(first, ignore=without_stamp) != digest(other, ignore=without_stamp)
    assert digest(first) != digest(later)


@pytest.mark.parametrize("payload", [OtherRecord, lambda stamp: {"stamp": stamp}], ids=["record", "dict"])
def test_a_payload_with_an_ignored_name_counts(payload: Callable[..., Any]) -> None:
    """Only the named classes have bookkeeping: a tool's own record or argument of that name is content."""
    one, other = Record([payload(stamp=1)]), Record([payload(stamp=2)])

    assert digest(one, ignore=without_stamp) != digest(other, ignore=without_stamp)


def test_a_digest_leaves_its_value_alone() -> None:
    """Looking at a value, also one that reads lazily, changes nothing in it."""
    value = Record("a")
    before = dict(vars(value))
    digest(value)

    assert vars(value) == before


def test_digests_combine_in_order() -> None:
    """A history's digest covers its messages' digests, their order and their number."""
    one, other = digest("a"), digest("b")

    assert combine([one, other]) == combine(iter([one, other]))
    assert len({combine([one, other]), combine([other, one]), combine([one]), combine([one, one]), combine([])}) == 5


def test_many_digests_are_the_digests_of_each() -> None:
    """Looking at many values at once changes nothing, whatever stands beside what is no plain data."""
    plain = [{"text": "x" * n, "parts": [n, (None, 1.5)]} for n in range(200)]
    deep: object = "end"
    for _ in range(99):
        deep = [deep]

    assert digests(plain) == list(map(digest, plain))
    assert digests([]) == []
    mixed = [*plain[:70], deep, {1, 2}, *plain[70:]]
    assert digests(mixed) == list(map(digest, mixed))
