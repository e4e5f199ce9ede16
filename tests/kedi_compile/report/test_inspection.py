"""`kedi-compile inspect` as it is called: what it writes where, and with which exit status."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from dumps import build_run, write_dumps
from kedi_compile.cli import main
from kedi_compile.dump.schema import RequestDump


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the sample run's dump, `run.jsonl` in the current directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "80")
    return write_dumps(Path("run.jsonl"), build_run())


def inspect(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    """Run the command here and return its exit status."""
    monkeypatch.setattr(sys, "argv", ["kedi-compile", "inspect", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


@pytest.mark.usefixtures("dump")
def test_a_dump_is_listed(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Three lines of heading and one a request."""
    assert inspect(monkeypatch, "run.jsonl") == 0

    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 15
    assert err == ""


@pytest.mark.usefixtures("dump")
@pytest.mark.parametrize("name", ["9", "run-7f3a-09"])
def test_one_request_is_expanded(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    """By its number in the file or its id."""
    assert inspect(monkeypatch, "run.jsonl", "--request", name) == 0

    assert capsys.readouterr().out.startswith("Request 9 ─")


@pytest.mark.usefixtures("dump")
def test_json_is_the_chosen_dumps(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """One a line, and reading them gives the same dumps."""
    assert inspect(monkeypatch, "run.jsonl", "--failed", "--json") == 0

    lines = capsys.readouterr().out.splitlines()
    assert [RequestDump.model_validate_json(line) for line in lines] == [build_run()[7], build_run()[9]]


@pytest.mark.usefixtures("dump")
def test_json_holds_no_control_character(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Not even those that JSON lets through."""
    write_dumps(Path("run.jsonl"), [build_run()[0].model_copy(update={"error": "\x9b31m\u202e"})])

    inspect(monkeypatch, "run.jsonl", "--json")

    out = capsys.readouterr().out
    assert out.isascii()
    assert json.loads(out)["error"] == "\x9b31m\u202e"


@pytest.mark.usefixtures("dump")
@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["--request", "13"], "run.jsonl holds no request '13'; `kedi-compile inspect` lists the 12 it holds\n"),
        (["--run", "x"], "run.jsonl holds no request of run 'x'; `kedi-compile inspect` lists the 12 it holds\n"),
    ],
)
def test_a_name_that_nothing_has_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: list[str], line: str
) -> None:
    """And exit status 2."""
    assert inspect(monkeypatch, "run.jsonl", *arguments) == 2
    assert capsys.readouterr() == ("", line)


@pytest.mark.usefixtures("dump")
def test_a_run_without_trouble_is_no_error(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """Nothing failed, which is an answer."""
    write_dumps(Path("run.jsonl"), build_run()[:7])

    assert inspect(monkeypatch, "run.jsonl", "--failed") == 0
    assert capsys.readouterr().err.startswith("run.jsonl holds no failed or refused request;")


def _cut(text: str) -> str:
    return text[:-40]


@pytest.mark.usefixtures("dump")
@pytest.mark.parametrize(
    ("name", "content", "line"),
    [
        ("none.jsonl", None, "There is no dump at 'none.jsonl'; name the file that `dump=` was given\n"),
        (".", None, "There is no dump at '.'; name the file that `dump=` was given\n"),
        ("x" * 300, None, f"The dump '{'x' * 300}' cannot be read: File name too long\n"),
        ("a", "", "a holds no request; name a file that requests were dumped to\n"),
        ("a", "a poem\n", "Line 1 of 'a' is no dump: Invalid JSON: expected value at line 1 column 1\n"),
        (
            "a",
            '{"version": 2}\n',
            "Line 1 of 'a' is a dump of version 2, and this release reads up to version 1; read it with a newer one\n",
        ),
    ],
    ids=["missing", "directory", "long name", "empty", "no dump", "newer"],
)
def test_what_is_no_dump_is_one_line(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    name: str,
    content: str | None,
    line: str,
) -> None:
    """And exit status 2."""
    if content is not None:
        Path(name).write_text(content)

    assert inspect(monkeypatch, name) == 2
    assert capsys.readouterr() == ("", line)


def test_a_torn_last_line_is_mentioned(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The others are shown, and the exit status is that of success."""
    dump.write_text(_cut(dump.read_text()))

    assert inspect(monkeypatch, "run.jsonl") == 0
    out, err = capsys.readouterr()
    assert len(out.splitlines()) == 14
    assert err == "Passed over 1 line of run.jsonl that a crash cut off\n"
