"""The benchmark runs: every row is measured, printed and written; whether a number is good is not judged here."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]

GOALS = [
    ("no processor configured, beyond no hooks, first request", "R", 0.01),
    ("no processor configured, beyond no hooks, later requests", "R", 0.01),
    ("a stored digest is matched, once, beyond the estimate", "R", 1.1),
    ("condition reads only request_index and cache_epoch, first request", "R", 0.05),
    ("condition reads only request_index and cache_epoch, later requests", "R", 0.05),
    ("condition on estimated_tokens is false, first request", "R", 1.2),
    ("condition on estimated_tokens is false, later requests", "R", 0.45),
    ("condition on measured_tokens is false, later requests", "R", 0.45),
    ("keep_recent_groups(4), first request, edit staged", "R", 1.8),
    ("keep_recent_groups(4), later request of a full history, edit staged", "R", 0.6),
    ("keep_recent_groups, later requests, nothing to drop", "R", 0.6),
    ("keep_recent_groups(4), later requests behind the edit", "R", 0.6),
    ("inspect-only list(ctx.messages), first request", "deepcopy", 0.4),
    ("tool loop: 8 requests against 4", "x", 2.5),
    ("memory held beyond the history", "%", 20),
]


@dataclass(frozen=True)
class Smoke:
    """What one run of the program printed and wrote."""

    printed: str
    written: dict[str, Any]

    def section(self, title: str) -> list[dict[str, Any]]:
        rows: list[dict[str, Any]] = self.written["sections"][title]
        return rows

    def rows(self) -> list[dict[str, Any]]:
        return [row for title in self.written["sections"] for row in self.section(title)]


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> Smoke:
    """Run the program as CI does, warnings as errors."""
    path = tmp_path_factory.mktemp("benchmark") / "rows.json"
    command = [sys.executable, "-W", "error", "-m", "benchmarks", "--smoke", "--json", str(path)]
    done = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
    return Smoke(done.stdout, json.loads(path.read_text(encoding="utf-8")))


def test_each_goal_has_a_measured_row(smoke: Smoke) -> None:
    """The rows with a goal are these, each with its unit and its goal."""
    rows = smoke.section("kedi-compile")

    assert [(row["name"], row["unit"], row["goal"]) for row in rows if row["goal"]] == GOALS


def test_each_row_lies_between_its_extremes(smoke: Smoke) -> None:
    """A row has a median that is not below its least value and not above its greatest."""
    rows = smoke.rows()

    assert rows
    assert [row["name"] for row in rows if not row["min"] <= row["median"] <= row["max"]] == []


def test_each_row_is_printed(smoke: Smoke) -> None:
    """What is written as JSON stands in the printed table too."""
    rows = smoke.rows()

    assert [row["name"] for row in rows if row["name"] not in smoke.printed] == []


def test_the_host_and_its_own_processor_are_always_compared(smoke: Smoke) -> None:
    """The table names the host's version and measures its own way to edit a history."""
    assert smoke.written["environment"]["pydantic-ai-slim"].startswith("2.")
    assert "ProcessHistory keep-last-20, first request" in [row["name"] for row in smoke.section("neighbours")]
