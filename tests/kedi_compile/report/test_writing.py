"""`kedi-compile report` as it is called: the page is there whole, or the old one is, with one line that says why."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from dumps import build_run, write_dumps
from kedi_compile.cli import main
from kedi_compile.report.writing import write


@pytest.fixture
def dump(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the sample run's dump, `run.jsonl` in the current directory."""
    monkeypatch.chdir(tmp_path)
    return write_dumps(Path("run.jsonl"), build_run())


def report(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    """Run the command here and return its exit status."""
    monkeypatch.setattr(sys, "argv", ["kedi-compile", "report", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


def names_in(directory: Path) -> list[str]:
    """Return what a directory holds."""
    return sorted(path.name for path in directory.iterdir())


@pytest.mark.usefixtures("dump")
def test_an_existing_page_is_overwritten(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """And nothing else is left in the directory."""
    Path("report.html").write_text("old")

    assert report(monkeypatch, "run.jsonl", "-o", "report.html") == 0

    assert Path("report.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert names_in(Path()) == ["report.html", "run.jsonl"]
    assert capsys.readouterr() == ("Wrote report.html\n", "")


@pytest.mark.usefixtures("dump")
@pytest.mark.parametrize(
    ("target", "line"),
    [
        (".", ". is a directory; name a file in it, such as report.html\n"),
        ("run.jsonl", "run.jsonl is the dump itself; name another file for the report\n"),
        (os.devnull, f"{os.devnull} is no regular file; name one that may be overwritten\n"),
        (
            "gone/report.html",
            "gone/report.html cannot be written: No such file or directory; name a file in a directory that can be\n",
        ),
        ("x" * 300, f"{'x' * 300} cannot be written: File name too long; name a file in a directory that can be\n"),
    ],
    ids=["directory", "dump", "device", "no directory", "long name"],
)
def test_a_place_that_cannot_be_written_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], target: str, line: str
) -> None:
    """Exit status 2, and nothing was touched."""
    before = Path("run.jsonl").read_bytes()

    assert report(monkeypatch, "run.jsonl", "-o", target) == 2

    assert capsys.readouterr() == ("", line)
    assert Path("run.jsonl").read_bytes() == before
    assert names_in(Path()) == ["run.jsonl"]


@pytest.mark.usefixtures("dump")
@pytest.mark.parametrize(
    ("content", "line"),
    [
        ("", "run.jsonl holds no request, so there is nothing to draw\n"),
        ("[]\n", "Line 1 of 'run.jsonl' is no dump: "),
    ],
)
def test_what_is_no_dump_leaves_the_old_page(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], content: str, line: str
) -> None:
    """Exit status 2."""
    Path("run.jsonl").write_text(content)
    Path("report.html").write_text("old")

    assert report(monkeypatch, "run.jsonl", "-o", "report.html") == 2

    assert capsys.readouterr().err.startswith(line)
    assert Path("report.html").read_text() == "old"


def test_a_torn_last_line_is_mentioned(
    dump: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The page has the other requests."""
    dump.write_text(dump.read_text()[:-40])

    assert report(monkeypatch, "run.jsonl", "-o", "report.html") == 0

    assert capsys.readouterr().err == "Passed over 1 line of run.jsonl that a crash cut off\n"
    assert Path("report.html").read_text(encoding="utf-8").count("<details ") == 11


@pytest.mark.usefixtures("dump")
def test_a_missing_extra_is_one_clear_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """With the command that installs it."""
    monkeypatch.setitem(sys.modules, "plotly", None)

    assert report(monkeypatch, "run.jsonl", "-o", "report.html") == 2
    assert capsys.readouterr().err == (
        "kedi-compile report needs plotly; install with, in a checkout: pip install '.[report]'\n"
    )


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    """What it leads to is replaced."""
    link, page = tmp_path / "latest.html", tmp_path / "page.html"
    page.write_text("old")
    link.symlink_to(page)

    write(link, "new")

    assert link.is_symlink()
    assert page.read_text() == "new"


def test_a_failed_write_leaves_nothing_behind(tmp_path: Path) -> None:
    """Text that cannot be encoded fails half-way; the old page stays."""
    page = tmp_path / "page.html"
    page.write_text("old")

    with pytest.raises(UnicodeEncodeError):
        write(page, "\ud800")

    assert page.read_text() == "old"
    assert names_in(tmp_path) == ["page.html"]


@pytest.mark.usefixtures("dump")
def test_a_page_is_for_its_owner_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """It says what the dump says, which is."""
    report(monkeypatch, "run.jsonl", "-o", "report.html")

    assert Path("report.html").stat().st_mode & 0o077 == 0
