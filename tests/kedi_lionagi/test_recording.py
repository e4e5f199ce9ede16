"""Recording a turn: all of it, or none of it."""

import asyncio
from typing import Any

import pytest

pytest.importorskip("lionagi", reason="LionAGI is not installed")

from lionagi import Branch

from kedi_compile.turn import Instruction
from kedi_lionagi.recording import record
from kedi_lionagi.transcript import Entry
from turn_lionagi import scripted

pytestmark = pytest.mark.anyio


def entry(branch: Branch, text: str) -> Entry:
    """Return an answer to be recorded."""
    answer: Any = branch.msgs.create_assistant_response(assistant_response=text, sender=branch.id)
    return Entry(answer, {"assistant_response": answer})


def kinds(branch: Branch) -> list[str]:
    """Return the kinds of a branch's messages, in order."""
    return [type(message).__name__ for message in branch.msgs.messages]


@pytest.mark.parametrize("steps", range(12))
async def test_a_cancelled_recording_is_whole_or_was_not_begun(steps: int) -> None:
    """Whenever the task is cancelled, no half turn is left."""
    branch = scripted()
    task = asyncio.create_task(record(branch, Instruction.create("q"), [entry(branch, "a"), entry(branch, "b")]))

    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])

    assert kinds(branch) in ([], ["Instruction", "AssistantResponse", "AssistantResponse"])


async def test_turns_are_recorded_one_after_the_other() -> None:
    """With a listener that takes its time, too."""
    branch = scripted()

    async def listen(_message: object) -> None:
        await asyncio.sleep(0)

    branch.msgs._on_message_added.append(listen)  # noqa: SLF001  # LionAGI has no public way to listen

    await asyncio.gather(*(record(branch, Instruction.create(text), [entry(branch, text)]) for text in "abc"))

    assert kinds(branch) == ["Instruction", "AssistantResponse"] * 3


async def test_a_listener_that_fails_does_not_leave_half_a_turn() -> None:
    """Everything is recorded, and then the first failure is raised."""
    branch = scripted()

    def fail(_message: object) -> None:
        raise OSError("disk full")

    branch.msgs._on_message_added.append(fail)  # noqa: SLF001  # LionAGI has no public way to listen

    with pytest.raises(OSError, match="disk full"):
        await record(branch, Instruction.create("q"), [entry(branch, "a")])

    assert kinds(branch) == ["Instruction", "AssistantResponse"]
