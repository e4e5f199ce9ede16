"""A stream or a run that is left before its end is no turn, by whichever way it was opened."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from agents import Partial, Script
from kedi_compile.conversation import history_scope
from talks import AnyAgent, begun, held, is_as_before, is_free, soon, talking


async def forever() -> None:
    """Wait for good."""
    await asyncio.Event().wait()


async def leave_run_stream(agent: AnyAgent) -> None:
    """Read a part of a stream and go."""
    async with agent.run_stream("second") as stream:
        async for _ in stream.stream_text():
            break


async def open_run_stream(agent: AnyAgent) -> None:
    """Open a stream and read nothing."""
    async with agent.run_stream("second"):
        pass


async def fail_run_stream(agent: AnyAgent) -> None:
    """Raise inside the block of a stream."""
    async with agent.run_stream("second"):
        raise LookupError


async def leave_iter(agent: AnyAgent) -> None:
    """Run one node and go."""
    async with agent.iter("second") as run:
        async for _ in run:
            break


async def open_iter(agent: AnyAgent) -> None:
    """Open a run and do nothing with it."""
    async with agent.iter("second"):
        pass


async def fail_iter(agent: AnyAgent) -> None:
    """Raise between two nodes."""
    async with agent.iter("second") as run:
        async for _ in run:
            raise LookupError


async def leave_events(agent: AnyAgent) -> None:
    """Read one event and go."""
    async with agent.run_stream_events("second") as events:
        async for _ in events:
            break


async def open_events(agent: AnyAgent) -> None:
    """Open the events and read none."""
    async with agent.run_stream_events("second"):
        pass


LEFT = [
    leave_run_stream, open_run_stream, fail_run_stream, leave_iter, open_iter, fail_iter, leave_events, open_events,
]  # fmt: skip


@pytest.mark.parametrize("leave", LEFT)
def test_a_stream_that_is_left_early_keeps_nothing(leave: Callable[[AnyAgent], Awaitable[None]]) -> None:
    """Only what came to its end is a turn; the next one may come in the same task."""
    state = begun()
    agent = talking(Script(Partial("two", forever), "next"))

    async def main() -> None:
        with history_scope(True, state):
            with suppress(LookupError):
                await leave(agent)
            assert (state.turns, is_free(state)) == (1, True)
            await talking(Script("same task")).run("same task")

    asyncio.run(soon(main()))

    assert held(state) == ["< first", "> one", "< same task", "> same task"]
    assert is_free(state)


def test_a_synchronous_stream_that_is_left_early_keeps_nothing() -> None:
    """Its ticket is free when the stream is gone."""
    state = begun()
    agent = talking(Script("two words"))

    with asyncio.Runner() as runner, history_scope(True, state):
        asyncio.set_event_loop(runner.get_loop())
        stream = agent.run_stream_sync("second")
        for _ in stream.stream_text():
            break
        del stream
        asyncio.set_event_loop(None)

    assert is_as_before(state)


def test_a_synchronous_stream_that_is_read_is_a_turn() -> None:
    """By its end it is kept."""
    state = begun()
    agent = talking(Script("two"))

    with asyncio.Runner() as runner, history_scope(True, state):
        asyncio.set_event_loop(runner.get_loop())
        stream = agent.run_stream_sync("second")
        assert stream.get_output() == "two"
        del stream
        asyncio.set_event_loop(None)

    assert held(state) == ["< first", "> one", "< second", "> two"]
    assert is_free(state)
