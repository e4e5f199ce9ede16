"""The layout of everyday values, line by line, and what is left to the emitter."""

import datetime as dt
from typing import Any

import pytest

from kedi_compile.turn.minimal_yaml.layout import NeedsEmitter, write
from kedi_compile.turn.minimal_yaml.plain import Members


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": 1}, "a: 1\n"),
        ({"a": {"b": {"c": 1}}, "d": 2}, "a:\n  b:\n    c: 1\nd: 2\n"),
        ({"a": [1, [2, 3], {"b": 4, "c": [5]}]}, "a:\n- 1\n- - 2\n  - 3\n- b: 4\n  c:\n  - 5\n"),
        ([[[1], 2], (3, {"a": (4,)})], "- - - 1\n  - 2\n- - 3\n  - a:\n    - 4\n"),
        ({"b": 1, "a": 2}, "b: 1\na: 2\n"),
    ],
)
def test_mappings_and_lists_are_blocks(value: Any, text: str) -> None:
    """Two blanks a level; a list under a key stands at the key's column, and one in a list on the dash's line."""
    assert write(value) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *((None, "null"), (True, "true"), (False, "false"), (0, "0"), (-7, "-7"), (2**70, "1180591620717411303424")),
        *((1.5, "1.5"), (0.0, "0.0"), (-0.0, "-0.0"), (1e16, "1.0e+16"), (1e-07, "1.0e-07"), (1.5e300, "1.5e+300")),
    ],
)
def test_scalars_that_are_no_text(value: Any, text: str) -> None:
    """A float always has a point, so that it is read as one."""
    assert write({"a": value}) == f"a: {text}\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (dt.date(2026, 1, 2), "2026-01-02"),
        (dt.date(1, 1, 1), "0001-01-01"),
        (dt.datetime(2026, 1, 2), "2026-01-02 00:00:00"),  # noqa: DTZ001  # a time without zone is written too
        (dt.datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=dt.UTC), "2026-01-02 03:04:05.000006+00:00"),
        (
            dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.timezone(dt.timedelta(hours=-3, minutes=-30))),
            "2026-01-02 03:04:05-03:30",
        ),
    ],
)
def test_dates_and_times_need_no_quotes(value: Any, text: str) -> None:
    """They are read back as what they are, with a blank between date and time."""
    assert write({"a": value}) == f"a: {text}\n"
    assert write([value]) == f"- {text}\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        *(("word", "word"), ("two words", "two words"), ("", "''"), ("1", "'1'"), ("yes", "'yes'"), ("it's", "it's")),
        *(("'q'", "'''q'''"), ("a: b", "'a: b'"), (" a", "' a'"), ("a\tb", '"a\\tb"'), ("1e3", "1e3")),
        *(("2026-01-02", "'2026-01-02'"), ("---", "'---'"), ("x" * 5_000, "x" * 5_000)),
    ],
)
def test_texts_of_one_line(value: str, text: str) -> None:
    """A text stands by itself where it is read back as it is, and in quotes where it is not; it is never wrapped."""
    assert write({"a": value}) == f"a: {text}\n"
    assert write([value]) == f"- {text}\n"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"a": "x\ny"}, "a: |-\n  x\n  y\n"),
        ({"a": "x\ny\n", "b": 1}, "a: |\n  x\n  y\nb: 1\n"),
        ({"a": {"b": " x\n\ny"}}, "a:\n  b: |2-\n     x\n\n    y\n"),
        (["x\ny", ["z\n"]], "- |-\n  x\n  y\n- - |\n    z\n"),
        ({"a": "x \ny"}, 'a: "x \\ny"\n'),
        ({"a": "x\ny "}, 'a: "x\\ny "\n'),
        ({"a": "x\n\ty"}, 'a: "x\\n\\ty"\n'),
    ],
)
def test_texts_of_several_lines(value: Any, text: str) -> None:
    """Lines stand in a literal block two columns deeper; what a block cannot hold is double-quoted."""
    assert write(value) == text


@pytest.mark.parametrize(
    ("key", "text"), [("a b", "a b"), ("yes", "'yes'"), ("a:", "'a:'"), ("\t", '"\\t"'), ("k" * 100, "k" * 100)]
)
def test_keys_are_texts_of_one_line(key: str, text: str) -> None:
    """A key is quoted as a value is."""
    assert write({key: 1}) == f"{text}: 1\n"


@pytest.mark.parametrize(
    "value",
    [
        *({}, [], "text", 7, None, {"a": []}, {"a": {}}, {"a": b"x"}, {"a": Members((1,))}),
        *({1: "a"}, {None: 1}, {(1,): 2}, {"": 1}, {"a\nb": 1}, {"k" * 101: 1}, {"a": float("inf")}),
        *(
            {"a": float("nan")},
            {"a": "x\n\n"},
            {"a": "\n"},
            {"a": "x\ny\x85"},
            {"a": "x\x85y"},
            {"deep": [{"a": b"x"}]},
            {"a": dt.datetime(2026, 1, 2, tzinfo=dt.timezone(dt.timedelta(seconds=30)))},
        ),
    ],
)
def test_what_is_not_everyday_is_left_to_the_emitter(value: Any) -> None:
    """Empty values, bytes, sets, odd keys and times, and texts that end in empty lines are not written here."""
    with pytest.raises(NeedsEmitter):
        write(value)
