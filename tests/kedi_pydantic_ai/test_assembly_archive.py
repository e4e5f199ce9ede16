"""A long tool loop that is archived while its requests are assembled: frames leave with what they stood by."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent

from agents import ENTRY_POINTS, Script, adapter, calls, run_through
from assemblies import EPOCH, Dumps, compiler, growing, leaks
from assembling import ledger
from kedi_compile import HistoryArchiveSettings

AnyAgent = Agent[Any, Any]
LOOKS = 6


def look() -> str:
    """Look around."""
    return "I saw a long street with many houses. " * 20


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_frames_leave_with_the_tool_results_they_stood_by(entry: str) -> None:
    """The first one stays by the user's message, and the newest says what there is now; the dump tells of others."""
    script, dumps = Script(*(calls(f"c{number}") for number in range(1, LOOKS + 1)), "done"), Dumps()
    given = adapter(
        history_archive=HistoryArchiveSettings(800, 0, 100),
        request_compiler=compiler(growing(ledger())),
        dump=dumps,
    )
    agent: AnyAgent = Agent(script.model, capabilities=[given], tools=[look])

    finished = run_through(entry, agent, "now")

    assert leaks(finished.all_messages) == []
    assert all(sent[0].startswith(f"< {EPOCH} | now") for sent in script.sent)
    assert all("body " in sent[-1] for sent in script.sent[1:])
    assembled = [dump.assembly for dump in dumps]
    notes = [note for one in assembled if one is not None for note in one.notes]
    assert any(note.startswith("earlier tails left with the messages they stood by: tail 2") for note in notes)
    assert any(group.decision == "archived" for dump in dumps for group in dump.history.groups)
    for number, body in ((number, f"body {number}") for number in range(2, LOOKS + 2)):
        assert body in "".join(script.sent[-1]), number
