"""Lines at the end of a file, from many threads and processes: one write a line, and rotation between lines.

The rule: whoever appends or rotates holds the lock of `NAME.lock` beside the file, and opens the file anew, so no
descriptor is older than the file's name and nothing is shared across a fork. A writer that died within a line left no
line break; the next one ends that piece with `TORN` and begins a line of its own. What a line says is in `file.py`,
how lines are read in `reading.py`. Source: Assembly specification, Operational observability.
"""

from __future__ import annotations

import os
import stat
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kedi_compile.errors import HistoryConfigurationError

if sys.platform != "win32":
    import fcntl

TORN: Final = b"\x18"
"""Cancel: what stands before it in its line was cut off by a crash. No JSON text holds this byte unescaped."""

OWNER_ONLY: Final = 0o600

_PAUSES: Final = (0.0, *(0.001,) * 200, *(0.005,) * 160, *(0.02,) * 50)
"""Seconds between attempts at the lock, two in all: a stopped process must not stop everybody's requests."""

_APPEND: Final = os.O_RDWR | os.O_APPEND | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)


@dataclass(frozen=True, slots=True)
class Lines:
    """Append lines to the file at `path`, an absolute one; sizes in bytes.

    When a line would make the file larger than `max_bytes`, the file becomes `NAME.1`, that one `NAME.2`, up to
    `NAME.<keep>`; what was there goes. A line that is larger by itself is a file of its own.
    """

    path: Path
    max_bytes: int
    keep: int
    fsync: bool

    def check(self) -> None:
        """Find out whether lines can be written here, without making the file.

        Raises:
            HistoryConfigurationError: the folder is not there, or the path is no file, or may not be written.
        """
        if not self.path.parent.is_dir():
            msg = f"There is no folder {str(self.path.parent)!r} for the dump {self.path.name!r}; make it first"
            raise HistoryConfigurationError(msg)
        try:
            with _locked(self._lock_path):
                if self.path.exists():
                    os.close(self._opened())
        except (OSError, ValueError) as exc:
            msg = (
                f"The dump cannot be written to {str(self.path)!r}: {exc}; name a file in a folder that can be written"
            )
            raise HistoryConfigurationError(msg) from exc

    def append(self, line: bytes) -> None:
        """Append `line` and a line break; safe from any thread and process.

        Raises:
            OSError: the line was not written, or not all of it.
        """
        with _locked(self._lock_path):
            descriptor = self._opened()
            try:
                size = os.fstat(descriptor).st_size
                if size and size + len(line) + 1 > self.max_bytes:
                    os.close(descriptor)
                    descriptor = -1
                    self._rotate()
                    descriptor = self._opened()
                self._write(descriptor, line)
            finally:
                if descriptor >= 0:
                    os.close(descriptor)

    def _write(self, descriptor: int, line: bytes) -> None:
        data = (TORN + b"\n" if _is_torn(descriptor) else b"") + line + b"\n"
        written = os.write(descriptor, data)
        if written < len(data):
            msg = f"Only {written:,} of {len(data):,} bytes could be written to {str(self.path)!r}"
            raise OSError(msg)
        if self.fsync:
            os.fsync(descriptor)

    def _opened(self) -> int:
        descriptor = os.open(self.path, _APPEND | os.O_CREAT | getattr(os, "O_NONBLOCK", 0), OWNER_ONLY)
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            return descriptor
        os.close(descriptor)
        msg = "it is not a regular file"
        raise OSError(msg)

    def _rotate(self) -> None:
        names = [self.path, *(rotated(self.path, number) for number in range(1, self.keep + 1))]
        names[-1].unlink(missing_ok=True)
        for older, newer in zip(reversed(names), reversed(names[:-1]), strict=False):
            if newer.exists():
                newer.replace(older)

    @property
    def _lock_path(self) -> Path:
        return self.path.with_name(f"{self.path.name}.lock")


def rotated(path: Path, number: int) -> Path:
    """Return the name of the file that was `path` `number` rotations ago, counted from 1."""
    return path.with_name(f"{path.name}.{number}")


def _is_torn(descriptor: int) -> bool:
    size = os.fstat(descriptor).st_size
    if not size:
        return False
    os.lseek(descriptor, size - 1, os.SEEK_SET)
    return os.read(descriptor, 1) != b"\n"


_HELD: Final[set[int]] = set()
"""Descriptors of locks that some thread of this process has open."""


if sys.platform != "win32":

    @contextmanager
    def _locked(path: Path) -> Generator[None]:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK, OWNER_ONLY)
        _HELD.add(descriptor)
        try:
            _wait(descriptor, path)
            try:
                yield
            finally:
                # Closing is not enough: a child forked meanwhile holds the same lock until it has closed its copy.
                fcntl.flock(descriptor, fcntl.LOCK_UN)
        finally:
            _HELD.discard(descriptor)
            os.close(descriptor)

    def _wait(descriptor: int, path: Path) -> None:
        for pause in _PAUSES:
            if pause:
                threading.Event().wait(pause)
            try:
                return fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                continue
        msg = f"Another process keeps {str(path)!r} locked"
        raise OSError(msg)

    def _in_child() -> None:
        # The thread that held them does not exist here, and an open copy would keep the lock past the parent's death.
        for descriptor in _HELD:
            os.close(descriptor)
        _HELD.clear()

    os.register_at_fork(after_in_child=_in_child)
else:  # There is no fork, and nothing to keep several processes apart.
    _THREADS: Final = threading.Lock()

    @contextmanager
    def _locked(path: Path) -> Generator[None]:
        with _THREADS:
            path.touch(OWNER_ONLY)
            yield
