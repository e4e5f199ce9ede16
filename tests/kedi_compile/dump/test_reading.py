"""Reading dumps: in order, a line at a time, past what a crash cut off, and with a clear error for all else."""

from __future__ import annotations

import tracemalloc
from pathlib import Path

import pytest

from canaries import full_dump
from dump_writer import dump_of
from kedi_compile.dump.file import DumpFile, line_of
from kedi_compile.dump.reading import read_dumps
from kedi_compile.errors import DumpError

GOOD = line_of(dump_of("good"))


def written(tmp_path: Path, content: bytes) -> Path:
    """Return a file with that content."""
    path = tmp_path / "dump.jsonl"
    path.write_bytes(content)
    return path


def test_dumps_come_back_as_they_were_written(tmp_path: Path) -> None:
    """All fields, in order."""
    path = tmp_path / "dump.jsonl"
    dumps = [full_dump("one"), dump_of("two"), full_dump("three\n")]
    for dump in dumps:
        DumpFile(path).write(dump)

    reading = read_dumps(path)

    assert list(reading) == dumps
    assert reading.torn == 0


def test_rotated_files_are_read_first_if_asked(tmp_path: Path) -> None:
    """The oldest comes first, and ten comes after nine; other files beside are none of them."""
    for name, request_id in [("", "c"), (".1", "b9"), (".2", "b"), (".10", "a"), (".1.gz", "x"), (".01", "y")]:
        (tmp_path / f"dump.jsonl{name}").write_bytes(line_of(dump_of(request_id)) + b"\n")

    assert [dump.request_id for dump in read_dumps(tmp_path / "dump.jsonl")] == ["c"]
    assert [dump.request_id for dump in read_dumps(str(tmp_path / "dump.jsonl"), rotated_too=True)] == [
        "a",
        "b",
        "b9",
        "c",
    ]


def test_a_rotation_while_reading_loses_and_doubles_nothing(tmp_path: Path) -> None:
    """What is read was opened when the reading began."""
    path = tmp_path / "dump.jsonl"
    file = DumpFile(path, max_bytes=10)
    for name in "abc":
        file.write(dump_of(name))
    reading = read_dumps(path, rotated_too=True)
    first = next(reading)

    file.write(dump_of("d"))

    assert [first.request_id, *(dump.request_id for dump in reading)] == ["a", "b", "c"]


@pytest.mark.parametrize("end", [b'{"request_id": "x', b"{", GOOD[:-1], b"\x00\x00\x00", GOOD[:20] + b"\xc3"])
def test_a_torn_last_line_is_counted(tmp_path: Path, end: bytes) -> None:
    """What a crash cut off is no error, and no dump."""
    reading = read_dumps(written(tmp_path, GOOD + b"\n" + end))

    assert [dump.request_id for dump in reading] == ["good"]
    assert reading.torn == 1


def test_a_torn_line_is_counted_when_others_follow(tmp_path: Path) -> None:
    """A line that the next writer marked as torn is passed over."""
    path = written(tmp_path, GOOD + b"\n" + GOOD[:30])
    DumpFile(path).write(dump_of("next"))

    reading = read_dumps(path)

    assert [dump.request_id for dump in reading] == ["good", "next"]
    assert reading.torn == 1


def test_a_whole_dump_without_its_line_break_is_a_dump(tmp_path: Path) -> None:
    """Only the line break was cut off, so nothing is lost, now or when another line follows."""
    path = written(tmp_path, GOOD)
    assert len(list(read_dumps(path))) == 1

    DumpFile(path).write(dump_of("next"))

    reading = read_dumps(path)
    assert [dump.request_id for dump in reading] == ["good", "next"]
    assert reading.torn == 0


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b'{"request_id": "x', "is no dump: Invalid JSON: EOF while parsing a string"),
        (b"", "is no dump: Invalid JSON: EOF"),
        (b"[]", "is no dump: Input should be an object"),
        (b'{"request_id": 7}', "is no dump: `request_id`: Input should be a valid string"),
        (GOOD.replace(b'"answered"', b'"lost"'), "is no dump: `outcome`: Input should be 'answered', "),
        (b"\xff\xfe" + GOOD, "is no dump: Invalid JSON: expected value"),
        (GOOD.replace(b"good", b"\xff"), "is no dump: Invalid JSON: invalid unicode"),
        (GOOD.replace(b"good", b"\x00"), "is no dump: Invalid JSON: control character"),
        (b"\x00" * 100, "is no dump: Invalid JSON: expected value"),
        (b'{"lane": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "is no dump: Invalid JSON: recursion limit"),
        (b'{"lane": ' + b"9" * 100_000 + b"}", "is no dump: "),
        (
            GOOD.replace(b'"version":1', b'"version":2'),
            "is a dump of version 2, and this release reads up to version 1",
        ),
        (b'{"version": 3, "requests": []}', "is a dump of version 3, and this release reads up to version 1"),
        (b'{"version": "new"}', "is no dump: `version`: Input should be a valid integer"),
    ],
    ids=range(14),
)
def test_a_line_that_is_no_dump_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    """The error has the file, the line from 1 on, and what is wrong; what stands before was read."""
    path = written(tmp_path, GOOD + b"\n" + line + b"\n" + GOOD + b"\n")
    reading = read_dumps(path)
    assert next(reading).request_id == "good"

    with pytest.raises(DumpError) as caught:
        next(reading)

    assert str(caught.value).startswith(f"Line 2 of {str(path)!r} {message}")
    assert (caught.value.path, caught.value.line) == (str(path), 2)
    assert list(reading) == []


def test_an_error_shows_nothing_of_the_line(tmp_path: Path) -> None:
    """A file that is no dump may hold anything."""
    path = written(tmp_path, b'{"request_id": ["hunter2"]}\n')

    with pytest.raises(DumpError) as caught:
        list(read_dumps(path))

    assert "hunter2" not in str(caught.value)


def test_a_line_that_is_too_long_is_refused_unread(tmp_path: Path) -> None:
    """No more of it than the bound is held; the bound is the reader's choice."""
    path = written(tmp_path, GOOD + b"\n" + b"x" * 20_000_000 + b"\n")
    reading = read_dumps(path, max_line_bytes=1_000_000)
    next(reading)
    tracemalloc.start()

    with pytest.raises(DumpError, match="is longer than 1,000,000 bytes; allow more with `max_line_bytes`"):
        next(reading)

    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 4_000_000


def test_a_line_of_just_the_bound_is_read(tmp_path: Path) -> None:
    """The line break does not count."""
    path = written(tmp_path, GOOD + b"\n")

    assert len(list(read_dumps(path, max_line_bytes=len(GOOD)))) == 1
    with pytest.raises(DumpError, match="is longer than"):
        list(read_dumps(path, max_line_bytes=len(GOOD) - 1))


def test_a_file_without_lines_holds_no_dumps(tmp_path: Path) -> None:
    """An empty file is no error."""
    assert list(read_dumps(written(tmp_path, b""))) == []


@pytest.mark.parametrize("name", ["missing.jsonl", "", "missing/dump.jsonl"])
def test_a_file_that_is_not_there_is_an_error_at_once(tmp_path: Path, name: str) -> None:
    """A missing file, and a folder, are no dump."""
    with pytest.raises(DumpError, match="There is no dump at"):
        read_dumps(tmp_path / name, rotated_too=True)


def test_a_reading_may_be_left_early(tmp_path: Path) -> None:
    """Closing it closes the file."""
    reading = read_dumps(written(tmp_path, (GOOD + b"\n") * 3))
    next(reading)

    reading.close()

    assert list(reading) == []
