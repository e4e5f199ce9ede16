"""Texts of a dump that cannot command a terminal or turn a line around."""

from __future__ import annotations

import pytest

from kedi_compile.report.plain import on_one_line, shorten, spell_out


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x1b[0m", r"\x1b[31mred\x1b[0m"),
        ("\x9b2J", r"\x9b2J"),
        ("a\x00b\x7f", r"a\x00b\x7f"),
        ("over\rwritten", r"over\x0dwritten"),
        ("safe\u202efdp.exe", r"safe\u202efdp.exe"),
        ("\ud800", r"\ud800"),
        ("a\tb", "a    b"),
        ("one\r\ntwo\n", "one\ntwo\n"),
        ("café, 日本, 👩‍🔧", "café, 日本, 👩‍🔧"),
    ],
)
def test_what_could_command_is_written_as_its_escape(text: str, shown: str) -> None:
    """Line breaks and every visible character stay as they are."""
    assert spell_out(text) == shown


def test_a_cell_has_one_line() -> None:
    """A line break inside a cell is written out."""
    assert on_one_line("one\ntwo") == r"one\ntwo"


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [("claude-opus-5", 13, "claude-opus-5"), ("claude-opus-5-20261101", 13, "claude…261101"), ("abcd", 3, "a…d")],
)
def test_a_long_name_is_cut_in_the_middle(text: str, width: int, shown: str) -> None:
    """Both ends tell names apart."""
    assert shorten(text, width) == shown
    assert len(shorten(text, width)) <= width
