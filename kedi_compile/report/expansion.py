"""One request in full at a terminal; what is said comes from `decision.py`.

Texts are cut to a few lines, because the dump itself (`--json`) has them whole. Every text is handed to rich as `Text`
without control characters, so that neither its markup nor an escape sequence in a dump is obeyed.
"""

from __future__ import annotations

from typing import Final

from rich import box
from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from kedi_compile.report.decision import NUMERIC, Block, explain
from kedi_compile.report.listing import OUTCOME_STYLES
from kedi_compile.report.plain import on_one_line, spell_out
from kedi_compile.report.selection import Numbered

_LINES: Final = 8
"""How many lines of a text are shown."""
_NEVER_CUT: Final = frozenset({"place", "decision", "tokens", "bytes", "share", "entries", "state", "in force", "hash"})
_STYLES: Final = {
    **OUTCOME_STYLES,
    **dict.fromkeys(("included", "kept", "yes", "passed", "acknowledged"), "green"),
    **dict.fromkeys(("compacted", "rehydrated", "archived", "replaced", "stripped", "moved", "stale"), "yellow"),
    **dict.fromkeys(("omitted", "dropped", "no"), "red"),
}
_STYLED: Final = frozenset({"decision", "state", "in force", "outcome"})


def show(out: Console, request: Numbered) -> None:
    """Write everything about one request."""
    out.print(Rule(Text(f"Request {request.number}", "bold"), align="left", style="dim"))
    for block in explain(request.dump):
        _show_block(out, block)


def _show_block(out: Console, block: Block) -> None:
    out.print()
    out.print(Text(block.title, "bold"))
    if block.facts:
        out.print(_indented(_facts(block), 2))
    if block.rows:
        out.print(_indented(_table(block), 2))
    for heading, text in block.texts:
        _show_text(out, heading, text)


def _facts(block: Block) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(style="dim", no_wrap=True)
    table.add_column(overflow="fold")
    for name, value in block.facts:
        table.add_row(name, Text(on_one_line(value), _style(name, value)))
    return table


def _table(block: Block) -> Table:
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False, padding=(0, 1, 0, 0))
    table.header_style, table.border_style = "dim", "dim"
    for name in block.columns:
        table.add_column(
            name, justify="right" if name in NUMERIC else "left", overflow="fold", no_wrap=name in _NEVER_CUT
        )
    for row in block.rows:
        cells = zip(block.columns, row, strict=True)
        table.add_row(*(Text(on_one_line(value), _style(name, value)) for name, value in cells))
    return table


def _style(name: str, value: str) -> str:
    return _STYLES.get(value, "") if name in _STYLED else ""


def _show_text(out: Console, heading: str, text: str) -> None:
    if heading:
        out.print(_indented(Text(on_one_line(heading), "dim"), 2))
    lines = spell_out(text).splitlines()
    for line in lines[:_LINES]:
        out.print(_indented(Text(line), 4 if heading else 2))
    if len(lines) > _LINES:
        out.print(_indented(Text(f"and {len(lines) - _LINES:,} more lines; --json has them all", "dim"), 4))


def _indented(what: RenderableType, columns: int) -> Padding:
    return Padding(what, (0, 0, 0, columns), expand=False)
