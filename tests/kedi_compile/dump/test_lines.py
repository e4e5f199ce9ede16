"""Lines: appended by many at once, rotated between lines, and begun anew after a crash."""

from __future__ import annotations

import fcntl
import os
import signal
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import kedi_compile
from dump_writer import PROGRAM, dump_of
from kedi_compile.dump import lines
from kedi_compile.dump.file import DumpFile
from kedi_compile.dump.lines import Lines
from kedi_compile.dump.reading import read_dumps
from kedi_compile.errors import HistoryConfigurationError

PLENTY = 1_000_000


def start(*arguments: object) -> subprocess.Popen[str]:
    """Start `dump_writer.py`, which finds the package where this process does."""
    surroundings = {**os.environ, "PYTHONPATH": str(Path(kedi_compile.__file__).parent.parent)}
    command = [sys.executable, str(PROGRAM), *map(str, arguments)]
    return subprocess.Popen(command, env=surroundings, text=True, stdout=subprocess.PIPE)


def ids_in(path: Path) -> list[str]:
    """Return the ids of all dumps, rotated ones too."""
    return [dump.request_id for dump in read_dumps(path, rotated_too=True)]


def make(path: Path, *, max_bytes: int = PLENTY, keep: int = 3) -> Lines:
    """Return lines to append to."""
    return Lines(path, max_bytes, keep, fsync=False)


def test_a_line_ends_with_a_line_break(tmp_path: Path) -> None:
    """Lines stand one below the other."""
    file = make(tmp_path / "dump.jsonl")

    file.append(b"one")
    file.append(b"two")

    assert (tmp_path / "dump.jsonl").read_bytes() == b"one\ntwo\n"


def test_only_the_owner_may_read(tmp_path: Path) -> None:
    """The file and its lock are nobody else's business."""
    make(tmp_path / "dump.jsonl").append(b"one")

    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in tmp_path.iterdir()}
    assert modes == {"dump.jsonl": 0o600, "dump.jsonl.lock": 0o600}


def test_a_line_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No crash leaves a line break without its line, and no reader sees a line in two steps."""
    written: list[bytes] = []
    real = os.write

    def write(descriptor: int, data: bytes) -> int:
        written.append(data)
        return real(descriptor, data)

    monkeypatch.setattr(os, "write", write)

    make(tmp_path / "dump.jsonl").append(b"one")

    assert written == [b"one\n"]


def test_a_torn_line_is_ended_before_the_next(tmp_path: Path) -> None:
    """What a crash left is marked, and the new line is a line of its own."""
    path = tmp_path / "dump.jsonl"
    path.write_bytes(b'whole\n{"torn')

    make(path).append(b"next")

    assert path.read_bytes() == b'whole\n{"torn\x18\nnext\n'


def test_a_line_that_was_written_in_part_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A full disk is told, and the next line begins anew."""
    file = make(tmp_path / "dump.jsonl")
    real = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: real(descriptor, data[:2]))

    with pytest.raises(OSError, match="Only 2 of 4 bytes could be written"):
        file.append(b"one")

    monkeypatch.setattr(os, "write", real)
    file.append(b"two")

    assert (tmp_path / "dump.jsonl").read_bytes() == b"on\x18\ntwo\n"


def test_a_full_file_is_rotated(tmp_path: Path) -> None:
    """No file grows beyond its bound, the newest rotated one is number 1, and the oldest goes."""
    file = make(tmp_path / "dump.jsonl", max_bytes=8, keep=2)

    for number in range(7):
        file.append(b"l-%d" % number)

    assert {path.name: path.read_bytes() for path in tmp_path.iterdir()} == {
        "dump.jsonl": b"l-6\n",
        "dump.jsonl.1": b"l-4\nl-5\n",
        "dump.jsonl.2": b"l-2\nl-3\n",
        "dump.jsonl.lock": b"",
    }


def test_without_rotated_files_a_full_file_is_dropped(tmp_path: Path) -> None:
    """With `keep=0` there is one file only."""
    file = make(tmp_path / "dump.jsonl", max_bytes=4, keep=0)

    file.append(b"one")
    file.append(b"two")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["dump.jsonl", "dump.jsonl.lock"]
    assert (tmp_path / "dump.jsonl").read_bytes() == b"two\n"


def test_a_line_larger_than_the_bound_is_a_file_of_its_own(tmp_path: Path) -> None:
    """It is written, alone."""
    file = make(tmp_path / "dump.jsonl", max_bytes=5, keep=3)

    for line in (b"one", b"much longer", b"two"):
        file.append(line)

    assert (tmp_path / "dump.jsonl.2").read_bytes() == b"one\n"
    assert (tmp_path / "dump.jsonl.1").read_bytes() == b"much longer\n"
    assert (tmp_path / "dump.jsonl").read_bytes() == b"two\n"


def test_a_gap_between_rotated_files_is_closed_over(tmp_path: Path) -> None:
    """A crash within a rotation, or somebody's broom, is no reason to fail."""
    (tmp_path / "dump.jsonl.2").write_bytes(b"old\n")
    file = make(tmp_path / "dump.jsonl", max_bytes=4)

    file.append(b"one")
    file.append(b"two")

    assert (tmp_path / "dump.jsonl.3").read_bytes() == b"old\n"
    assert (tmp_path / "dump.jsonl.1").read_bytes() == b"one\n"


