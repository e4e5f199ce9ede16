"""Items and their forms."""

import pytest

from kedi_compile.assembly.items import Form, one_line, quoted


@pytest.mark.parametrize(
    ("form", "rendered", "is_shown"),
    [
        (Form("a"), "a", True),
        (Form("a", "b"), "a\n\n```\nb\n```", True),
        (Form("", "b"), "```\nb\n```", True),
        (Form("", ""), "```\n```", True),
        (Form(""), "", False),
    ],
)
def test_a_form_is_our_words_and_a_body_in_a_fence(form: Form, rendered: str, is_shown: bool) -> None:
    """Without either it is not shown."""
    assert (form.rendered, form.is_shown) == (rendered, is_shown)


@pytest.mark.parametrize("form", [Form("a"), Form("a", "b\n"), Form("a", "`" * 50), Form("", "b")])
def test_what_is_around_a_body_is_never_undercounted(form: Form) -> None:
    """Fences and what parts an item from the next are in the sizes."""
    assert len(form.around) + len(form.body or "") >= len(form.rendered) + 2


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("a.py", '"a.py"'),
        ('a"b', r'"a\"b"'),
        ("a\n# Active steering", r'"a\n# Active steering"'),
        ("a\r\x85\u2028\u2029\x7f", r'"a\r\u0085\u2028\u2029\u007f"'),
        ("\u00e9", '"\u00e9"'),
    ],
)
def test_a_name_from_outside_stands_on_one_line(name: str, words: str) -> None:
    """Whatever ends a line for some reader is written out."""
    assert quoted(name) == words


def test_prose_stands_on_one_line() -> None:
    """With single spaces."""
    assert one_line(" a\n\n# b\u2028c\x85d ") == "a # b c d"
