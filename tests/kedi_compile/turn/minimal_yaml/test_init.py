"""Minimal YAML: the text of every kind of value, byte for byte."""

import datetime as dt
import subprocess
import sys
from decimal import Decimal
from typing import Any

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.turn.minimal_yaml import minimal_yaml, write


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1, "b": [True, "x"]}, "a: 1\nb:\n- true\n- x\n"),
        ({}, "{}\n"),
        ([], "[]\n"),
        ((), "[]\n"),
        ({"a": None, "b": {"c": [""]}}, "{}\n"),
        ([None, " "], "[]\n"),
        ({"a": [None, 1, "", 2]}, "a:\n- 1\n- 2\n"),
        ({"a": 0, "b": 0.0, "c": False}, "a: 0\nb: 0.0\nc: false\n"),
    ],
)
def test_empty_parts_are_left_out_before_writing(value: Any, text: str) -> None:
    """What is left is block style, and nothing at all is an empty mapping or list."""
    assert minimal_yaml(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": float("nan"), "b": float("inf"), "c": float("-inf")}, "a: .nan\nb: .inf\nc: -.inf\n"),
        ({"a": dt.date(2026, 1, 2)}, "a: 2026-01-02\n"),
        ({"a": dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC)}, "a: 2026-01-02 03:04:05+00:00\n"),
        ({"a": b"abc"}, "a: !!binary |\n  YWJj\n"),
        ({"a": {"y", "x", 3}}, "a: !!set\n  3: null\n  x: null\n  y: null\n"),
        ({"a": Decimal("1.5")}, "a: '1.5'\n"),
        ({1: "a", None: "b", 2.5: "c", False: "d"}, "1: a\nnull: b\n2.5: c\nfalse: d\n"),
        ({(1, 2): "v"}, "? - 1\n  - 2\n: v\n"),
        ({"": "v"}, "? ''\n: v\n"),
        ({"a\nb": "v"}, "? |-\n  a\n  b\n: v\n"),
        ({"k" * 123: [1]}, f"? {'k' * 123}\n: - 1\n"),
        ({"k" * 122: [1]}, f"{'k' * 122}:\n- 1\n"),
    ],
)
def test_values_beyond_the_everyday(value: Any, text: str) -> None:
    """Numbers without end, dates, bytes, sets and odd keys have their YAML form."""
    assert minimal_yaml(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": "x\n\n"}, "a: |+\n  x\n\n...\n"),
        ({"a": "x\n\n", "b": 1}, "a: |+\n  x\n\nb: 1\n"),
        ({"a": "\n."}, "a: |2-\n\n  .\n"),
        ({"a": "x\x85y"}, "a: 'x\x85  y'\n"),
        ({"a": "x\u2028 y"}, 'a: "x\\L y"\n'),
        (["x\n\n"], "- |+\n  x\n\n...\n"),
        (7, "7\n...\n"),
        (True, "true\n...\n"),
        (None, "null\n...\n"),
    ],
)
def test_texts_that_end_in_empty_lines_and_bare_scalars(value: Any, text: str) -> None:
    """Where the end could not be told, a line of three points follows."""
    assert minimal_yaml(value) == text


def test_a_value_that_stands_twice_is_written_twice() -> None:
    """There are no anchors, for a model need not follow them."""
    shared = {"a": [1]}

    assert minimal_yaml({"x": shared, "y": shared}) == "x:\n  a:\n  - 1\ny:\n  a:\n  - 1\n"
    assert minimal_yaml({"x": shared, "y": shared, "z": b""}).count("a:\n  - 1\n") == 2


