"""What `kedi-compile inspect` does: read a dump, choose requests, and list, expand or print them.

What can be wrong with the file is told apart in `kedi_compile/dump/reading.py`; here it becomes one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path

from rich.console import Console
from rich.text import Text

from kedi_compile.dump.reading import Reading, read_dumps
from kedi_compile.errors import DumpError
from kedi_compile.report import expansion, listing
from kedi_compile.report.plain import on_one_line
from kedi_compile.report.selection import Counted, Numbered, Selection


def inspect(out: Console, err: Console, path: Path, selection: Selection, *, as_json: bool) -> int:
    """Show the chosen requests of a dump and return the exit status: 2 where there is nothing to show them from."""
    try:
        reading = open_dump(path)
        dumps = Counted(reading)
        shown = _show(out, selection, dumps, as_json=as_json)
    except DumpError as error:
        return complain(err, str(error))
    mention_torn(err, path, reading)
    if shown:
        return 0
    if not dumps.count:
        return complain(err, f"{path} holds no request; name a file that requests were dumped to")
    status = complain(err, f"{path} holds no {selection}; `kedi-compile inspect` lists the {dumps.count:,} it holds")
    return 0 if selection.may_be_empty else status


def open_dump(path: Path) -> Reading:
    """Begin to read a dump.

    Raises:
        DumpError: there is none, or the path cannot even be looked at.
    """
    try:
        return read_dumps(path)
    except OSError as exc:
        msg = f"The dump {str(path)!r} cannot be read: {exc.strerror}"
        raise DumpError(msg, path=str(path)) from exc


def complain(err: Console, sentence: str) -> int:
    """Write one line of complaint and return the exit status that goes with it."""
    err.print(Text(on_one_line(sentence)), soft_wrap=True)
    return 2


def mention_torn(err: Console, path: Path, reading: Reading) -> None:
    """Say how many lines were cut off by a crash, which is no reason not to show the others."""
    if reading.torn:
        lines = "1 line" if reading.torn == 1 else f"{reading.torn:,} lines"
        err.print(Text(on_one_line(f"Passed over {lines} of {path} that a crash cut off")), soft_wrap=True)


def _show(out: Console, selection: Selection, dumps: Counted, *, as_json: bool) -> int:
    chosen = selection.choose(dumps)
    if as_json:
        return _print_json(out, chosen)
    return listing.show(out, chosen) if selection.request is None else _expand(out, chosen)


def _expand(out: Console, chosen: Iterable[Numbered]) -> int:
    shown = 0
    for request in chosen:
        expansion.show(out, request)
        shown += 1
    return shown


def _print_json(out: Console, chosen: Iterable[Numbered]) -> int:
    shown = 0
    for request in chosen:
        # In ASCII, so that no control character of a text reaches a terminal.
        out.file.write(json.dumps(request.dump.model_dump(mode="json")) + "\n")
        shown += 1
    return shown
