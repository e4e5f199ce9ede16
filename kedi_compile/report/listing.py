"""The list of requests at a terminal: 80 columns are enough, a pipe gets the same without colour.

What stays the same from one request to the next (day, run, adapter, model) is said once, above the requests it is
true of. The cells come from `rows.py`. Lines are laid out here because the words above are no cells of a table.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from rich.console import Console
from rich.text import Text

from kedi_compile.report.plain import on_one_line, shorten
from kedi_compile.report.rows import UNKNOWN, Row, describe
from kedi_compile.report.selection import Numbered

OUTCOME_STYLES: Final[Mapping[str, str]] = {
    "answered": "green",
    "sent": "dim",
    "failed": "red",
    "cancelled": "yellow",
    "refused": "red",
}
_NAME_WIDTH: Final = 40


class _Column(NamedTuple):
    field: str
    heading: tuple[str, str]
    right: bool = False


_COLUMNS: Final = (
    _Column("number", ("", "#"), right=True),
    _Column("time", ("", "time")),
    _Column("index", ("in", "run"), right=True),
    _Column("outcome", ("", "outcome")),
    _Column("size", ("tokens", "of limit"), right=True),
    _Column("history", ("history", "groups")),
    _Column("generation", ("gener-", "ation"), right=True),
    _Column("contracts", ("contracts", "in force"), right=True),
    _Column("sources", ("sources", "seen/out"), right=True),
    _Column("cache", ("cache", "reads"), right=True),
)


def show(out: Console, requests: Iterable[Numbered]) -> int:
    """Write the list and return how many requests it holds."""
    rows = [describe(numbered) for numbered in requests]
    if not rows:
        return 0
    widths = [max(map(len, (*column.heading, *_cells(rows, column)))) for column in _COLUMNS]
    for line in range(2):
        _write(out, Text(_line([column.heading[line] for column in _COLUMNS], widths), "dim"))
    above = ""
    for row in rows:
        if (now := _above(row)) != above:
            _write(out, Text(now, "bold"))
            above = now
        _write(out, _styled(row, widths))
    return len(rows)


def _cells(rows: Sequence[Row], column: _Column) -> Iterable[str]:
    return (_cell(row, column) for row in rows)


def _cell(row: Row, column: _Column) -> str:
    return str(getattr(row, column.field))


def _above(row: Row) -> str:
    run = "no run" if row.run == UNKNOWN else f"run {shorten(row.run, _NAME_WIDTH)}"
    return f"{row.date} UTC  {run}  {shorten(row.model, _NAME_WIDTH)}  {on_one_line(row.adapter)}"


def _line(cells: Sequence[str], widths: Sequence[int]) -> str:
    padded = (
        cell.rjust(width) if column.right else cell.ljust(width)
        for column, cell, width in zip(_COLUMNS, cells, widths, strict=True)
    )
    return " ".join(padded).rstrip()


def _styled(row: Row, widths: Sequence[int]) -> Text:
    text = Text(_line([_cell(row, column) for column in _COLUMNS], widths))
    text.highlight_words([row.outcome], OUTCOME_STYLES[row.outcome])
    return text


def _write(out: Console, text: Text) -> None:
    out.print(text, soft_wrap=True)
