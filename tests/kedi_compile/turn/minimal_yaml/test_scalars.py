"""How a text may stand in YAML; beside the literal cases, PyYAML's own analysis is the measure."""

import io
import random

import pytest
import yaml

from kedi_compile.turn.minimal_yaml.scalars import (
    BREAKS,
    double_quoted,
    has_break,
    indented,
    is_hard,
    is_read_as_text,
    literal_hints,
    may_be_single_quoted,
    may_be_unquoted,
    may_be_unquoted_in_flow,
    single_quoted,
)

ALPHABET = [*"ab10 \t\n\r\x85\u2028\u2029\ufeff\x00\x7f\u00a0é世😀\ud800\uffff#:-?,[]{}&*!|>'\"%@`.=~\\"]


def random_texts() -> list[str]:
    """Return ten thousand short texts of characters that mean something in YAML; the same each time."""
    chance = random.Random(7)  # noqa: S311  # no secret
    return ["".join(chance.choices(ALPHABET, k=chance.randint(1, 6))) for _ in range(10_000)]


def test_a_text_is_judged_as_pyyaml_judges_it() -> None:
    """Breaks, hardness and what needs quotes agree with PyYAML's character-wise analysis of every text."""
    emitter = yaml.SafeDumper(io.StringIO(), allow_unicode=True)

    for text in random_texts():
        analysis = emitter.analyze_scalar(text)
        unquoted = not is_hard(text) and may_be_unquoted(text)
        assert has_break(text) is analysis.multiline, text
        assert unquoted is analysis.allow_block_plain, text
        assert (not is_hard(text) and may_be_single_quoted(text)) is analysis.allow_single_quoted, text
        assert (not is_hard(text) and text[-1] != " ") is analysis.allow_block, text


@pytest.mark.parametrize("text", ["\t", "a\r", "\x00", "\x7f", "\ufeff", "\ud800", "a \nb", " \u2028", "\uffff"])
def test_hard_texts(text: str) -> None:
    """Controls, a byte-order mark, halves of pairs, and a blank before a break need double quotes."""
    assert is_hard(text)


@pytest.mark.parametrize("text", ["", " ", "a\nb", "\n b", "\x85", "\u00a0", "é世", "😀", "\U0010fffe", "\ufffd"])
def test_texts_that_are_not_hard(text: str) -> None:
    """Letters of every script, single blanks and breaks are everyday."""
    assert not is_hard(text)


@pytest.mark.parametrize(
    "text",
    [
        *("---", "--- a", "...", "#a", ",a", "[a", "]a", "{a", "}a", "&a", "*a", "!a", "|", ">a", "'a", '"a', "%a"),
        *("@a", "`a", "?", "? a", ":", "- a", "-", "a:", "a: b", "a #b", " a", "a ", "a\nb"),
    ],
)
def test_texts_that_need_quotes(text: str) -> None:
    """Indicators, padding and breaks would be read as something else."""
    assert not may_be_unquoted(text)


@pytest.mark.parametrize(
    "text", ["-a", "?a", ":a", "a:b", "a#b", "a - b", "a, b", "a [b]", "--", "..", "a'b", "=", "<<"]
)
def test_texts_that_need_none(text: str) -> None:
    """An indicator means nothing in another place."""
    assert may_be_unquoted(text)


@pytest.mark.parametrize(
    ("text", "may"), [("a b", True), ("a,b", False), ("[a", False), ("?a", False), ("a:b", False), ("-ab", True)]
)
def test_brackets_forbid_more(text: str, may: bool) -> None:
    """What separates items between brackets needs quotes there."""
    assert may_be_unquoted_in_flow(text) is may


@pytest.mark.parametrize(
    "text",
    [
        *("yes", "No", "TRUE", "off", "null", "~", "", "=", "<<", "1", "-1", "0x1F", "0b1", "017", "1_000", "1:30"),
        *("1.5", ".5", "1.0e+3", ".inf", "-.INF", ".NaN", "2026-01-02", "2026-1-2T3:04:05Z"),
    ],
)
def test_texts_that_are_read_as_something_else(text: str) -> None:
    """Words, numbers and dates of YAML 1.1 are no text without quotes."""
    assert not is_read_as_text(text)


@pytest.mark.parametrize("text", ["1e3", "0o7", "y", "n", "yEs", "1.2.3", "2026-1-2", "09", "+", ".", "- 1", "None"])
def test_texts_that_are_read_as_text(text: str) -> None:
    """What YAML 1.2 or Python would read as a number is text here."""
    assert is_read_as_text(text)


@pytest.mark.parametrize(
    ("text", "hints"),
    [
        *(("a\nb", "-"), ("a\nb\n", ""), ("a\n\n", "+"), ("\n", "2+"), (" a\nb", "2-"), ("\na", "2-"), ("\na\n", "2")),
        *(("a\n\x85", "+"), ("a\u2028", ""), ("\u2029a", "2-")),
    ],
)
def test_what_stands_behind_the_bar(text: str, hints: str) -> None:
    """A beginning that hides the indent is told, and an end without break or with several."""
    assert literal_hints(text) == hints


def test_lines_are_moved_and_empty_ones_are_not() -> None:
    """No blanks are left at the end of a line; other breaks than LF begin a line as well."""
    assert indented("a\n\n  b\x85c\n", 2) == "  a\n\n    b\x85  c\n"
    assert indented("a", 0) == "a"


def test_single_quotes_are_doubled_and_breaks_go_on_at_a_column() -> None:
    """A line feed is written once more, for a single one would be read as a blank."""
    assert single_quoted("it's", 4) == "it''s"
    assert single_quoted("a\nb", 2) == "a\n\n  b"
    assert single_quoted("a\x85b\u2028\u2029c", 2) == "a\x85  b\u2028\u2029  c"


@pytest.mark.parametrize(
    ("text", "quoted"),
    [
        ('a "b" \\c', r"a \"b\" \\c"),
        ("\0\a\b\t\n\v\f\r\x1b", r"\0\a\b\t\n\v\f\r\e"),
        ("\x85\u2028\u2029\u00a0", "\\N\\L\\P\u00a0"),
        ("\x01\x7f\x9f", r"\x01\x7F\x9F"),
        ("\ufeff\ud800\uffff", r"\uFEFF\uD800\uFFFF"),
        ("é世", "é世"),
        ("😀", r"\U0001F600"),
    ],
)
def test_what_stands_between_double_quotes(text: str, quoted: str) -> None:
    """Short escapes come first, then hexadecimal ones in capitals; letters are written as they are."""
    assert double_quoted(text) == quoted


def test_the_breaks_are_the_four_of_yaml() -> None:
    """A carriage return is no break but a special character."""
    assert list(BREAKS) == ["\n", "\x85", "\u2028", "\u2029"]
    assert not has_break("a\rb\vc")
