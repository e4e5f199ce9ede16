"""The screen of the demo of dumps."""

from __future__ import annotations

from dataclasses import replace
from io import StringIO
from pathlib import Path

from rich.console import Console

from kedi_compile.demo.desk_show import DESK, run
from kedi_compile.demo.replay import Recording, load_recording


def watch(dump: Path, recording: Recording | None = None) -> tuple[int, list[str], str]:
    """Run the demo on a screen of 80 columns; return its status, lines, and complaint."""
    out, err = (Console(file=StringIO(), width=80, highlight=False) for _ in range(2))
    status = run(out, err, dump, recording)
    out_text, err_text = (console.file.getvalue() for console in (out, err))  # type: ignore[attr-defined]  # a StringIO
    return status, out_text.splitlines(), err_text


def test_the_screen_tells_the_story(tmp_path: Path) -> None:
    """Each request has a row, and the row says what changed."""
    status, lines, complaint = watch(tmp_path / "run.jsonl")

    rows = [" ".join(line.split()) for line in lines]
    assert (status, complaint) == (0, "")
    assert [row for row in rows if row.startswith("1 11 to 5 guests active - -")]
    assert [row for row in rows if row.startswith("5 5 changing acknowledged stale log/kitchen extracted")]
    assert [row for row in rows if row.startswith("8 6 guests acknowledged passed log/kitchen whole again")]
    assert "9 refused - - - - -" in rows
    assert len([row for row in rows if row.startswith("✓")]) == 7


def test_the_screen_ends_with_the_commands_that_look_further(tmp_path: Path) -> None:
    """They name the dump as it was named."""
    dump = tmp_path / "run.jsonl"

    _, lines, _ = watch(dump)

    assert lines[-4:] == [
        f"Why did the model see this, and what was left out? Ask {dump}:",
        f"  kedi-compile inspect {dump}",
        f"  kedi-compile inspect {dump} --request 5",
        f"  kedi-compile report {dump} -o {tmp_path / 'run.html'}",
    ]


def test_a_file_that_is_there_is_left_alone(tmp_path: Path) -> None:
    """Its requests would get other numbers."""
    dump = tmp_path / "run.jsonl"
    dump.write_text("mine", encoding="utf-8")

    status, lines, complaint = watch(dump)

    assert (status, lines) == (2, [])
    assert "is there already; name a new file" in complaint
    assert dump.read_text(encoding="utf-8") == "mine"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """Nothing is made, and nothing is asked."""
    status, lines, complaint = watch(tmp_path / "runs" / "run.jsonl")

    assert (status, lines) == (1, [])
    assert "There is no folder" in complaint


def test_a_recording_that_is_too_short_ends_in_failure(tmp_path: Path) -> None:
    """An answer that is missing is named."""
    recording = load_recording(DESK)

    status, _, complaint = watch(tmp_path / "run.jsonl", replace(recording, exchanges=recording.exchanges[:1]))

    assert status == 1
    assert "Request 2 is not in the recording, which holds 1" in " ".join(complaint.split())


def test_a_claim_that_does_not_hold_ends_in_failure(tmp_path: Path) -> None:
    """A recorded answer to another request is shown as untrue."""
    recording = load_recording(DESK)
    other = replace(recording.exchanges[0], request={**recording.exchanges[0].request, "system": "Another."})

    status, lines, complaint = watch(
        tmp_path / "run.jsonl", replace(recording, exchanges=[other, *recording.exchanges[1:]])
    )

    assert status == 1
    assert "✗ all requests are the ones the recorded answers were given to" in lines
    assert "it is not true that all requests are the ones" in complaint
