"""The benchmark runs on both frameworks and on turns: every row is measured and written; no number is judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

RUN_GOALS = [
    ("no processor configured, beyond no hooks, first request", "R", 0.01, 0.01),
    ("no processor configured, beyond no hooks, later requests", "R", 0.01, 0.01),
    ("a stored digest is matched, once, beyond the estimate", "R", 1.1, 1.4),
    ("condition reads only request_index and cache_epoch, first request", "R", 0.05, 0.05),
    ("condition reads only request_index and cache_epoch, later requests", "R", 0.05, 0.05),
    ("condition on estimated_tokens is false, first request", "R", 1.2, 1.6),
    ("condition on estimated_tokens is false, later requests", "R", 0.45, 0.55),
    ("condition on measured_tokens is false, later requests", "R", 0.45, 0.55),
    ("keep_recent_groups(4), first request, edit staged", "R", 1.8, 2.2),
    ("keep_recent_groups(4), later request of a full history, edit staged", "R", 0.6, 0.8),
    ("keep_recent_groups, later requests, nothing to drop", "R", 0.6, 0.8),
    ("keep_recent_groups(4), later requests behind the edit", "R", 0.6, 0.8),
    ("inspect-only list(ctx.messages), first request", "deepcopy", 0.4, 0.45),
]
"""Name, unit, and the goals on Pydantic AI and on LangChain."""

REQUEST_GOALS = [
    ("no processor configured, beyond no hooks, first request", "R", 0.01),
    ("no processor configured, beyond no hooks, later requests", "R", 0.01),
    ("condition reads only request_index and cache_epoch, first request", "R", 0.05),
    ("condition reads only request_index and cache_epoch, later requests", "R", 0.05),
    ("condition on estimated_tokens is false, first request", "R", 1.6),
    ("condition on estimated_tokens is false, later requests", "R", 0.55),
    ("keep_recent_groups(4), first request, edit staged", "R", 2.2),
    ("keep_recent_groups(4), later requests, edit staged anew", "R", 0.8),
    ("keep_recent_groups, later requests, nothing to drop", "R", 0.8),
    ("inspect-only list(ctx.messages), first request", "deepcopy", 0.45),
]

WHOLE_GOALS = [("tool loop: 8 requests against 4", "x", 2.5), ("memory held beyond the history", "%", 20)]

TURN_GOALS = [
    ("compiling 40 records, against LionAGI's first preparation", "x", 1.5),
    ("compiling 40 records, against a later preparation", "x", 1.5),
    ("compiling 80 records against 40", "x", 12),
]

GOALS = {
    ("pydantic-ai", "Pydantic AI, kedi-compile"): [(name, unit, goal) for name, unit, goal, _ in RUN_GOALS],
    ("pydantic-ai", "the whole run"): WHOLE_GOALS,
    ("langchain", "LangChain, kedi-compile as middleware"): [(name, unit, goal) for name, unit, _, goal in RUN_GOALS],
    ("langchain", "LangChain, kedi-compile around a chat model"): REQUEST_GOALS,
    ("langchain", "the whole run"): WHOLE_GOALS,
    ("turn", "turns, calls and results"): TURN_GOALS,
    ("turn", "turns, text alone"): TURN_GOALS,
    ("turn", "turns, one long text"): [
        ("10 MB of text on one line, against 1 MB", "x", 12),
        ("10 MB of text in lines, against 1 MB", "x", 12),
        ("10 MB of text that needs escapes, against 1 MB", "x", 12),
    ],
}


@dataclass(frozen=True)
class Smoke:
    """What one run of the program printed and wrote."""

    printed: str
    written: dict[str, Any]

    def section(self, stack: str, title: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.written["tables"][stack]["sections"][title]
        return rows

    def rows(self) -> list[dict[str, Any]]:
        sections = [table["sections"] for table in self.written["tables"].values()]
        return [row for section in sections for rows in section.values() for row in rows]


def run(path: Path, *options: str) -> Smoke:
    """Run the program as CI does, warnings as errors."""
    command = [sys.executable, "-W", "error", "-m", "benchmarks", "--smoke", "--json", str(path), *options]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return Smoke(done.stdout, json.loads(path.read_text(encoding="utf-8")))


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Smoke:
    """Measure everything."""
    return run(tmp_path_factory.mktemp("benchmark") / "rows.json")


@pytest.mark.parametrize(("stack", "title"), GOALS)
def test_each_goal_has_a_measured_row(smoke: Smoke, stack: str, title: str) -> None:
    """The rows with a goal are these, each with its unit and its goal."""
    rows = smoke.section(stack, title)

    assert [(row["name"], row["unit"], row["goal"]) for row in rows if row["goal"]] == GOALS[stack, title]


def test_each_row_lies_between_its_extremes(smoke: Smoke) -> None:
    """A row has a median that is not below its least value and not above its greatest."""
    rows = smoke.rows()

    assert rows
    assert [row["name"] for row in rows if not row["min"] <= row["median"] <= row["max"]] == []


def test_each_row_is_printed(smoke: Smoke) -> None:
    """What is written as JSON stands in the printed tables too."""
    rows = smoke.rows()

    assert [row["name"] for row in rows if row["name"] not in smoke.printed] == []


def test_pydantic_ai_and_its_own_processor_are_always_compared(smoke: Smoke) -> None:
    """The table names the host's version and measures its own way to edit a history."""
    assert smoke.written["tables"]["pydantic-ai"]["versions"]["pydantic-ai-slim"].startswith("2.")
    rows = smoke.section("pydantic-ai", "Pydantic AI, neighbours")
    assert "ProcessHistory keep-last-20, first request" in [row["name"] for row in rows]


@pytest.mark.parametrize("way", ["trim_messages", "SummarizationMiddleware", "ContextEditingMiddleware"])
def test_langchain_and_its_own_ways_are_always_compared(smoke: Smoke, way: str) -> None:
    """The table names the host's versions and measures its own ways to shorten a history."""
    assert smoke.written["tables"]["langchain"]["versions"]["langchain-core"].startswith("1.")
    assert [row for row in smoke.section("langchain", "LangChain, its own ways") if row["name"].startswith(way)]


@pytest.mark.parametrize("stack", ["pydantic-ai", "langchain", "turn"])
def test_only_measures_one_table(tmp_path: Path, stack: str) -> None:
    """`--only` leaves the others out."""
    assert list(run(tmp_path / "rows.json", "--only", stack).written["tables"]) == [stack]
