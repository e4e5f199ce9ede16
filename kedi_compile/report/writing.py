"""What `kedi-compile report` does: read a dump, render its page, and put it in its place, whole or not at all.

The page is written beside its place and then renamed, so whoever opens it meanwhile sees the old one.
"""

from __future__ import annotations

import os
from pathlib import Path

from rich.console import Console
from rich.text import Text

from kedi_compile.errors import DumpError
from kedi_compile.report.inspection import complain, mention_torn, open_dump
from kedi_compile.report.page import render
from kedi_compile.report.plain import on_one_line
from kedi_compile.report.selection import Counted


def report(out: Console, err: Console, path: Path, target: Path) -> int:
    """Write the page of a dump to `target` and return the exit status: 2 where the one or the other cannot be used."""
    try:
        fault = _fault(path, target)
        return complain(err, fault) if fault else _report(out, err, path, target)
    except DumpError as error:
        return complain(err, str(error))
    except OSError as error:
        return complain(err, f"{target} cannot be written: {error.strerror}; name a file in a directory that can be")


def _report(out: Console, err: Console, path: Path, target: Path) -> int:
    reading = open_dump(path)
    dumps = Counted(reading)
    page = render(path.name, dumps)
    mention_torn(err, path, reading)
    if not dumps.count:
        return complain(err, f"{path} holds no request, so there is nothing to draw")
    write(target, page)
    out.print(Text(on_one_line(f"Wrote {target}")), soft_wrap=True)
    return 0


def _fault(path: Path, target: Path) -> str | None:
    """Say why the target is none; renaming onto a device or onto the dump itself would destroy it."""
    if target.is_dir():
        return f"{target} is a directory; name a file in it, such as {target / 'report.html'}"
    if target.exists() and not target.is_file():
        return f"{target} is no regular file; name one that may be overwritten"
    if target.exists() and path.exists() and target.samefile(path):
        return f"{target} is the dump itself; name another file for the report"
    return None


def write(target: Path, text: str) -> None:
    """Write the text to the file, or leave it as it was.

    Raises:
        OSError: the directory is not there or cannot be written to; nothing is left behind.
    """
    target = target.resolve()  # a link stays a link
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.touch(mode=0o600)  # the dump is for its owner's eyes only, and so is what is drawn of it
        beside.write_text(text, encoding="utf-8")
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)
