"""The page: what it holds, what no text in it can do, and that it asks for nothing."""

from __future__ import annotations

import json
import re
from functools import cache
from html.parser import HTMLParser
from typing import Final

import pytest
from plotly.offline import get_plotlyjs

from dumps import HOSTILE, build_run, grow, poison
from kedi_compile.report.page import render

LOADS: Final = frozenset(
    {"src", "href", "srcset", "action", "data", "poster", "background", "formaction", "xlink:href"}
)


class Seen(HTMLParser):
    """What a browser would find: tags, attributes, and the text of each kind of element."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.texts: dict[str, list[str]] = {}
        self._open: list[str] = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        if tag not in {"meta", "link", "img"}:
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open:
            self.texts.setdefault(self._open[-1], []).append(data)


@cache
def sample() -> str:
    """Return the page of the sample run."""
    return render("run.jsonl", build_run())


def test_the_page_holds_each_chart_once_and_a_row_a_request() -> None:
    """The elements that the page's script looks for."""
    seen = Seen(sample())

    assert seen.tags.count("details") == 12
    assert [value for name, value in seen.attributes if name == "data-chart"] == [
        "context",
        "edits",
        "generations",
        "protected",
        "contracts",
        "cache",
    ]
    assert seen.tags.count("script") == 6 + 2


def test_a_row_opens_to_the_whole_decision() -> None:
    """Every block is in the page without a script."""
    page = sample()

    assert page.count("<h3>History</h3>") == 12
    assert "no requirement needs it (full, not visible; for the exact text: read_file CHANGELOG.md)" in page
    assert "BudgetExceeded: 33,140 tokens do not fit in 32,000 - 4,000" in page


def test_the_figures_are_those_of_the_run() -> None:
    """What nobody reported has none."""
    seen, bare = Seen(sample()), Seen(render("x", [build_run()[0].model_copy(update={"assembly": None})]))

    assert "67,284" in seen.texts["dd"]
    assert "read from cache" in seen.texts["dt"]
    assert "read from cache" not in bare.texts["dt"]


def test_no_text_becomes_an_element() -> None:
    """Whatever a text says, the page has the elements it would have anyway."""
    clean, seen = Seen(render("a", [build_run()[8]])), Seen(render(HOSTILE, [poison(build_run()[8])]))

    assert seen.tags == clean.tags
    assert {name for name, _ in seen.attributes} == {name for name, _ in clean.attributes}


def test_no_text_is_changed_but_for_its_control_characters() -> None:
    """They are spelt out, and the template's own language is not read."""
    seen = Seen(render("a", [poison(build_run()[8])]))

    shown = HOSTILE.replace("\x1b", r"\x1b").replace("\x00\x9b", r"\x00\x9b")
    assert shown in seen.texts["dd"]
    assert shown in seen.texts["td"]
    assert shown in seen.texts["div"]


def test_the_charts_data_is_json_that_ends_nowhere_early() -> None:
    """No sign that could end the element or open a comment stands in it."""
    scripts = re.findall(
        r'<script type="application/json"[^>]*>(.*?)</script>', render("a", [poison(build_run()[8])]), re.DOTALL
    )

    assert scripts
    for script in scripts:
        assert not set("<>&") & set(script)
        assert set(json.loads(script)) == {"data", "layout"}


def test_the_page_names_nothing_to_load() -> None:
    """No element has an address, no style has one, and plotly's script stands in it whole."""
    page = sample()
    own = page.replace(get_plotlyjs(), "")

    assert own != page
    assert not LOADS & {name for name, _ in Seen(page).attributes}
    assert "//" not in re.sub(r"(?m)^\s*//.*$", "", own)
    assert not re.search(r"url\(|@import|fetch\(|XMLHttpRequest|import\(", own)


def test_the_policy_allows_the_two_scripts_and_no_connection() -> None:
    """Even a text that became a script would not run."""
    policy = next(value for name, value in Seen(sample()).attributes if name == "content" and value)

    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert policy.count("sha256-") == 2
    assert "unsafe-inline" not in policy.partition("style-src")[0]
    assert "connect-src" not in policy


def test_a_long_run_shows_its_last_requests() -> None:
    """And says so, with the way to see the others."""
    page = render("run.jsonl", grow(600))

    assert page.count("<details ") == 500
    assert 'id="request-101"' in page
    assert 'id="request-100"' not in page
    assert "The charts hold all 600 requests, this table the last 500;" in page
    assert "this table the last" not in sample()


def test_a_long_value_is_cut() -> None:
    """A fact or a cell has an end too."""
    page = render("a", [build_run()[9].model_copy(update={"error": "x" * 9_999})])

    assert f"<dd>{'x' * 2_000}…</dd>" in page
    assert "x" * 2_001 not in page


def test_a_long_text_is_cut() -> None:
    """And says how much more there is."""
    long = build_run()[0].model_copy(update={"assembly": None})
    long = long.model_copy(update={"history": long.history.model_copy(update={"added": ("x" * 2_500,)})})

    page = render("a", [long])

    assert f'<div class="text">{"x" * 2_000}…</div>' in page
    assert "500 more characters are in the dump alone." in page


@pytest.mark.parametrize("again", [1, 2])
def test_the_same_dump_makes_the_same_page(again: int) -> None:
    """No clock and no random id is in it."""
    assert render("run.jsonl", build_run()) == sample()
