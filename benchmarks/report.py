"""The measured rows as tables for people and as JSON for programs."""

from __future__ import annotations

import platform
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from benchmarks.rows import Row, spread_of
from benchmarks.samples import Samples


@dataclass(frozen=True, slots=True)
class Table:
    """Everything that was measured on one framework: its rows by section."""

    versions: Mapping[str, str | None]
    samples: Sequence[Samples]
    sections: Mapping[str, Sequence[Row]]

    def text(self) -> str:
        """Return it as text."""
        lines = [f"{name} {number or 'not installed'}" for name, number in self.versions.items()]
        lines += [_reference_line(samples) for samples in self.samples]
        width = max(len(_label(row)) for section in self.sections.values() for row in section)
        for title, section in self.sections.items():
            lines += ["", _head(title, width, section), *(_line(row, width) for row in section)]
        return "\n".join(lines)

    def plain(self) -> dict[str, Any]:
        """Return it as plain values."""
        return {
            "versions": self.versions,
            "references": [_reference(samples) for samples in self.samples],
            "sections": {title: [_row(row) for row in section] for title, section in self.sections.items()},
        }


def environment() -> dict[str, str]:
    """Return what it was measured on."""
    return {"python": platform.python_version(), "machine": platform.machine()}


def as_json(tables: Mapping[str, Table]) -> str:
    """Return tables by framework as JSON text."""
    data = {"environment": environment(), "tables": {name: table.plain() for name, table in tables.items()}}
    return orjson.dumps(data, option=orjson.OPT_INDENT_2).decode() + "\n"


def _head(title: str, width: int, section: Sequence[Row]) -> str:
    accounts = next((" ".join(row.parts) for row in section if row.parts), "")
    shown = f" [{accounts}]" if accounts else ""
    return f"{title:{width}} {'median':>8} {'min':>8} {'max':>8} {'goal':>5}  {'verdict':10}{shown}".rstrip()


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
