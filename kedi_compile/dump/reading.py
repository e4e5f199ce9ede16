"""Dumps are read back from their file, a line at a time.

The rule: a piece that a crash cut off is counted and passed over; any other line that is no dump ends the reading
with an error that names the file, the line, and what is wrong with it. How lines are written is in `lines.py`.
Source: Assembly specification, Operational observability.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import BinaryIO, Final, NamedTuple

from pydantic import BaseModel, ValidationError

from kedi_compile.errors import DumpError

from .lines import TORN, rotated
from .schema import VERSION, RequestDump

MAX_LINE_BYTES: Final = 64 * 1024 * 1024


class Reading(Iterator[RequestDump]):
    """The dumps of a file in order, once; `torn` counts the pieces that a crash cut off, as far as it was read.

    Iterating raises `DumpError` at a line that is no dump.
    """

    __slots__ = ("_dumps", "torn")

    def __init__(self, files: tuple[Path, ...], max_line_bytes: int) -> None:
        self.torn = 0
        self._dumps = self._read(files, max_line_bytes)

    def __next__(self) -> RequestDump:
        return next(self._dumps)

    def close(self) -> None:
        """Close what is open, for a reading that is not gone through to its end."""
        self._dumps.close()

    def _read(self, files: tuple[Path, ...], most: int) -> Generator[RequestDump]:
        with ExitStack() as stack:
            for path, file in reversed(_opened(files, stack)):
                for line in _lines(path, file, most):
                    dump = _dump_of(line)
                    if dump is None:
                        self.torn += 1
                    else:
                        yield dump


def read_dumps(
    path: str | os.PathLike[str], *, rotated_too: bool = False, max_line_bytes: int = MAX_LINE_BYTES
) -> Reading:
    """Return the dumps in the file at `path`, in the order in which they were written; one line is held at a time.

    Args:
        path: The file.
        rotated_too: Whether its rotated files are read first, the oldest of them at the beginning.
        max_line_bytes: How long a line may be.

    Raises:
        DumpError: there is no file; and while reading, a line that is no dump of a version that is known here.
    """
    newest = Path(path)
    files = (newest, *(_rotated_files(newest) if rotated_too else ()))
    if not any(file.is_file() for file in files):
        msg = f"There is no dump at {str(newest)!r}; name the file that `dump=` was given"
        raise DumpError(msg, path=str(newest))
    return Reading(files, max_line_bytes)


def _rotated_files(path: Path) -> Iterator[Path]:
    """Yield the rotated files, the newest of them first."""
    name = re.compile(re.escape(path.name) + r"\.([1-9][0-9]{0,8})")
    beside = path.parent.iterdir() if path.parent.is_dir() else ()
    found = (name.fullmatch(other.name) for other in beside)
    yield from (rotated(path, number) for number in sorted(int(match[1]) for match in found if match))


def _opened(files: tuple[Path, ...], stack: ExitStack) -> list[tuple[Path, BinaryIO]]:
    """Open the files from the newest on: one that is renamed meanwhile is then met twice, not never."""
    opened: dict[tuple[int, int], tuple[Path, BinaryIO]] = {}
    for path in files:
        try:
            file = stack.enter_context(path.open("rb"))
        except FileNotFoundError:
            continue
        except OSError as exc:
            msg = f"The dump {str(path)!r} cannot be read: {exc.strerror}"
            raise DumpError(msg, path=str(path)) from exc
        status = os.fstat(file.fileno())
        opened.setdefault((status.st_dev, status.st_ino), (path, file))
    return list(opened.values())


class _Line(NamedTuple):
    path: str
    number: int
    text: bytes
    torn: bool


def _lines(path: Path, file: BinaryIO, most: int) -> Iterator[_Line]:
    number = 0
    while line := file.readline(most + 1):
        number += 1
        if len(line) > most and not line.endswith(b"\n"):
            raise _error(str(path), number, f"is longer than {most:,} bytes; allow more with `max_line_bytes`")
        text = line.removesuffix(b"\n")
        torn = text is line or text.endswith(TORN)
        yield _Line(str(path), number, text.removesuffix(TORN), torn)


def _dump_of(line: _Line) -> RequestDump | None:
    """Return the dump in a line, None where a crash cut the line off."""
    try:
        dump = RequestDump.model_validate_json(line.text)
    except ValidationError as exc:
        if line.torn and exc.errors(include_url=False)[0]["type"] == "json_invalid":
            return None
        newer = _version_of(line.text)
        raise _error(line.path, line.number, _too_new(newer) if newer > VERSION else _wrong(exc)) from None
    if dump.version > VERSION:
        raise _error(line.path, line.number, _too_new(dump.version))
    return dump


class _Version(BaseModel):
    version: int = VERSION


def _version_of(text: bytes) -> int:
    try:
        return _Version.model_validate_json(text).version
    except ValidationError:
        return VERSION


def _too_new(version: int) -> str:
    return f"is a dump of version {version}, and this release reads up to version {VERSION}; read it with a newer one"


def _wrong(exc: ValidationError) -> str:
    """Say what is wrong first, without a word of the line itself."""
    first = exc.errors(include_url=False, include_input=False, include_context=False)[0]
    where = ".".join(map(str, first["loc"]))
    return f"is no dump: {f'`{where}`: ' if where else ''}{first['msg']}"


def _error(path: str, number: int, wrong: str) -> DumpError:
    return DumpError(f"Line {number} of {path!r} {wrong}", path=path, line=number)
