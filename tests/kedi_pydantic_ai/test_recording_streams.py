"""The dump of a Pydantic AI agent whose stream is left before its end: one line, and nobody failed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import ModelFallback
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.models.fallback import FallbackModel

from agents import (
    Partial,
    Script,
    adapter,
)
from assemblies import Dumps, compiler

AnyAgent = Agent[Any, Any]
OVERLOADED = ModelHTTPError(529, "scripted", {"error": "overloaded"})


async def forever() -> None:
    """Wait for good."""
    await asyncio.Event().wait()


async def leave_text(agent: AnyAgent) -> None:
    """Read a part of a stream and go."""
    async with agent.run_stream("now") as stream:
        async for _ in stream.stream_text(debounce_by=None):
            break


async def leave_unread(agent: AnyAgent) -> None:
    """Open a stream and read nothing."""
    async with agent.run_stream("now"):
        pass


async def leave_events(agent: AnyAgent) -> None:
    """Read some events and go."""
    async with agent.run_stream_events("now") as events:
        async for event in events:
            if type(event).__name__ == "PartStartEvent":
                break


async def leave_node(agent: AnyAgent) -> None:
    """Read a part of a node's stream and go."""
    async with agent.iter("now") as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    async for _ in stream:
                        raise LookupError


async def cancel(agent: AnyAgent) -> None:
    """Cancel a run that streams."""
    is_reading = asyncio.Event()

    async def read() -> None:
        async with agent.run_stream_events("now") as events:
            async for event in events:
                if type(event).__name__ == "PartStartEvent":
                    is_reading.set()

    task = asyncio.create_task(read())
    await is_reading.wait()
    task.cancel()
    with suppress(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("options", [{}, {"request_compiler": compiler()}], ids=["dump", "assembled"])
@pytest.mark.parametrize("leave", [leave_text, leave_unread, leave_events, leave_node, cancel])
def test_an_abandoned_stream_is_one_line(leave: Callable[[AnyAgent], Awaitable[None]], options: Any) -> None:
    """It was no failure, and no whole answer came."""
    dumps = Dumps()

    async def main() -> None:
        with suppress(LookupError):
            await leave(Agent(Script(Partial("par", forever)).model, capabilities=[adapter(dump=dumps, **options)]))

    asyncio.run(asyncio.wait_for(main(), 20))

    assert dumps.outcomes == ["cancelled"]


def test_a_fallback_whose_stream_is_left_did_not_fail() -> None:
    """What broke the model before it does not count."""
    dumps = Dumps()
    model = FallbackModel(Script(OVERLOADED).model, Script(Partial("par", forever)).model)

    asyncio.run(asyncio.wait_for(leave_events(Agent(model, capabilities=[adapter(dump=dumps)])), 20))

    assert dumps.outcomes == ["cancelled"]
    assert "ModelHTTPError" not in (dumps.only.error or "")


def test_an_attempt_whose_stream_is_left_did_not_fail() -> None:
    """Nor does an attempt before it count that the host's own fallback gave up."""
    dumps = Dumps()
    fallback = ModelFallback(Script(Partial("par", forever)).model)
    agent: AnyAgent = Agent(Script(OVERLOADED).model, capabilities=[fallback, adapter(dump=dumps)])

    asyncio.run(asyncio.wait_for(leave_events(agent), 20))

    assert dumps.outcomes == ["cancelled"]
    assert "ModelHTTPError" not in (dumps.only.error or "")
