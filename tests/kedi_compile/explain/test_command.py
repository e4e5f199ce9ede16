"""`kedi-compile explain` as a person calls it: both stacks, a pipe, a terminal, and what is no history."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, Final

import pytest

from kedi_compile.cli import main
from saved import LANGCHAIN, PENDING, PYDANTIC_AI, Saved

PROGRAM: Final = (sys.executable, "-W", "error", "-c", "from kedi_compile.cli import main; main()", "explain")
STORIES = pytest.mark.parametrize(
    "saved", [PYDANTIC_AI, LANGCHAIN, PENDING], ids=["pydantic-ai", "langchain", "pending"]
)

UNKNOWN_KIND: Final = "found using 'kind' does not match any of the expected tags: 'request', 'response'"


def call(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int | str | None:
    """Run the command here and return its exit status."""
    monkeypatch.setattr(sys, "argv", ["kedi-compile", "explain", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    return left.value.code


@pytest.fixture
def written(tmp_path: Path) -> Any:
    """Return a function that writes a history and returns the path."""

    def write(saved: object) -> str:
        path = tmp_path / "history.json"
        path.write_bytes(saved if isinstance(saved, bytes) else json.dumps(saved).encode())
        return str(path)

    return write


@STORIES
def test_a_pipe_gets_plain_lines_of_80_columns(saved: Saved) -> None:
    """Standard input is read, nothing is warned of, and no escape code is written."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith("FORCE_")}

    done = subprocess.run(
        [*PROGRAM, "-", "--entries"],
        input=json.dumps(saved).encode(),
        env=environment | {"COLUMNS": "80"},
        capture_output=True,
        check=True,
    )

    lines = done.stdout.decode().splitlines()
    assert max(map(len, lines)) == 80
    assert "\x1b" not in done.stdout.decode()
    assert done.stderr == b""


@STORIES
def test_json_holds_the_same_facts(
    saved: Saved, written: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """`--json` writes one object and nothing else."""
    options = (
        "--keep",
        "1",
        "--over",
        "2",
        "--model",
        "x:y",
        "--reasoning-protection",
        "open_cycle",
        "--prompt",
        "So?",
    )

    status = call(monkeypatch, written(saved), "--json", *options)

    said = capsys.readouterr()
    explanation = json.loads(said.out)
    assert (status, said.err) == (0, "")
    assert explanation["entries_read"] == len(saved)
    edit = explanation["edit"]
    asked = (edit["keep"], edit["over"], edit["model"], edit["reasoning_protection"], explanation["prompt"])
    assert asked == (1, 2, "x:y", "open_cycle", "So?")


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (b"", "The history is no JSON: Expecting value: line 1 column 1 (char 0)"),
        (b"\xff", "The history is no UTF-8: invalid start byte at byte 0"),
        ([], "The history is empty: it holds no message"),
        (b"[" * 100_000, "The history is nested too deeply"),
        (
            [
                {
                    "type": "ai",
                    "data": {"content": "a", "additional_kwargs": json.loads('{"a":' * 800 + "1" + "}" * 800)},
                }
            ],
            "The history is nested too deeply",
        ),
        (
            [PYDANTIC_AI[0], {"kind": "\x1b[31m", "parts": []}],
            f"Message 1 is no message of Pydantic AI: Input tag '�[31m' {UNKNOWN_KIND}",
        ),
        (
            [{"type": "\x1b[31m", "data": {}}],
            "Message 0 is no message of LangChain: ValueError: Got unexpected message type: �[31m",
        ),
    ],
    ids=range(7),
)
def test_what_is_no_history_is_one_clear_line(
    content: object, line: str, written: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Bad input ends in exit status 2 and says why, without a traceback."""
    status = call(monkeypatch, written(content))

    assert status == 2
    assert capsys.readouterr() == ("", f"kedi-compile explain: {line}\n")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        (["--keep", "3", "--over", "2"], "`--over` is 2; it must not be less than --keep 3"),
        (["--stack", "x"], "`--stack` is 'x'; it must be one of pydantic-ai, langchain"),
        (
            ["--stack", "pydantic-ai"],
            "Message 0 is an object with 'type', 'data'; a message of pydantic-ai has 'kind', 'parts'",
        ),
    ],
)
def test_an_option_that_cannot_be_meant_is_one_clear_line(
    options: list[str], line: str, written: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong option is an error of usage too."""
    status = call(monkeypatch, written(LANGCHAIN), *options)

    assert status == 2
    assert capsys.readouterr() == ("", f"kedi-compile explain: {line}\n")


@pytest.mark.parametrize(
    ("saved", "absent", "extra"), [(PYDANTIC_AI, "pydantic_ai", "pydantic-ai"), (LANGCHAIN, "langgraph", "langchain")]
)
def test_a_missing_framework_is_one_clear_line(saved: Saved, absent: str, extra: str, written: Any) -> None:
    """A history needs its own framework's extra, and that one alone."""
    program = f"import sys; sys.modules[{absent!r}] = None\nfrom kedi_compile.cli import main; main()"

    done = subprocess.run([sys.executable, "-c", program, "explain", written(saved)], capture_output=True, check=False)

    line = f"kedi-compile explain needs {absent}; install with, in a checkout: pip install '.[{extra}]'\n"
    assert (done.returncode, done.stdout, done.stderr.decode()) == (2, b"", line)


def test_a_model_or_network_is_never_reached(written: Any) -> None:
    """Explaining opens no connection: with sockets taken away it says the same."""
    program = (
        "import socket, sys\n"
        "def refuse(*_, **__): raise AssertionError('a connection was tried')\n"
        "socket.socket.connect = socket.create_connection = socket.getaddrinfo = refuse\n"
        "from kedi_compile.cli import main; main()"
    )
    for saved in (PYDANTIC_AI, LANGCHAIN):
        done = subprocess.run(
            [sys.executable, "-c", program, "explain", written(saved), "--model", "anthropic:claude-opus-5-5"],
            capture_output=True,
            check=True,
        )

        assert b"would do before the next request" in done.stdout
