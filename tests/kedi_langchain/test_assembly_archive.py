"""A long tool loop that is archived while its requests are assembled: frames leave with what they stood by."""

from __future__ import annotations

from typing import Any

import pytest

from asking import RUNS, shown
from assemblies import EPOCH, Dumps, compiler, growing, leaks
from assembling import ledger
from chats import adapter, calls
from kedi_compile import HistoryArchiveSettings
from threads import agent, answering, says

LOOKS = 6


def look() -> str:
    """Look around."""
    return "I saw a long street with many houses. " * 20


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_frames_leave_with_the_tool_results_they_stood_by(run: Any) -> None:
    """The first one stays by the user's message, and the newest says what there is now; the dump tells of others."""
    transport, dumps = answering(*(calls(f"c{number}") for number in range(1, LOOKS + 1)), "done"), Dumps()
    given = adapter(
        history_archive=HistoryArchiveSettings(800, 0, 100),
        request_compiler=compiler(growing(ledger())),
        dump=dumps,
    )

    out = run(agent(transport, given, tools=[look]), says("now"))

    requests = [shown(request)[1:] for request in transport.requests]
    assert leaks(out) == []
    assert all(request[0] == f"< {EPOCH} | now" for request in requests)
    assert all("body " in request[-1] for request in requests[1:])
    assembled = [dump.assembly for dump in dumps]
    notes = [note for one in assembled if one is not None for note in one.notes]
    assert any(note.startswith("earlier tails left with the messages they stood by: tail 2") for note in notes)
    for number, body in ((number, f"body {number}") for number in range(2, LOOKS + 2)):
        assert body in "".join(requests[-1]), number