def test_a_file_that_is_taken_away_is_made_again(tmp_path: Path) -> None:
    """No line goes to a file without a name."""
    file = make(tmp_path / "dump.jsonl")
    file.append(b"one")
    (tmp_path / "dump.jsonl").rename(tmp_path / "elsewhere")

    file.append(b"two")

    assert (tmp_path / "dump.jsonl").read_bytes() == b"two\n"


def test_many_threads_append_whole_lines(tmp_path: Path) -> None:
    """Through one value or several, with rotations in between, every line arrives once and whole."""
    path = tmp_path / "dump.jsonl"
    files = [DumpFile(path, max_bytes=5_000, keep=50) for _ in range(2)]
    names = [f"{number}" for number in range(300)]

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda name: files[int(name) % 2].write(dump_of(name)), names))

    assert sorted(ids_in(path)) == sorted(names)


def test_several_processes_append_whole_lines(tmp_path: Path) -> None:
    """With rotations in between, every line arrives once and whole, in each writer's order."""
    path = tmp_path / "dump.jsonl"
    writers = [start("write", path, name, 150, 20_000) for name in "abcd"]

    for writer in writers:
        writer.communicate()
    assert [writer.returncode for writer in writers] == [0, 0, 0, 0]
    ids = ids_in(path)
    for name in "abcd":
        assert [one for one in ids if one.startswith(name)] == [f"{name}-{number}" for number in range(150)]
    assert len(ids) == 600
    assert all(one.stat().st_size <= 20_000 for one in tmp_path.iterdir())


def test_a_killed_writer_leaves_a_file_that_can_be_read_and_written(tmp_path: Path) -> None:
    """Whatever it was at, the lines before are there, and the lock is free."""
    path = tmp_path / "dump.jsonl"
    writer = start("die", path)
    assert writer.stdout is not None
    writer.stdout.readline()

    writer.send_signal(signal.SIGKILL)
    writer.communicate()
    DumpFile(path).write(dump_of("after"))

    ids = ids_in(path)
    assert ids == [*(f"die-{number}" for number in range(len(ids) - 1)), "after"]
    assert len(ids) > 1


def test_a_child_that_is_forked_under_the_lock_does_not_keep_it(tmp_path: Path) -> None:
    """The child's copy of the lock is closed, so neither its life nor its writing is in anybody's way."""
    path = tmp_path / "dump.jsonl"
    held = os.open(tmp_path / "dump.jsonl.lock", os.O_RDWR | os.O_CREAT)
    lines._HELD.add(held)  # noqa: SLF001  # what another thread would have open at this moment

    child = os.fork()
    if not child:
        closed = False
        try:
            os.fstat(held)
        except OSError:
            closed = not lines._HELD  # noqa: SLF001
        os._exit(0 if closed else 1)
    lines._HELD.discard(held)  # noqa: SLF001
    os.close(held)

    assert os.waitpid(child, 0)[1] == 0
    make(path).append(b"one")
    assert path.read_bytes() == b"one\n"


def test_a_lock_that_is_never_free_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A process that was stopped while it wrote does not stop this one."""
    monkeypatch.setattr(lines, "_PAUSES", (0.0, 0.0))
    file = make(tmp_path / "dump.jsonl")
    with (tmp_path / "dump.jsonl.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        with pytest.raises(OSError, match=r"Another process keeps '.*dump.jsonl.lock' locked"):
            file.append(b"one")

    file.append(b"two")
    assert (tmp_path / "dump.jsonl").read_bytes() == b"two\n"


def test_checking_makes_no_file(tmp_path: Path) -> None:
    """The file comes with its first line."""
    make(tmp_path / "dump.jsonl").check()

    assert not (tmp_path / "dump.jsonl").exists()


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("missing/dump.jsonl", r"There is no folder '.*missing' for the dump 'dump.jsonl'; make it first"),
        ("folder", r"cannot be written to '.*folder': .*Is a directory"),
        ("pipe", r"cannot be written to '.*pipe': it is not a regular file"),
        ("x" * 300, r"cannot be written to .*File name too long"),
    ],
)
def test_a_place_that_takes_no_lines_is_refused(tmp_path: Path, name: str, message: str) -> None:
    """What is wrong with the path is said before the first request."""
    (tmp_path / "folder").mkdir()
    os.mkfifo(tmp_path / "pipe")

    with pytest.raises(HistoryConfigurationError, match=message):
        make(tmp_path / name).check()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_may_not_be_written_is_refused(tmp_path: Path) -> None:
    """Permission is looked at before the first request."""
    tmp_path.chmod(0o500)

    with pytest.raises(HistoryConfigurationError, match="Permission denied"):
        make(tmp_path / "dump.jsonl").check()


def test_what_the_system_refuses_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A file system that is read only says so before the first request."""

    def refusing(*arguments: object) -> int:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr(os, "open", refusing)

    with pytest.raises(HistoryConfigurationError, match="Read-only file system; name a file in a folder"):
        make(tmp_path / "dump.jsonl").check()
