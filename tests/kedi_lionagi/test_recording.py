"""Recording a turn: all of it at once, or none of it; then the listeners are told."""

import asyncio
from collections.abc import Callable
from typing import Any

import anyio
import pytest

pytest.importorskip("lionagi", reason="LionAGI is not installed")

from lionagi import Branch
from lionagi.operations.types import ChatParam

from kedi_compile.turn import Instruction
from kedi_lionagi import communicate
from kedi_lionagi.recording import add, tell
from kedi_lionagi.transcript import Entry
from turn_lionagi import scripted

pytestmark = pytest.mark.anyio

TURN = ["Instruction", "AssistantResponse"]


def entry(branch: Branch, text: str) -> Entry:
    """Return an answer to be recorded."""
    answer: Any = branch.msgs.create_assistant_response(assistant_response=text, sender=branch.id)
    return Entry(answer, {"assistant_response": answer})


def listening(branch: Branch, listener: Callable[[Any], Any]) -> Branch:
    """Add a listener to a branch."""
    branch.msgs._on_message_added.append(listener)  # noqa: SLF001  # LionAGI has no public way to listen
    return branch


def kinds(branch: Branch) -> list[str]:
    """Return the kinds of a branch's messages, in order."""
    return [type(message).__name__ for message in branch.msgs.messages]


@pytest.mark.parametrize("steps", range(12))
async def test_a_cancelled_recording_is_whole_or_was_not_begun(steps: int) -> None:
    """Whenever the task is cancelled, no half turn is left."""
    branch = listening(scripted("a"), lambda _: None)
    task = asyncio.create_task(communicate(branch, "q", ChatParam()))

    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    await asyncio.wait([task])

    assert kinds(branch) in ([], TURN)


async def test_a_timeout_while_a_listener_is_told_leaves_the_turn_whole() -> None:
    """A scope that cancels again and again changes nothing of it."""
    scope = anyio.CancelScope()

    async def run_out(_message: object) -> None:
        scope.cancel()
        await anyio.sleep(1)

    branch = listening(scripted("a"), run_out)

    with scope:
        await communicate(branch, "q", ChatParam())

    assert scope.cancelled_caught
    assert kinds(branch) == TURN


async def test_turns_stand_one_after_the_other() -> None:
    """With a listener that takes its time, too."""

    async def listen(_message: object) -> None:
        await asyncio.sleep(0)

    branch = listening(scripted(*"abc"), listen)

    await asyncio.gather(*(communicate(branch, text, ChatParam()) for text in "abc"))

    assert kinds(branch) == TURN * 3


async def test_a_listener_may_take_a_turn_of_its_own() -> None:
    """Nothing is locked while it is told."""
    branch = scripted("a1", "a2")

    async def follow_up(message: Any) -> None:
        if type(message).__name__ == "AssistantResponse" and len(branch.msgs.messages) == 2:
            await communicate(branch, "more?", ChatParam())

    listening(branch, follow_up)

    with anyio.fail_after(5):
        await communicate(branch, "q", ChatParam())

    assert kinds(branch) == TURN * 2


async def test_a_listener_that_fails_comes_out_once_all_are_told() -> None:
    """The turn is whole, and the other listener heard of it."""
    heard: list[str] = []

    def fail(_message: object) -> None:
        raise OSError("disk full")

    branch = listening(listening(scripted("a"), fail), lambda message: heard.append(type(message).__name__))

    with pytest.raises(OSError, match="disk full"):
        await communicate(branch, "q", ChatParam())

    assert kinds(branch) == heard == TURN


async def test_an_override_of_the_order_follows() -> None:
    """The branch's own listener keeps it."""
    branch = scripted()
    branch.metadata["current_progression"] = branch.msgs.progression

    await tell(branch, await add(branch, Instruction.create("q"), [entry(branch, "a")]))

    assert list(branch.metadata["current_progression"]) == [message.id for message in branch.msgs.messages]


async def test_a_message_that_cannot_be_made_leaves_the_branch_alone() -> None:
    """All or none."""
    branch = scripted()

    with pytest.raises(ValueError, match="action response"):
        await add(branch, Instruction.create("q"), [Entry(None, {"action_request": 7, "action_output": 1})])

    assert kinds(branch) == []


class Later:
    """A listener whose call is async, although it is no coroutine function."""

    def __init__(self) -> None:
        self.heard: list[str] = []

    async def __call__(self, message: object) -> None:
        self.heard.append(type(message).__name__)


async def test_whatever_a_listener_returns_is_awaited() -> None:
    """An object with an async call hears of each message."""
    later = Later()

    await communicate(listening(scripted("a"), later), "q", ChatParam())

    assert later.heard == TURN


async def test_a_listener_may_leave_while_it_is_told() -> None:
    """It is not told again."""
    branch = scripted("a")
    heard: list[str] = []

    def once(message: object) -> None:
        heard.append(type(message).__name__)
        branch.msgs._on_message_added.remove(once)  # noqa: SLF001  # LionAGI has no public way to listen

    await communicate(listening(branch, once), "q", ChatParam())

    assert heard == ["Instruction"]


async def test_a_cancelled_listener_keeps_no_other_from_hearing() -> None:
    """A store that comes later must have every turn that is in the branch."""

    async def sleep(_message: object) -> None:
        await anyio.sleep(10)

    stored: list[str] = []

    async def store(message: object) -> None:
        stored.append(type(message).__name__)

    branch = listening(listening(scripted("a"), sleep), store)
    task = asyncio.create_task(communicate(branch, "q", ChatParam()))
    while len(branch.msgs.messages) < 2:  # noqa: ASYNC110  # LionAGI has no event to wait for
        await asyncio.sleep(0)
    for _ in range(2):
        await asyncio.sleep(0.01)
        task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert stored == kinds(branch) == TURN
