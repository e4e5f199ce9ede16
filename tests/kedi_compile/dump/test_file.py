"""The dump's file: what a line holds, and which settings it refuses."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from canaries import full_dump
from dump_writer import dump_of
from kedi_compile.dump.file import DumpFile, line_of
from kedi_compile.dump.schema import RequestDump, UsageDump
from kedi_compile.errors import HistoryConfigurationError


def test_a_dump_is_a_line_of_json(tmp_path: Path) -> None:
    """A line is the dump's own JSON, every field of it."""
    path = tmp_path / "dump.jsonl"
    dump = full_dump("text with\nline breaks \u2028 and ünïcode")

    DumpFile(path).write(dump)

    (line,) = path.read_bytes().splitlines()
    assert RequestDump.model_validate_json(line) == dump
    assert orjson.loads(line) == dump.model_dump(mode="json")


def test_secrets_are_replaced_before_a_dump_is_written(tmp_path: Path) -> None:
    """Known shapes first, then the file's own redactions."""
    path = tmp_path / "dump.jsonl"
    file = DumpFile(path, redact=lambda text: text.replace("Bluebird", "[project]"))

    file.write(dump_of("1", error="Bluebird refused password=hunter2"))

    assert orjson.loads(path.read_bytes())["error"] == "[project] refused password=[redacted: secret]"


def test_a_lone_surrogate_is_written_visibly() -> None:
    """A text that is no Unicode costs a character, not the dump, whether it is a value or a key."""
    line = line_of(full_dump("a\ud800b"))

    assert RequestDump.model_validate_json(line) == full_dump(r"a\ud800b")


def test_a_number_of_any_size_is_written() -> None:
    """A limit that nobody reaches costs no dump."""
    dump = full_dump("a").model_copy(update={"usage": UsageDump(input=2**70)})

    assert RequestDump.model_validate_json(line_of(dump)) == dump


def test_a_file_is_forced_to_the_disk_where_that_is_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`fsync` is off by default."""
    forced: list[int] = []
    monkeypatch.setattr(os, "fsync", forced.append)
    DumpFile(tmp_path / "dump.jsonl").write(dump_of("1"))
    assert not forced

    DumpFile(tmp_path / "dump.jsonl", fsync=True).write(dump_of("2"))

    assert len(forced) == 1


def test_a_relative_path_stays_where_it_was(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that goes to another folder writes on to the same file."""
    monkeypatch.chdir(tmp_path)
    file = DumpFile("dump.jsonl")
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")

    file.write(dump_of("1"))

    assert (tmp_path / "dump.jsonl").exists()
    assert repr(file) == f"DumpFile({str(tmp_path / 'dump.jsonl')!r})"


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"max_bytes": 0}, "`max_bytes` of a dump's file is 0; it must be an int of at least 1"),
        ({"max_bytes": 1.5}, "`max_bytes` of a dump's file is 1.5; it must be an int of at least 1"),
        ({"keep": -1}, "`keep` of a dump's file is -1; it must be an int of at least 0"),
        ({"keep": True}, "`keep` of a dump's file is True; it must be an int of at least 0"),
        ({"redact": 7}, "`redact` is 7; it must be a callable that takes a text"),
        ({"path": 7}, "The dump's path is 7; it must be a str or a path"),
        ({"path": "a\0b"}, r"The dump's path 'a\\x00b' names no file: embedded null"),
        ({"path": ""}, "it is not a regular file|Is a directory"),
        ({"path": "missing/dump.jsonl"}, "There is no folder '.*missing' for the dump 'dump.jsonl'; make it first"),
    ],
)
def test_a_setting_that_can_never_work_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, settings: dict[str, object], message: str
) -> None:
    """The error comes with the setting, and says what would be right."""
    monkeypatch.chdir(tmp_path)

    with pytest.raises(HistoryConfigurationError, match=message):
        DumpFile(**{"path": "dump.jsonl", **settings})  # type: ignore[arg-type]  # the point of the test
