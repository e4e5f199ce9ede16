"""An archive inside a conversation: its records belong to the turn that names them."""

from __future__ import annotations

import re

import pytest
from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError

from agents import Script, adapter, calls
from kedi_compile import ConversationState, HistoryArchiveSettings, history_scope
from kedi_compile.stores.memory import MemoryConversationStore
from kedi_compile.stores.protocol import Gone

SEEN = "I saw a long street with many houses. " * 20


def look() -> str:
    """Look around."""
    return SEEN


@pytest.mark.parametrize("end", ["fails", "answers"])
async def test_the_records_of_a_turn_that_fails_are_released_and_no_others(end: str) -> None:
    """Those of its earlier requests too: nothing names them any more. A turn that is committed keeps its records."""
    store = MemoryConversationStore()
    loop = [calls(f"c{number}") for number in range(1, 6)]
    script = Script(*loop, ModelHTTPError(529, "scripted", None) if end == "fails" else "done")
    ours = adapter(history_archive=HistoryArchiveSettings(800, 0, 100, store=store))
    agent: Agent = Agent(script.model, capabilities=[ours])
    agent.tool_plain(name="look")(look)

    with history_scope(True, state=ConversationState("street", store)):
        if end == "fails":
            with pytest.raises(ModelHTTPError):
                await agent.run("look")
        else:
            await agent.run("look")

    named = re.findall(r"reference='([\w-]+)'", repr(script.requests[-1]))
    assert len(named) > 1
    there = [store.get(reference, 0.0) for reference in named]
    assert [one is Gone.RELEASED for one in there] == [end == "fails"] * len(named)
