"""The `kedi-compile` command as a person meets it: in a process of its own, at a terminal and through a pipe."""

from __future__ import annotations

import os
import pty
import re
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Final

import pytest

from kedi_compile.cli import main

PROGRAM: Final = (sys.executable, "-c", "from kedi_compile.cli import main; main()")
HIDES_THE_BANNER: Final = frozenset({"CI", "PYDANTIC_AI_NO_BANNER", "PYTEST_VERSION"})
"""What Pydantic AI looks for before it shows its banner."""
COLOUR: Final = re.compile(r"\x1b\[[0-9;]*3[0-7]")


def run_in_process(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    """Run the command here and return its exit status."""
    monkeypatch.setattr(sys, "argv", ["kedi-compile", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


def run_at_terminal(*arguments: str, **environment: str) -> str:
    """Run the command at a terminal of 80 columns, as a person and not a CI, and return what it wrote there."""
    ours, theirs = pty.openpty()
    kept = {name: value for name, value in os.environ.items() if name not in HIDES_THE_BANNER}
    environment = {**kept, "TERM": "xterm-256color", "COLUMNS": "80", **environment}
    process = subprocess.Popen([*PROGRAM, *arguments], stdout=theirs, stderr=theirs, stdin=theirs, env=environment)
    os.close(theirs)
    written = b""
    try:
        while piece := os.read(ours, 65_536):
            written += piece
    except OSError:
        pass  # the terminal reports the end of the last process on it as an error
    finally:
        os.close(ours)
    assert process.wait() == 0, written.decode()
    return written.decode()


def test_the_demo_runs_in_any_directory_without_a_key(tmp_path: Path) -> None:
    """The demo needs nothing of the place it is run in, and a pipe gets no escape codes."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANTHROPIC", "FORCE_"))}

    done = subprocess.run(
        [*PROGRAM, "demo"], cwd=tmp_path, env=environment | {"COLUMNS": "80"}, capture_output=True, check=True
    )

    lines = done.stdout.decode().splitlines()
    assert lines[0] == "A real agent edits its history before a request, and proves what was sent."
    assert lines[-1] == "Recorded from a provider emulator that enforces wire rules, not the provider."
    assert max(map(len, lines)) == 80
    assert "\x1b" not in done.stdout.decode()
    assert done.stderr == b""
    assert list(tmp_path.iterdir()) == []


def test_a_terminal_shows_the_demo_alone() -> None:
    """The host's banner, which would name a model of a provider, does not stand above an offline demo."""
    written = run_at_terminal("demo", NO_COLOR="1", TERM="dumb")

    assert written.startswith("A real agent edits its history before a request, and proves what was sent.\r\n")


def test_a_terminal_gets_colours() -> None:
    """What was kept is green and what was dropped is red."""
    written = run_at_terminal("demo", NO_COLOR="")

    assert "\x1b[1;32mkept" in written
    assert "\x1b[2;31mdropped" in written


def test_no_color_is_honoured() -> None:
    """With NO_COLOR set, a terminal gets no colour, and the words still say it all."""
    written = run_at_terminal("demo", NO_COLOR="1")

    assert not COLOUR.search(written)
    assert "dropped" in written


def test_a_terminal_without_unicode_gets_plain_signs() -> None:
    """A terminal that knows only ASCII gets words for the signs it cannot show."""
    done = subprocess.run(
        [*PROGRAM, "demo"], env=os.environ | {"PYTHONIOENCODING": "ascii"}, capture_output=True, check=True
    )

    assert "ok request 1 is these groups in this order and nothing else" in done.stdout.decode("ascii")


@pytest.mark.parametrize(
    ("absent", "line"),
    [
        (["typer"], "kedi-compile needs typer; install with, in a checkout: pip install '.[cli]'\n"),
        (["typer", "rich"], "kedi-compile needs typer and rich; install with, in a checkout: pip install '.[cli]'\n"),
        (["anthropic"], "kedi-compile demo needs anthropic; install with, in a checkout: pip install '.[demo]'\n"),
        (
            ["pydantic_ai", "anthropic"],
            "kedi-compile demo needs pydantic_ai and anthropic; install with, in a checkout: pip install '.[demo]'\n",
        ),
    ],
    ids="+".join,
)
def test_a_missing_extra_is_one_clear_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], absent: list[str], line: str
) -> None:
    """A package that is not installed ends in exit status 2 and the command that installs its extra."""
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)

    status = run_in_process(monkeypatch, "demo")

    assert status == 2
    assert capsys.readouterr() == ("", line)


def test_the_version_is_shown(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`--version` prints the version of the installed distribution."""
    status = run_in_process(monkeypatch, "--version")

    assert status == 0
    assert capsys.readouterr().out == f"kedi-compile {version('kedi-compile')}\n"


def test_help_names_the_commands(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """`--help` says what there is to run, in one line each."""
    status = run_in_process(monkeypatch, "--help")

    assert status == 0
    out = capsys.readouterr().out
    assert "demo     Let an agent edit its history, offline, and prove what was sent." in out
    assert "inspect  List the requests of a dump, or show one in full, and why." in out
    assert "report   Draw the run of a dump as one self-contained HTML page." in out


def test_an_unknown_command_is_refused(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    """A mistyped command is an error of usage with exit status 2."""
    status = run_in_process(monkeypatch, "demon")

    assert status == 2
    assert "No such command 'demon'" in capsys.readouterr().err


def test_the_demo_of_dumps_is_looked_at_by_the_commands_it_names(tmp_path: Path) -> None:
    """What a person copies from its last lines works, in any directory."""
    environment = {**os.environ, "COLUMNS": "80", "PYTHONIOENCODING": "utf-8"}

    def run(*arguments: str) -> list[str]:
        done = subprocess.run([*PROGRAM, *arguments], cwd=tmp_path, env=environment, capture_output=True, check=True)
        return done.stdout.decode().splitlines()

    lines = run("demo", "--dump", "run.jsonl")
    listed, expanded, drawn = (run(*line.split()[1:]) for line in lines[-3:])

    assert max(map(len, lines)) == 80
    assert len([line for line in listed if "answered" in line]) == 8
    assert "Request 5" in expanded[0]
    assert drawn == ["Wrote run.html"]
    assert sorted(one.name for one in tmp_path.iterdir()) == ["run.html", "run.jsonl", "run.jsonl.lock"]


def test_the_package_runs_as_the_command() -> None:
    """Where the script is not on the path, the module is."""
    done = subprocess.run([sys.executable, "-m", "kedi_compile", "--version"], capture_output=True, check=True)

    assert done.stdout.decode() == f"kedi-compile {version('kedi-compile')}\n"
