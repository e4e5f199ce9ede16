"""The charts: what is drawn, how names are shown, and what becomes of long runs."""

from __future__ import annotations

import json
from typing import Any

import pytest

from dumps import build_run, grow
from kedi_compile.dump.schema import RequestDump
from kedi_compile.report.charts import Chart, Picked, draw, label, pick
from kedi_compile.report.selection import Selection
from kedi_compile.report.series import collect

BARE = RequestDump(request_id="r", at=0.0, request_index=1, adapter="langchain", model_id="m", outcome="answered")


def charts_of(*dumps: RequestDump) -> dict[str, Chart]:
    """Return the charts of the dumps by id."""
    return {chart.id: chart for chart in draw(collect(Selection().choose(dumps)))}


def traces_of(chart: Chart) -> dict[str, dict[str, Any]]:
    """Return what a chart draws by name."""
    assert chart.figure is not None
    return {trace["name"]: trace for trace in json.loads(chart.figure)["data"]}


def test_a_run_has_six_charts() -> None:
    """In the order of the page."""
    charts = draw(collect(Selection().choose(build_run())))

    assert [chart.title for chart in charts] == [
        "Context by source",
        "Edits of the history",
        "Generation",
        "Protected groups",
        "Contracts",
        "Cache reads",
    ]
    assert all(chart.figure for chart in charts)


def test_a_chart_of_nothing_says_why() -> None:
    """And has no figure."""
    assert {(chart.text, chart.figure) for chart in charts_of(BARE).values()} == {
        ("No request says what its tokens are made of.", None),
        ("No request's history was edited.", None),
        ("The history stayed in its first generation, 0.", None),
        ("No group of any history was protected, or none was looked at.", None),
        ("No request selected a contract.", None),
        ("No request reported cache reads.", None),
    }


def test_the_context_is_a_stack_of_bars_below_its_limit() -> None:
    """Requests without an answer are marked with what became of them."""
    traces = traces_of(charts_of(*build_run())["context"])

    assert traces["core"]["type"] == "bar"
    assert traces["core"]["y"] == [820] * 12
    assert traces["limit"]["y"] == [32_000] * 12
    assert (traces["no answer"]["x"], traces["no answer"]["text"]) == ([8, 10], ["refused", "failed"])


def test_a_request_whose_answer_nobody_saw_is_not_marked() -> None:
    """It may have brought one."""
    run = [dump.model_copy(update={"outcome": "sent"}) for dump in build_run()[:2]]

    assert "no answer" not in traces_of(charts_of(*run)["context"])


def test_a_limit_far_above_is_said_and_not_drawn() -> None:
    """It would press the bars flat."""
    dump = build_run()[0]
    assert dump.assembly is not None
    budget = dump.assembly.budget.model_copy(update={"limit": 200_000})
    dump = dump.model_copy(update={"assembly": dump.assembly.model_copy(update={"budget": budget})})

    chart = charts_of(dump)["context"]

    assert chart.text == "Tokens of each request, by what they are spent on. The limit, 200,000, is far above."
    assert "limit" not in traces_of(chart)


def test_an_edit_is_a_pair_of_bars() -> None:
    """At the request's number, with the groups at hand."""
    traces = traces_of(charts_of(*build_run())["edits"])

    assert (traces["before"]["x"], traces["before"]["y"]) == ([5, 9], [6_350, 8_190])
    assert (traces["after"]["y"], traces["after"]["text"]) == ([2_180, 3_050], ["5 groups", "6 groups"])


def test_contracts_are_strips_with_gaps() -> None:
    """In force, and selected without being found, are two colours."""
    traces = traces_of(charts_of(*build_run())["contracts"])

    assert traces["in force"]["x"][:5] == [0.55, 3.45, None, 0.55, 7.45]
    assert traces["selected, not found in what was sent"]["x"][:3] == [3.55, 4.45, None]


@pytest.mark.parametrize(
    ("values", "most", "picked"),
    [
        ([3, 1, 2], 3, Picked(1, (0, 1, 2))),
        ([3, 1, 2, 9, 5], 3, Picked(2, (0, 3, 4))),
        ([7, 7, 7, 7], 2, Picked(2, (0, 2))),
        ([], 3, Picked(1, ())),
    ],
)
def test_the_largest_of_equally_many_neighbours_is_picked(values: list[int], most: int, picked: Picked) -> None:
    """The first of them, if several are."""
    assert pick(values, most) == picked


def test_a_long_run_has_no_more_bars_than_fit() -> None:
    """The page stays small however long the run is, and says what a bar is."""
    charts = charts_of(*grow(1_000))

    assert len(traces_of(charts["context"])["core"]["x"]) == 143
    assert charts["context"].text.endswith(" Each bar is the largest of 7 neighbouring requests.")
    assert charts["edits"].text.endswith(" Each bar is the largest of 4 neighbouring edits.")


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("<b>core</b>", "&lt;b&gt;core&lt;/b&gt;"),
        ("a &amp; b", "a &amp;amp; b"),
        ("x" * 40, "x" * 14 + "…" + "x" * 13),
        ("\x1b<br>", "\\x1b&lt;br&gt;"),
    ],
)
def test_a_name_is_shown_word_for_word(name: str, shown: str) -> None:
    """Plotly reads tags and entities in any text."""
    assert label(name) == shown


def test_a_hostile_source_is_escaped_in_its_legend() -> None:
    """And in the rows of the contracts."""
    dump = build_run()[0]
    assert dump.assembly is not None
    link = '<a href="x">'
    contract = dump.assembly.contracts[0].model_copy(update={"id": link})
    budget = dump.assembly.budget.model_copy(update={"by_source": {link: 5}})
    assembly = dump.assembly.model_copy(update={"contracts": (contract,), "budget": budget})

    charts = charts_of(dump.model_copy(update={"assembly": assembly}))

    assert list(traces_of(charts["context"])) == ['&lt;a href="x"&gt;']
    figure = charts["contracts"].figure
    assert figure is not None
    assert json.loads(figure)["layout"]["yaxis"]["ticktext"] == ['&lt;a href="x"&gt; 3']
