"""A turn that fails or is cancelled keeps nothing, and the next one is served at once."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic_ai.exceptions import ModelRetry, UnexpectedModelBehavior, UsageLimitExceeded
from pydantic_ai.usage import UsageLimits

from agents import ENTRY_POINTS, Script, adapter, calls
from kedi_compile import HistoryProcessingError
from kedi_compile.conversation import ConversationState, history_scope
from talks import begun, held, is_as_before, is_free, look, soon, talk, talking

EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)


@EACH
@pytest.mark.parametrize("answers", [(LookupError("down"),), (calls("c1"), LookupError("down"))])
def test_a_failed_turn_keeps_nothing(entry: str, answers: tuple[Any, ...]) -> None:
    """Neither its prompt nor the steps that went well."""
    state = begun(look)
    agent = talking(Script(*answers), tools=[look])

    with pytest.raises(LookupError, match="down"):
        talk(agent, state, "second", entry=entry)

    assert is_as_before(state, look)


@EACH
def test_a_failed_turn_keeps_no_edit(entry: str) -> None:
    """What its processor removed is there again, and the generation is the one before."""
    state = begun()
    epochs: list[int] = []

    def drop(ctx: Any) -> Any:
        epochs.append(ctx.cache_epoch)
        return ctx.keep_recent_groups(0)

    with pytest.raises(LookupError):
        talk(talking(Script(LookupError()), adapter(drop)), state, "second", entry=entry)

    assert (held(state), state.turns) == (["< first", "> one"], 1)
    talk(talking(Script("two"), adapter(drop)), state, "second", entry=entry)
    assert epochs == [0, 0]


def fail(_: Any = None) -> Any:
    """Raise, as a tool or as a processor."""
    raise LookupError


def test_a_turn_whose_processor_fails_keeps_nothing() -> None:
    """Nothing was sent, so nothing was said."""
    state = begun()

    with pytest.raises(HistoryProcessingError):
        talk(talking(Script("two"), adapter(fail)), state, "second")

    assert is_as_before(state)


def test_a_turn_whose_tool_fails_keeps_nothing() -> None:
    """Also not the call."""
    state = begun(fail)

    with pytest.raises(LookupError):
        talk(talking(Script(calls("c1", tool="fail"), "two"), tools=[fail]), state, "second")

    assert is_as_before(state, fail)


def test_a_turn_that_reaches_a_limit_keeps_nothing() -> None:
    """The host gives it up between two requests."""
    state = begun(look)

    with pytest.raises(UsageLimitExceeded):
        talk(
            talking(Script(calls("c1"), "two"), tools=[look]),
            state,
            "second",
            usage_limits=UsageLimits(request_limit=1),
        )

    assert is_as_before(state, look)


def test_a_turn_whose_output_is_never_right_keeps_nothing() -> None:
    """Retries and all."""
    state = begun()
    agent = talking(Script("two"))

    @agent.output_validator
    def refuse(output: str) -> str:
        raise ModelRetry(output)

    with pytest.raises(UnexpectedModelBehavior):
        talk(agent, state, "second")

    assert is_as_before(state)


async def cancelled(run: Awaitable[Any]) -> None:
    """Cancel a run that waits for its model."""
    task = asyncio.ensure_future(run)
    for _ in range(30):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def timed_out(run: Awaitable[Any]) -> None:
    """Give a run less time than it needs."""
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(run, 0.05)


async def forever() -> None:
    """Wait for good."""
    await asyncio.Event().wait()


@pytest.mark.parametrize("end", [cancelled, timed_out])
def test_a_cancelled_turn_keeps_nothing(end: Callable[[Awaitable[Any]], Awaitable[None]]) -> None:
    """Whether somebody cancelled it or its time was up."""
    state = begun()
    agent = talking(Script(forever))

    async def main() -> None:
        with history_scope(True, state):
            await end(agent.run("second"))

    asyncio.run(soon(main()))

    assert is_as_before(state)


def test_a_turn_that_is_cancelled_while_it_waits_keeps_nothing() -> None:
    """The one before goes on, and the one behind is served next."""
    state = ConversationState()
    go = asyncio.Event()
    first, agent = talking(Script(go.wait)), talking(Script("done"))

    async def main() -> None:
        with history_scope(True, state):
            holding = asyncio.create_task(first.run("first"))
            waiting = asyncio.create_task(agent.run("cancelled"))
            last = asyncio.create_task(agent.run("last"))
            for _ in range(30):
                await asyncio.sleep(0)
            waiting.cancel()
            go.set()
            await asyncio.gather(holding, waiting, last, return_exceptions=True)

    asyncio.run(soon(main()))

    assert held(state) == ["< first", "> done", "< last", "> done"]
    assert is_free(state)
