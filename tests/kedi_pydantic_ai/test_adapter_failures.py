"""Failures and cancellations: what is left behind is what the host alone leaves on the unedited history.

Each test plays the same misfortune twice, without and with an adapter whose processor drops two of three groups, and
compares the captured lists. Broken streams are in `test_adapter_streaming.py`, failures that other capabilities cause
in `test_adapter_undo.py`.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, CancellationToken, RunContext, UsageLimits, capture_run_messages
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelHTTPError, UsageLimitExceeded
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext

from agents import (
    ENTRY_POINTS,
    STREAMING,
    Answer,
    Context,
    Script,
    adapter,
    calls,
    keep,
    lines,
    run_async,
    run_through,
    stored,
    turns,
)
from kedi_compile import HistoryProcessorState
from kedi_pydantic_ai import PydanticAdapter

UNEDITED = [*lines(turns(3)), "< now"]
KEPT_ONE = ["< question 3", "> answer 3", "< now"]
OVERLOADED = ModelHTTPError(529, "scripted", {"error": "overloaded"})

AnyAgent = Agent[Any, Any]


def agent_with(answers: tuple[Answer, ...], *capabilities: Any) -> AnyAgent:
    """Build an agent with one tool over a scripted model."""
    agent: AnyAgent = Agent(Script(*answers).model, capabilities=capabilities)
    agent.tool_plain(look)
    return agent


def left_by(run: Callable[[], object], error: type[BaseException]) -> list[Any]:
    """Run into `error` and return what the run's message list holds then."""
    with capture_run_messages() as captured, pytest.raises(error):
        run()
    return stored(captured)


def lines_left_by(run: Callable[[], object], error: type[BaseException]) -> list[str]:
    """The same as lines."""
    with capture_run_messages() as captured, pytest.raises(error):
        run()
    return lines(captured)


