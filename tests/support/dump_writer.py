"""A program that appends to a file of dumps from a process of its own.

- `write PATH NAME TIMES MAX_BYTES` writes that many dumps, whose ids are `NAME-0`, `NAME-1` and so on.
- `die PATH` writes one dump, says so, then writes on until it is killed.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Final

from kedi_compile.dump.file import DumpFile
from kedi_compile.dump.schema import RequestDump

PROGRAM: Final = Path(__file__)


def dump_of(request_id: str, error: str | None = None) -> RequestDump:
    """Return a short dump."""
    return RequestDump(
        request_id=request_id, at=1.0, request_index=1, adapter="toy", model_id="toy", outcome="answered", error=error
    )


def write(path: str, name: str, times: str, max_bytes: str) -> None:
    """Write dumps, one after another."""
    file = DumpFile(path, max_bytes=int(max_bytes), keep=50)
    for number in range(int(times)):
        file.write(dump_of(f"{name}-{number}"))


def die(path: str) -> None:
    """Write until somebody kills this process."""
    file = DumpFile(path)
    for number in itertools.count():
        file.write(dump_of(f"die-{number}", "x" * 200_000))
        if not number:
            sys.stdout.write("writing\n")
            sys.stdout.flush()


if __name__ == "__main__":
    COMMANDS: dict[str, Callable[..., None]] = {"write": write, "die": die}
    COMMANDS[sys.argv[1]](*sys.argv[2:])
