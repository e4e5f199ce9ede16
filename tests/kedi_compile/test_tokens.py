"""Conservative token numbers: bytes at a fixed rate, rounded up."""

import sys

import pytest

from kedi_compile.tokens import text_bytes, text_tokens, tokens_of_bytes


@pytest.mark.parametrize(
    ("text", "size"), [("", 0), ("abc", 3), ("é", 2), ("語", 3), ("😀", 4), ("\ud800", 3), ("a\x00", 2)]
)
def test_a_text_counts_by_its_utf8_bytes(text: str, size: int) -> None:
    """Dense scripts count more than their characters; a lone surrogate counts like its neighbours."""
    assert text_bytes(text) == size


@pytest.mark.parametrize(("size", "tokens"), [(0, 0), (1, 1), (3, 1), (4, 2), (300, 100), (301, 101)])
def test_tokens_are_rounded_up(size: int, tokens: int) -> None:
    """A begun token is a token: the number is never too small."""
    assert tokens_of_bytes(size) == tokens


def test_a_text_has_the_tokens_of_its_bytes() -> None:
    """Three bytes are at most one token, whatever the script."""
    assert text_tokens("four") == 2
    assert text_tokens("語語") == 2


def test_counting_leaves_no_copy_inside_the_text() -> None:
    """A text is not made bigger by being counted."""
    text = "语言" * 50
    before = sys.getsizeof(text)
    text_bytes(text)

    assert sys.getsizeof(text) == before
