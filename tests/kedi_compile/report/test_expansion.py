"""One request in full at a terminal of 80 columns."""

from __future__ import annotations

from io import StringIO

from rich.console import Console

from dumps import build_run, poison
from kedi_compile.dump.schema import RequestDump
from kedi_compile.report.expansion import show
from kedi_compile.report.selection import Numbered


def expanded(dump: RequestDump, *, colour: bool = False) -> str:
    """Return what is written about a request at 80 columns."""
    out = Console(
        file=StringIO(), width=80, highlight=False, force_terminal=colour, color_system="standard" if colour else None
    )
    show(out, Numbered(9, dump))
    assert isinstance(out.file, StringIO)
    return out.file.getvalue()


def test_a_group_is_a_row_with_its_reasons() -> None:
    """Long reasons go on in the next line, below themselves."""
    text = expanded(build_run()[8])

    assert """\
  group  entries  tokens  state   decision  protected by      why
  ──────────────────────────────────────────────────────────────────────────────
  g0         0:2     210  closed  kept      system
  g1         2:4     340  closed  archived                    older than the
                                                              last 4 groups
""" in "\n".join(line.rstrip() for line in text.splitlines())


def test_every_request_fits_in_80_columns() -> None:
    """Whatever it says."""
    for dump in build_run():
        assert max(map(len, expanded(dump).splitlines())) <= 80


def test_a_long_text_is_cut_to_eight_lines() -> None:
    """And says how many there are more."""
    dump = build_run()[0]
    assert dump.assembly is not None
    epoch = dump.assembly.epoch.model_copy(update={"raw_objective": "\n".join(map(str, range(1, 31)))})
    dump = dump.model_copy(update={"assembly": dump.assembly.model_copy(update={"epoch": epoch})})

    text = expanded(dump)

    assert "    8\n    and 22 more lines; --json has them all\n" in text
    assert "    9\n" not in text


def test_neither_markup_nor_an_escape_is_obeyed() -> None:
    """In facts, cells and texts."""
    text = expanded(poison(build_run()[8]))

    assert "[bold]" in text
    assert not set(text) & {"\x1b", "\x9b", "\x00"}


def test_decisions_have_a_colour_at_a_terminal() -> None:
    """What was left out is red, what went in green."""
    text = expanded(build_run()[8], colour=True)

    assert "\x1b[31momitted" in text
    assert "\x1b[32mincluded" in text