def nothing_streamed(entry: str) -> list[str]:
    """What the host puts behind a streamed request that failed: a response without parts."""
    return ["> "] if entry in STREAMING else []


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_provider_error_undoes_the_edit(entry: str) -> None:
    """The first request fails: the list is the host's own, unedited."""
    alone = agent_with((OVERLOADED,))
    adapted = agent_with((OVERLOADED,), adapter(keep(1)))

    expected = left_by(lambda: run_through(entry, alone, "now", message_history=turns(3)), ModelHTTPError)
    left = left_by(lambda: run_through(entry, adapted, "now", message_history=turns(3)), ModelHTTPError)

    assert left == expected
    assert len(left) == (8 if entry in STREAMING else 7)


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_the_next_run_after_a_provider_error_works(entry: str) -> None:
    """The same adapter serves the retry, from generation 0, with the edit made anew."""
    epochs: list[int] = []

    def edit(ctx: Context) -> list[ModelMessage]:
        epochs.append(ctx.cache_epoch)
        return ctx.keep_recent_groups(1)

    agent = agent_with((OVERLOADED, "done"), adapter(edit))
    with pytest.raises(ModelHTTPError):
        run_through(entry, agent, "now", message_history=turns(3))

    finished = run_through(entry, agent, "now", message_history=turns(3))

    assert lines(finished.all_messages) == [*KEPT_ONE, "> done"]
    assert epochs == [0, 0]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_later_steps_failure_keeps_the_finished_steps_edits(entry: str) -> None:
    """The first request's edit was sent and answered, so it stays; the failing step leaves its request behind."""
    agent = agent_with((calls("c1"), OVERLOADED), adapter(keep(1)))

    left = lines_left_by(lambda: run_through(entry, agent, "now", message_history=turns(3)), ModelHTTPError)

    assert left == [*KEPT_ONE, "> call c1", "< result c1", *nothing_streamed(entry)]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_the_failing_steps_own_edit_is_undone(entry: str) -> None:
    """An edit of the second request is taken back when that request fails; the first one's stays."""
    agent = agent_with((calls("c1"), OVERLOADED), adapter(_one_group_less_each_time))

    left = lines_left_by(lambda: run_through(entry, agent, "now", message_history=turns(3)), ModelHTTPError)

    expected = ["< question 2", "> answer 2", *KEPT_ONE, "> call c1", "< result c1", *nothing_streamed(entry)]
    assert left == expected


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_tools_failure_keeps_the_answered_edit(entry: str) -> None:
    """A tool that raises comes after the answer, so the edit was sent and stays."""
    agent: AnyAgent = Agent(Script(calls("c1")).model, capabilities=[adapter(keep(1))])

    @agent.tool_plain
    def look() -> str:
        raise LookupError

    left = lines_left_by(lambda: run_through(entry, agent, "now", message_history=turns(3)), LookupError)

    assert left[:4] == [*KEPT_ONE, "> call c1"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_refused_edit_leaves_the_unedited_history(entry: str) -> None:
    """Nothing was sent, so nothing of the edit is in the lists."""
    agent = agent_with(("never",), adapter(lambda ctx: ctx.messages[1:]))

    left = lines_left_by(lambda: run_through(entry, agent, "now", message_history=turns(3)), Exception)

    assert left == UNEDITED


def test_a_callback_that_mutates_and_raises_changes_nothing() -> None:
    """The caller's objects and the run's history are untouched, also by a callback that fails."""
    history = turns(3)
    before = stored(history)

    def vandal(ctx: Context) -> list[ModelMessage]:
        for message in ctx.messages:
            message.parts.clear()  # type: ignore[union-attr]  # a sequence in the type, a list in fact
        raise LookupError

    agent = agent_with(("never",), adapter(vandal))

    left = lines_left_by(lambda: run_through("run", agent, "now", message_history=history), Exception)

    assert left == UNEDITED
    assert stored(history) == before


def test_a_usage_limit_before_the_request_leaves_the_unedited_history() -> None:
    """The host's own limits are checked as ever, and stop the run before the callback."""
    limits = UsageLimits(request_limit=0)
    agent = agent_with(("never",), adapter(keep(1)))

    left = lines_left_by(
        lambda: run_through("run", agent, "now", message_history=turns(3), usage_limits=limits), UsageLimitExceeded
    )

    assert left == UNEDITED


@pytest.mark.parametrize("entry", ["run", "iter", "run_stream", "run_stream_events"])
@pytest.mark.parametrize("moment", ["condition", "callback", "request"])
def test_a_cancelled_run_leaves_the_unedited_history(entry: str, moment: str) -> None:
    """Cancelling while the condition is asked, the callback runs or the model thinks commits nothing."""
    as_host = "request" if moment == "request" else "hook"
    expected, _ = asyncio.run(_cancel(as_host, entry, lambda stop_at: _Pauses(stop_at("hook"))))

    left, error = asyncio.run(_cancel(moment, entry, _pausing))

    assert left == expected
    assert isinstance(error, asyncio.CancelledError)


def test_a_cancel_does_not_wait_for_a_sync_callback() -> None:
    """The worker thread is abandoned: the run ends at once and the late result is discarded."""
    release, started, script = threading.Event(), threading.Event(), Script("never")

    def slow(ctx: Context) -> list[ModelMessage]:
        started.set()
        release.wait(60)
        return ctx.keep_recent_groups(1)

    agent: AnyAgent = Agent(script.model, capabilities=[adapter(slow)])

    async def main() -> list[str]:
        with capture_run_messages() as captured:
            task = asyncio.create_task(agent.run("now", message_history=turns(3)))
            await asyncio.to_thread(started.wait, 60)
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            assert not release.is_set()
            release.set()
            await asyncio.sleep(0)
            return lines(captured)

    assert asyncio.run(main()) == UNEDITED
    assert script.sent == []


def test_a_cancel_that_comes_while_the_callback_finishes_wins() -> None:
    """A callback whose task was cancelled meanwhile does not get its edit committed."""
    script = Script("never")

    async def edit(ctx: Context) -> list[ModelMessage]:
        task = asyncio.current_task()
        assert task is not None
        task.cancel()
        return ctx.keep_recent_groups(1)

    agent: AnyAgent = Agent(script.model, capabilities=[adapter(edit)])

    left = lines_left_by(lambda: run_through("run", agent, "now", message_history=turns(3)), asyncio.CancelledError)

    assert left == UNEDITED
    assert script.sent == []


@pytest.mark.parametrize("entry", ["run", "iter", "run_stream", "run_stream_events"])
def test_a_cancel_while_a_tool_runs_keeps_the_answered_edit(entry: str) -> None:
    """The request was sent and answered; behind it stands what the host alone leaves."""
    expected = asyncio.run(_cancelled_in_a_tool(entry))

    left = asyncio.run(_cancelled_in_a_tool(entry, adapter(keep(1))))

    assert expected[:8] == [*UNEDITED, "> call c1"]
    assert left == expected[4:]


def test_a_cancellation_token_undoes_the_edit() -> None:
    """The host's own way to cancel leaves what it leaves without the adapter."""
    expected = _token_cancelled()

    left = _token_cancelled(adapter(keep(1)))

    assert left == expected


def test_a_timed_out_run_leaves_the_unedited_history() -> None:
    """A run's deadline that passes during the request undoes the edit."""
    agent = agent_with((_forever,), adapter(keep(1)))

    left = lines_left_by(lambda: run_through("run", agent, "now", message_history=turns(3), timeout=0.05), Exception)

    assert left[: len(UNEDITED)] == UNEDITED


def test_the_next_run_after_a_cancel_works() -> None:
    """A cancelled run leaves the adapter ready for the next one."""
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await _forever()

    agent = agent_with((hang, "done"), adapter(keep(1)))

    async def main() -> list[str]:
        task = asyncio.create_task(agent.run("now", message_history=turns(3)))
        await reached.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        result = await agent.run("again", message_history=turns(3))
        return lines(result.all_messages())

    assert asyncio.run(main()) == ["< question 3", "> answer 3", "< again", "> done"]


def _one_group_less_each_time(ctx: Context) -> list[ModelMessage]:
    return ctx.keep_recent_groups(3 - ctx.request_index)


async def _forever() -> None:
    await asyncio.get_running_loop().create_future()


StopAt = Callable[[str], Callable[[], Awaitable[None]]]


async def _cancel(
    moment: str, entry: str, build: Callable[[StopAt], AbstractCapability[Any]]
) -> tuple[list[Any], BaseException]:
    """Cancel a run when it has reached `moment`, and return what it leaves and how it ended."""
    reached = asyncio.Event()

    def stop_at(name: str) -> Callable[[], Awaitable[None]]:
        async def stop() -> None:
            if name == moment:
                reached.set()
                await _forever()

        return stop

    agent = agent_with((stop_at("request"),), build(stop_at))
    with capture_run_messages() as captured:
        task = asyncio.create_task(run_async(entry, agent, "now", message_history=turns(3)))
        await reached.wait()
        task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(outcome, BaseException)
    return stored(captured), outcome


@dataclass
class _Pauses(AbstractCapability[Any]):
    """The host alone, as far as the adapter's place in the chain goes: waits where a callback would run."""

    pause: Callable[[], Awaitable[None]]

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        await self.pause()
        return request_context


def _pausing(stop_at: StopAt) -> PydanticAdapter[Any]:
    """Build an adapter whose condition and callback may stop the run."""

    async def condition(state: HistoryProcessorState) -> bool:
        await stop_at("condition")()
        return True

    async def edit(ctx: Context) -> list[ModelMessage]:
        await stop_at("callback")()
        return ctx.keep_recent_groups(1)

    return adapter(edit, condition)


async def _cancelled_in_a_tool(entry: str, *capabilities: Any) -> list[str]:
    """Cancel a run while its tool works, and return what is left."""
    reached = asyncio.Event()
    agent: AnyAgent = Agent(Script(calls("c1"), "never").model, capabilities=capabilities)

    @agent.tool_plain
    async def look() -> None:
        reached.set()
        await _forever()

    with capture_run_messages() as captured:
        task = asyncio.create_task(run_async(entry, agent, "now", message_history=turns(3)))
        await reached.wait()
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    return lines(captured)


def _token_cancelled(*capabilities: Any) -> list[Any]:
    """Fire the host's cancellation token while the model works, and return what is left."""
    token = CancellationToken()

    async def cancel() -> None:
        token.cancel()
        await _forever()

    agent = agent_with((cancel,), *capabilities)
    return left_by(
        lambda: run_through("run", agent, "now", message_history=turns(3), cancellation_token=token), BaseException
    )


def look() -> str:
    """Look at something."""
    return "seen"
