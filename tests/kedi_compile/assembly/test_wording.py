"""Text on its way into a request: normalised, checked, fenced, and digested."""

import hashlib
import re

import pytest

from kedi_compile.assembly.wording import (
    check_optional,
    check_text,
    check_texts,
    comparable,
    digest_of,
    fence_of,
    fenced,
    normalised,
    utf8_size,
)
from kedi_compile.errors import AssemblyError


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a\r\nb\rc", "a\nb\nc"),
        ("a  \n b\t\n", "a\n b"),
        ("\n\na\n\n", "a"),
        ("e\u0301", "\u00e9"),
        ("  a", "  a"),
    ],
)
def test_the_same_words_have_the_same_bytes(text: str, plain: str) -> None:
    """Line feeds, composed characters, and nothing blank at ends, on every platform."""
    assert normalised(text) == plain


def test_a_text_is_compared_without_case_and_spacing() -> None:
    """However people write it."""
    assert comparable(" Fix  the\nTests") == "fix the tests"


def test_a_digest_is_the_sha256_of_the_utf8_bytes() -> None:
    """In hexadecimal."""
    assert digest_of("\u00e9") == hashlib.sha256(b"\xc3\xa9").hexdigest()


@pytest.mark.parametrize(("text", "size"), [("", 0), ("abc", 3), ("\u00e9", 2), ("\U0001f600", 4)])
def test_a_size_is_of_utf8_bytes(text: str, size: int) -> None:
    """Not of characters."""
    assert utf8_size(text) == size


@pytest.mark.parametrize(
    ("body", "shown"),
    [
        ("x", "```\nx\n```"),
        ("x\n", "```\nx\n```"),
        ("", "```\n```"),
        ("```\nx\n```\n", "````\n```\nx\n```\n````"),
        ("a `````` b", "```````\na `````` b\n```````"),
    ],
)
def test_no_body_closes_its_fence(body: str, shown: str) -> None:
    """The fence is longer than any run of backticks in it, and the body stands in it byte for byte."""
    assert "".join(fenced(body)) == shown
    assert fence_of(body) not in body


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (b"x", "It is bytes, and must be str; decode it first, for example with errors='replace'"),
        (None, "It is NoneType, and must be str"),
        (5, "It is int, and must be str"),
        (" \n", "It is blank; give it words, or leave the record out"),
        (
            "ab\ud800",
            (
                "It cannot be written as UTF-8 at character 2; the bytes it came from are no UTF-8: decode them with "
                "errors='replace', and say so in the record's version or coverage"
            ),
        ),
    ],
)
def test_what_cannot_be_sent_is_refused(value: object, fault: str) -> None:
    """With what is wrong, where, and what would be right."""
    with pytest.raises(AssemblyError, match=f"^{re.escape(fault)}$"):
        check_text(value, "It")


def test_a_body_may_be_blank() -> None:
    """An empty file is a file."""
    check_text("", "It", may_be_blank=True)


def test_one_str_is_no_tuple_of_texts() -> None:
    """Its characters would be taken for paths."""
    with pytest.raises(AssemblyError, match=r"^They are str, and must be a tuple of str$"):
        check_texts("src", "They")
    with pytest.raises(AssemblyError, match=r"^They, at 1, is blank"):
        check_texts(("a", ""), "They")


def test_what_is_optional_may_be_missing_and_not_blank() -> None:
    """None says nothing; blank text says it badly."""
    check_optional(None, "It")
    with pytest.raises(AssemblyError, match=r"^It is blank"):
        check_optional("", "It")