def test_a_long_text_is_not_wrapped() -> None:
    """A line is as long as its text, on both ways to write it."""
    text = "word " * 2_000 + "end"

    assert minimal_yaml({"a": text}) == f"a: {text}\n"
    assert minimal_yaml({"a": text, "b": b""}).startswith(f"a: {text}\n")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ('{"a": [1, null]}', "'{\"a\": [1, null]}'\n"),
        ("[1, 2]", "'[1, 2]'\n"),
        ('"text"', "'\"text\"'\n"),
        ("text", "text\n...\n"),
        ("7", "'7'\n"),
        ("[" * 5_000, f"'{'[' * 5_000}'\n"),
    ],
    ids=["mapping", "list", "quoted", "word", "number", "brackets"],
)
def test_text_alone_is_text(value: str, text: str) -> None:
    """Text that looks like JSON is not read, however deep its brackets go."""
    assert minimal_yaml(value) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"a": [1, int]}, "The value at it.a[1] is <class 'int'>, which cannot be written; use plain data"),
        ({"a": 10**5_000}, "The value at it.a has more than 4300 digits"),
    ],
)
def test_a_value_that_cannot_be_written_is_refused(value: Any, message: str) -> None:
    """The error begins with the way to the value."""
    with pytest.raises(TurnCompileError) as caught:
        minimal_yaml(value, "it")

    assert str(caught.value).startswith(message)


def nested(levels: int, core: Any) -> Any:
    """Return a value inside that many lists."""
    for _ in range(levels):
        core = [core]
    return core


@pytest.mark.parametrize("core", [1, b""], ids=["everyday", "emitter"])
def test_a_deep_value_is_written_or_refused(core: Any) -> None:
    """Fifty levels are written; too many are an error of the value and not of the interpreter."""
    assert minimal_yaml(nested(50, core)).startswith("- " * 50)
    with pytest.raises(TurnCompileError):
        minimal_yaml(nested(900, core))


def test_writing_leaves_the_value_alone() -> None:
    """Empty parts go from the text and not from the value."""
    value = {"a": [None, {"b": ""}], "c": {1}}
    minimal_yaml(value)

    assert value == {"a": [None, {"b": ""}], "c": {1}}


def test_the_place_of_a_value_need_not_be_named() -> None:
    """The way begins inside the value then."""
    with pytest.raises(TurnCompileError) as caught:
        minimal_yaml({"output": {"when": int}})

    assert caught.value.path == "output.when"


@pytest.mark.parametrize(
    ("value", "text"),
    [({"a": ["x", None]}, "a:\n- x\n- null\n"), ({"a": {}}, "a: {}\n"), ({}, "{}\n"), (7, "7\n...\n")],
)
def test_a_plain_value_is_written_as_it_is(value: Any, text: str) -> None:
    """What was made plain before is not pruned again."""
    assert write(value) == text


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "A value cannot be written (RepresenterError: ('cannot represent an object', <object object at "),
        ({"a": 10**5_000}, "A value cannot be written (ValueError: Exceeds the limit (4300 digits) for integer"),
        ([int], "A value cannot be written (RepresenterError: ('cannot represent an object', <class 'int'>))"),
    ],
    ids=["object", "number", "class"],
)
def test_what_the_emitter_refuses_is_refused(value: Any, message: str) -> None:
    """A value that was never made plain is an error like any other."""
    with pytest.raises(TurnCompileError) as caught:
        write(value)

    assert str(caught.value).startswith(message)


PROGRAM = """
import re
import yaml
from kedi_compile.turn.minimal_yaml import minimal_yaml

for table in (yaml.resolver.Resolver, yaml.SafeDumper):
    table.add_implicit_resolver("!number", re.compile("^(seven|yellow)$"), ["s", "y"])
print(yaml.safe_dump(["seven", "yellow"]), end="")
print(minimal_yaml(["seven", "yellow"]), end="")
print(minimal_yaml(["seven", "yellow", b"a"]), end="")
"""


def test_a_resolver_of_another_program_changes_nothing() -> None:
    """A text that PyYAML is taught to read as something else is written as before, on both ways to write it."""
    printed = subprocess.check_output([sys.executable, "-c", PROGRAM], text=True)

    assert printed == (
        "- 'seven'\n- 'yellow'\n"  # PyYAML's own
        "- seven\n- yellow\n"
        "- seven\n- yellow\n- !!binary |\n  YQ==\n"
    )
