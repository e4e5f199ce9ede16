"""The compiler on every case of the oracle data, and the renderer on every row of its table."""

import datetime as dt
from collections import OrderedDict, namedtuple
from decimal import Decimal
from enum import Enum, IntEnum
from pathlib import PurePosixPath
from typing import Any
from uuid import UUID

import pytest
from pydantic import BaseModel

from kedi_compile import TurnCompileError
from kedi_compile.turn import compile_chat_request, provider_messages
from kedi_compile.turn.minimal_yaml import minimal_yaml
from turn_vectors import FILE, WITHOUT, Vector, vectors, yaml_rows

pytestmark = pytest.mark.skipif(FILE is None, reason=WITHOUT)

ERRORS: dict[str, type[Exception]] = {"ValueError": ValueError, "TypeError": TypeError}


def name(vector: Vector) -> str:
    """Name a case in a test's id."""
    return vector.name


@pytest.mark.parametrize("vector", [one for one in vectors() if one.error is None], ids=name)
def test_a_turn_compiles_to_the_measured_payload(vector: Vector) -> None:
    """The messages are those of the live path where the specification keeps them, else those it asks for."""
    compiled = compile_chat_request(vector.branch, vector.request)

    assert [vector.comparable(message) for message in provider_messages(compiled)] == vector.payload
    assert dict(compiled.provider_kwargs) == vector.request.provider_kwargs


@pytest.mark.parametrize("vector", [one for one in vectors() if one.error is not None], ids=name)
def test_a_malformed_turn_is_refused(vector: Vector) -> None:
    """The error has the class the specification names, and its text where it fixes one."""
    with pytest.raises(TurnCompileError) as caught:
        compile_chat_request(vector.branch, vector.request)

    assert isinstance(caught.value, ERRORS[str(vector.error)])
    assert vector.error_text in {None, str(caught.value)}


@pytest.mark.parametrize(
    "row", [row for row in yaml_rows() if row["kind"] == "json"], ids=lambda row: str(row["value"])
)
def test_a_value_is_written_as_the_table_says(row: dict[str, Any]) -> None:
    """Every byte of a JSON value's text is the table's."""
    assert minimal_yaml(row["value"]) == row["text"]


class _Member(Enum):
    A = "a"


class _TextMember(str, Enum):  # noqa: UP042  # the row's
    A = "a"


class _Number(IntEnum):
    A = 1


class _Text(str):
    __slots__ = ()


class _Model(BaseModel):
    a: int = 1


_Pair = namedtuple("_Pair", "a b")  # noqa: PYI024  # a tuple of a derived kind
_SHARED = {"a": 1}
_ENDLESS: list[Any] = []
_ENDLESS.append(_ENDLESS)

VALUES: dict[str, Any] = {
    "{'k': float('nan')}": {"k": float("nan")},
    "{'k': float('inf')}": {"k": float("inf")},
    "{'k': float('-inf')}": {"k": float("-inf")},
    "{1: 'a', True: 'b', None: 'c', 2.5: 'd'} (1 == True, so one entry)": {1: "a", None: "c", 2.5: "d"},
    "{(1, 2): 'v'}": {(1, 2): "v"},
    "{'k': (1, None, 'a')}": {"k": (1, None, "a")},
    "{'k': {3}}": {"k": {3}},
    "{'k': frozenset({3})}": {"k": frozenset({3})},
    "{'k': b'abc'}": {"k": b"abc"},
    "{'k': datetime.date(2026,1,2)}": {"k": dt.date(2026, 1, 2)},
    "{'k': datetime.datetime(2026,1,2,3,4,5)}": {"k": dt.datetime(2026, 1, 2, 3, 4, 5)},  # noqa: DTZ001  # the row's
    "{'k': Decimal('1.5')}": {"k": Decimal("1.5")},
    "{'k': UUID(int=1)}": {"k": UUID(int=1)},
    "{'k': PosixPath('/a')}": {"k": PurePosixPath("/a")},
    "{'k': Enum member}": {"k": _Member.A},
    "{'k': str-Enum member}": {"k": _TextMember.A},
    "{'k': IntEnum member}": {"k": _Number.A},
    "{'k': str subclass}": {"k": _Text("a")},
    "{'k': pydantic model}": {"k": _Model()},
    "{'k': a class object}": {"k": int},
    "{'k': namedtuple(1,2)}": {"k": _Pair(1, 2)},
    "{'k': OrderedDict(a=1)}": {"k": OrderedDict(a=1)},
    "7 (bare)": 7,
    "True (bare)": True,
    "None (bare)": None,
    "repeated object [x, x]": [_SHARED, _SHARED],
    "self-referencing list": _ENDLESS,
}
"""The values of the table's rows that JSON cannot hold."""

CONVERTED = {
    "{'k': frozenset({3})}": "k: !!set\n  3: null\n",
    "{'k': Decimal('1.5')}": "k: '1.5'\n",
    "{'k': UUID(int=1)}": "k: 00000000-0000-0000-0000-000000000001\n",
    "{'k': PosixPath('/a')}": "k: /a\n",
    "{'k': Enum member}": "k: a\n",
    "{'k': str-Enum member}": "k: a\n",
    "{'k': IntEnum member}": "k: 1\n",
    "{'k': str subclass}": "k: a\n",
    "{'k': pydantic model}": "k:\n  a: 1\n",
}
"""Rows of which the table holds an error, and for which the normaliser finds a plain form."""


ROWS = [row for row in yaml_rows() if row["kind"] == "python" and not row["value"].endswith("(a bare str argument)")]
"""Without the rows of text that LionAGI's renderer reads as JSON first: nobody hands text to this one."""


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row["value"])
def test_a_python_value_is_written_as_the_table_says(row: dict[str, Any]) -> None:
    """Values beyond JSON are written, converted, or refused with the way to them."""
    value = VALUES[row["value"]]
    text = row.get("text", CONVERTED.get(row["value"]))

    if text is None:
        with pytest.raises(TurnCompileError) as caught:
            minimal_yaml(value, "it")
        assert str(caught.value.path).startswith("it")
    else:
        assert minimal_yaml(value) == text
