"""The list as it stands in a terminal of 80 columns."""

from __future__ import annotations

from io import StringIO
from typing import get_args

import pytest
from rich.console import Console

from dumps import build_run, grow
from kedi_compile.dump.schema import Outcome
from kedi_compile.report.listing import show
from kedi_compile.report.selection import Numbered, Selection

LIST = """\
             in             tokens history   gener- contracts  sources cache
 # time     run outcome   of limit groups     ation  in force seen/out reads
2026-12-01 UTC  run run-7f3a  claude-opus-5  pydantic-ai
 1 10:00:00   1 answered 3,985/32k unchanged      0       2/2      2/0     -
 2 10:00:07   2 answered 5,750/32k unchanged      0       2/2      2/0 4,905
 3 10:00:15   3 answered 9,172/32k unchanged      0       2/2      3/0 7,282
 4 10:00:22   4 answered 12.2k/32k unchanged      0       2/3      3/0 9,540
 5 10:00:30   5 answered 10.8k/32k 8 -> 5         1       3/3      3/1 2,600
 6 10:00:37   6 answered 12.9k/32k unchanged      1       3/3      3/1 10.1k
 7 10:00:45   7 answered 13.1k/32k unchanged      1       3/3      4/1 9,720
 8 10:00:52   8 refused  34.8k/32k refused        1       0/3      4/1     -
 9 10:01:00   9 answered 11.6k/32k 10 -> 6        2       3/3      4/1 2,600
10 10:01:07  10 failed   13.2k/32k unchanged      2       3/3      4/1     -
11 10:01:15  11 answered 13.2k/32k unchanged      2       3/3      4/1 9,780
12 10:01:22  12 answered 14.5k/32k unchanged      2       3/3      4/1 10.7k
"""


def listed(*requests: Numbered) -> str:
    """Return the list of the requests at 80 columns."""
    out = Console(file=StringIO(), width=80, highlight=False)
    show(out, requests)
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def test_a_run_is_a_line_a_request() -> None:
    """What is the same for all of them is said once, above."""
    assert listed(*Selection().choose(build_run())) == LIST


@pytest.mark.parametrize("outcome", get_args(Outcome))
def test_every_outcome_has_its_word_in_the_list(outcome: Outcome) -> None:
    """Also that of a request whose answer nobody saw."""
    line = listed(Numbered(1, build_run()[0].model_copy(update={"outcome": outcome}))).splitlines()[-1]

    assert line.split()[3] == outcome


def test_another_run_begins_below_a_line_of_its_own() -> None:
    """Runs that take turns are told apart request by request."""
    first, second = build_run()[0], build_run("run-b")[0]

    lines = listed(Numbered(1, first), Numbered(2, second), Numbered(3, first)).splitlines()

    assert [line.split("  ")[1] for line in lines[2::2]] == ["run run-7f3a", "run run-b", "run run-7f3a"]


def test_five_thousand_requests_fit_in_80_columns() -> None:
    """No cell grows with the length of the run but its number and generation."""
    text = listed(*Selection().choose(grow(5_000)))

    assert len(text.splitlines()) == 2 + 5_000 + 417
    assert max(map(len, text.splitlines())) <= 80


def test_neither_markup_nor_an_escape_is_obeyed() -> None:
    """Names come from the outside."""
    hostile = build_run()[0].model_copy(update={"run_id": "[bold]r[/bold]", "model_id": "\x1b]0;title\x07m"})

    text = listed(Numbered(1, hostile))

    assert r"run [bold]r[/bold]  \x1b]0;title\x07m" in text
    assert "\x1b" not in text


def test_nothing_is_written_of_nothing() -> None:
    """No headings stand above an empty list."""
    assert listed() == ""
