"""The dump's file: one request a line, appended; secrets are replaced first.

What a secret is lies in `redaction.py`, how lines reach the disk in `lines.py`, how they are read in `reading.py`.
Source: Assembly specification, Operational observability.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import orjson

from kedi_compile.errors import HistoryConfigurationError

from .lines import Lines
from .redaction import Redact, Redactor, redactor_of
from .schema import RequestDump

MAX_BYTES: Final = 64 * 1024 * 1024
KEEP: Final = 3


class DumpFile:
    """A file of dumps: JSON lines, for the owner's eyes only.

    Any number of threads and processes may append to one file, on a system that has `fcntl`; elsewhere it is one
    process for a file. Beside the file lies `NAME.lock`, which is empty.

    Args:
        path: The file, in a folder that exists; it is made with the first line.
        max_bytes: How large the file may become before it is rotated to `NAME.1`.
        keep: How many rotated files stay; with 0 a full file is dropped.
        redact: What replaces secrets of your own, after the known shapes; one callable or several.
        fsync: Whether every line is forced to the disk, which takes milliseconds.

    Raises:
        HistoryConfigurationError: a setting is no such setting, or nothing can be written at `path`.
    """

    __slots__ = ("lines", "path", "redactor")

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        max_bytes: int = MAX_BYTES,
        keep: int = KEEP,
        redact: Redact | Sequence[Redact] = (),
        fsync: bool = False,
    ) -> None:
        _check_count("max_bytes", max_bytes, least=1)
        _check_count("keep", keep, least=0)
        self.redactor: Final[Redactor] = redactor_of(redact)
        self.path: Final[Path] = _absolute(path)
        self.lines: Final = Lines(self.path, max_bytes, keep, fsync)
        self.lines.check()

    def __repr__(self) -> str:
        return f"DumpFile({str(self.path)!r})"

    def write(self, dump: RequestDump) -> None:
        """Append a dump, redacted; may block for as long as the disk does.

        Raises:
            OSError: it was not written.
        """
        self.lines.append(line_of(self.redactor.redact_dump(dump)))


def line_of(dump: RequestDump) -> bytes:
    r"""Return a dump's JSON, without a line break; a lone surrogate is written out as `\ud800`."""
    value = dump.model_dump()
    try:
        return orjson.dumps(value)
    except orjson.JSONEncodeError:
        # Not by orjson: it has no integers beyond 64 bits.
        return json.dumps(_encodable(value), ensure_ascii=False, separators=(",", ":")).encode()


def _encodable(value: object) -> object:
    if isinstance(value, str):
        return value.encode("utf-8", "backslashreplace").decode()
    if isinstance(value, dict):
        return {_encodable(key): _encodable(inner) for key, inner in value.items()}
    if isinstance(value, (tuple, list)):
        return [_encodable(inner) for inner in value]
    return value


def _absolute(path: object) -> Path:
    if not isinstance(path, (str, os.PathLike)):
        msg = f"The dump's path is {path!r}; it must be a str or a path"
        raise HistoryConfigurationError(msg)
    try:
        return Path(path).resolve()
    except (OSError, RuntimeError, ValueError) as exc:
        msg = f"The dump's path {path!r} names no file: {exc}"
        raise HistoryConfigurationError(msg) from exc


def _check_count(name: str, value: object, *, least: int) -> None:
    if type(value) is not int or value < least:
        msg = f"`{name}` of a dump's file is {value!r}; it must be an int of at least {least}"
        raise HistoryConfigurationError(msg)
