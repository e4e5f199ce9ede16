"""The measured rows as a table for people and as JSON for programs."""

from __future__ import annotations

import platform
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from typing import Any

import orjson

from benchmarks.measure import Samples
from benchmarks.neighbours import installed
from benchmarks.rows import Row, spread_of


@dataclass(frozen=True, slots=True)
class Report:
    """Everything one call of the program has measured."""

    environment: dict[str, str | None]
    samples: Sequence[Samples]
    sections: dict[str, list[Row]]

    def table(self) -> str:
        """Return the table as text."""
        lines = [f"{name} {number or 'not installed'}" for name, number in self.environment.items()]
        lines += [_reference_line(samples) for samples in self.samples]
        width = max(len(_label(row)) for section in self.sections.values() for row in section)
        for title, section in self.sections.items():
            lines += ["", _head(title, width), *(_line(row, width) for row in section)]
        return "\n".join(lines)

    def json(self) -> str:
        """Return the same as JSON text."""
        data = {
            "environment": self.environment,
            "references": [_reference(samples) for samples in self.samples],
            "sections": {title: [_row(row) for row in section] for title, section in self.sections.items()},
        }
        return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() + "\n"


def environment() -> dict[str, str | None]:
    """Return what was measured, and on what."""
    host = "pydantic-ai-slim"
    return {"python": platform.python_version(), "machine": platform.machine(), host: version(host), **installed()}


def _head(title: str, width: int) -> str:
    return f"{title:{width}} {'median':>8} {'min':>8} {'max':>8} {'goal':>5}  {'verdict':10} [before send note]"


def _line(row: Row, width: int) -> str:
    numbers = " ".join(f"{value:8.3f}" for value in row.spread)
    goal = "" if row.goal is None else f"{row.goal:g}"
    parts = " ".join(f"{value:.2f}" for value in row.parts.values())
    shown = f"[{parts}]" if parts else ""
    return f"{_label(row):{width}} {numbers} {goal:>5}  {row.verdict:10} {shown}".rstrip()


def _label(row: Row) -> str:
    return f"{row.name}, {row.unit}"


def _row(row: Row) -> dict[str, Any]:
    return {
        "name": row.name,
        "unit": row.unit,
        "median": row.spread.median,
        "min": row.spread.low,
        "max": row.spread.high,
        "goal": row.goal,
        "parts": row.parts,
    }


def _reference(samples: Samples) -> dict[str, Any]:
    times = spread_of(samples.reference, 1e-3)
    milliseconds = {"median": times.median, "min": times.low, "max": times.high}
    return {"messages": samples.count, "json_bytes": samples.json_bytes, "milliseconds": milliseconds}


def _reference_line(samples: Samples) -> str:
    middle, low, high = spread_of(samples.reference, 1e-3)
    size = f"{samples.count:,} messages, {samples.json_bytes / 1e6:.2f} MB"
    return f"R over {size}: {middle:.2f} ms (min {low:.2f}, max {high:.2f})"
