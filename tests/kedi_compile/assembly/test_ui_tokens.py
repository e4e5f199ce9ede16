"""Command tokens of an interface in what people write."""

from __future__ import annotations

import time

import pytest

from kedi_compile.assembly.ui_tokens import DEFAULT_UI_TOKENS, UiTokens, UserText
from kedi_compile.errors import AssemblyError

TOKENS = UiTokens()


@pytest.mark.parametrize(
    ("text", "clean", "stripped", "escaped"),
    [
        ("/nothink", "", ["/nothink"], []),
        ("a\n/nothink\nb", "a\nb", ["/nothink"], []),
        ("a\n  /NoThink \t\nb", "a\nb", ["/NoThink"], []),
        ("/nothink fix it", "fix it", ["/nothink"], []),
        ("fix it /nothink", "fix it", ["/nothink"], []),
        ("/think /clear fix it /nothink /retry", "fix it", ["/think", "/clear", "/retry", "/nothink"], []),
        ("do not /nothink about it", "do not `/nothink` about it", [], ["/nothink"]),
        ("use (/clear) or '/reset'!", "use (`/clear`) or '`/reset`'!", [], ["/clear", "/reset"]),
        ("**/think** hard", "**`/think`** hard", [], ["/think"]),
        ("/nothink. Then go", "`/nothink`. Then go", [], ["/nothink"]),
        ("a ` b /nothink c", "a ` b ``/nothink`` c", [], ["/nothink"]),
        ("a ` b `` c /nothink d", "a ` b `` c ```/nothink``` d", [], ["/nothink"]),
        ("x\n/nothink and ` then `` go", "x\n```/nothink``` and ` then `` go", [], ["/nothink"]),
        ("a /nothink`b c", "a ``/nothink`` `b c", [], ["/nothink"]),
        ("a /think b /think c", "a `/think` b `/think` c", [], ["/think", "/think"]),
        ("a\n/nothink `x` b", "a\n``/nothink`` `x` b", [], ["/nothink"]),
        ("/nothink\nkeep  \n", "keep  \n", ["/nothink"], []),
    ],
)
def test_a_token_is_stripped_or_escaped(text: str, clean: str, stripped: list[str], escaped: list[str]) -> None:
    """Alone on a line, first or last: it was meant for the interface; anywhere else it becomes a quotation."""
    assert TOKENS.clean(text) == UserText(clean, tuple(stripped), tuple(escaped))
    assert TOKENS.find(clean) == []


@pytest.mark.parametrize(
    "text",
    [
        "",
        "fix it",
        "what does `/nothink` do",
        "what do ``/nothink` and`` do",
        "`/nothink`",
        "```\n/nothink\n```",
        "~~~ sh\n/nothink\n~~~\nand so on",
        "```\n/nothink",
        "````\n```\n/nothink\n```\n````",
        "see docs/nothink",
        "see /nothink/x",
        "see /nothink.md",
        "see ./think",
        "https://x.org/clear",
        "/think-aloud",
        "/thinking",
        "a/think",
        "/usr/bin/clear",
    ],
)
def test_a_text_without_tokens_is_the_same_object(text: str) -> None:
    """Quoted in code, or part of a path or of another word: kept byte for byte."""
    assert TOKENS.find(text) == []
    assert TOKENS.clean(text).text is text
    assert TOKENS.escape(text).text is text


def test_an_inline_fence_opens_no_block() -> None:
    """What stands between backticks on one line ends there."""
    assert TOKENS.find("```x``` and\nthen /nothink here") == ["/nothink"]


def test_the_tokens_are_a_setting() -> None:
    """Any words that begin with a slash, in any case of letters; none at all finds none."""
    assert UiTokens(("/go",)).find("now /GO on, /nothink") == ["/GO"]
    assert UiTokens(()).find("/nothink") == []
    assert "/nothink" in DEFAULT_UI_TOKENS


@pytest.mark.parametrize("tokens", [("nothink",), ("/",), ("/no think",), ("/x?",), "/nothink", ("",), (5,)])
def test_what_is_no_token_is_refused(tokens: tuple[str, ...]) -> None:
    """It would never be found."""
    with pytest.raises(AssemblyError):
        UiTokens(tuple(tokens))


@pytest.mark.parametrize(
    "text",
    [
        "`" * 200_000 + "/nothink x",
        "/think " * 20_000,
        "a /think b\n" * 20_000,
        "`/x " * 50_000,
        "/think `a` " * 20_000,
    ],
)
def test_no_text_is_slow(text: str) -> None:
    """A user cannot hold up a run with what is typed."""
    started = time.process_time()
    clean = TOKENS.clean(text)

    assert TOKENS.find(clean.text) == []
    assert time.process_time() - started < 5
