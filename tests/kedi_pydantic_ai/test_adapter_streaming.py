"""Streams that break off: the partial answer stands on the unedited history, exactly as the host alone leaves it."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.messages import PartStartEvent

from agents import Partial, Script, adapter, calls, keep, lines, run_async, stored, turns

AnyAgent = Agent[Any, Any]
Consumer = Callable[[AnyAgent], Awaitable[None]]
UNEDITED = [*lines(turns(3)), "< now"]
KEPT_ONE = ["< question 3", "> answer 3", "< now"]


class ConsumerError(Exception):
    """What a consumer of a stream raises in these tests."""


async def _text_consumer(agent: AnyAgent) -> None:
    async with agent.run_stream("now", message_history=turns(3)) as stream:
        async for _ in stream.stream_text(debounce_by=None):
            raise ConsumerError


async def _outer_consumer(agent: AnyAgent) -> None:
    async with agent.run_stream("now", message_history=turns(3)):
        raise ConsumerError


async def _event_consumer(agent: AnyAgent) -> None:
    async with agent.run_stream_events("now", message_history=turns(3)) as events:
        async for event in events:
            if isinstance(event, PartStartEvent):
                raise ConsumerError


async def _node_consumer(agent: AnyAgent) -> None:
    async with agent.iter("now", message_history=turns(3)) as run:
        async for node in run:
            if Agent.is_model_request_node(node):
                async with node.stream(run.ctx) as stream:
                    async for _ in stream:
                        raise ConsumerError


CONSUMERS: dict[str, Consumer] = {
    "text": _text_consumer,
    "outside": _outer_consumer,
    "events": _event_consumer,
    "nodes": _node_consumer,
}


def left_by(consumer: Consumer, *capabilities: Any, script: Script, error: type[BaseException]) -> list[Any]:
    """Let `consumer` run into `error`, and return what the run's list holds then."""
    agent: AnyAgent = Agent(script.model, capabilities=capabilities)
    agent.tool_plain(look)

    async def main() -> list[Any]:
        with capture_run_messages() as captured, pytest.raises(error):
            await consumer(agent)
        return stored(captured)

    return asyncio.run(main())


@pytest.mark.parametrize("consumer", CONSUMERS.values(), ids=CONSUMERS)
def test_a_consumer_that_raises_in_mid_stream_undoes_the_edit(consumer: Consumer) -> None:
    """The list is what the host alone leaves: the unedited history and the partial answer."""
    expected = left_by(consumer, script=Script("one two three"), error=ConsumerError)

    left = left_by(consumer, adapter(keep(1)), script=Script("one two three"), error=ConsumerError)

    assert left == expected
    assert len(left) == len(UNEDITED) + 1


@pytest.mark.parametrize("entry", ["run_stream", "run_stream_events"])
def test_a_stream_that_breaks_leaves_the_partial_answer_on_the_unedited_history(entry: str) -> None:
    """The provider fails in mid-stream: what came is kept by the host, the edit is not."""

    async def breaks() -> None:
        raise LookupError

    async def consume(agent: AnyAgent) -> None:
        await run_async(entry, agent, "now", message_history=turns(3))

    expected = left_by(consume, script=Script(Partial("half", breaks)), error=LookupError)

    left = left_by(consume, adapter(keep(1)), script=Script(Partial("half", breaks)), error=LookupError)

    assert left == expected
    assert left[-1]["parts"][0]["content"] == "half"


@pytest.mark.parametrize("entry", ["run_stream", "run_stream_events", "nodes"])
def test_a_cancel_in_mid_stream_leaves_what_the_host_alone_leaves(entry: str) -> None:
    """Cancelling while the answer comes in commits no edit."""
    expected = asyncio.run(_cancelled_in_mid_stream(entry))

    left = asyncio.run(_cancelled_in_mid_stream(entry, adapter(keep(1))))

    assert left == expected
    assert len(left) == 8


@pytest.mark.parametrize("consumer", CONSUMERS.values(), ids=CONSUMERS)
def test_the_next_run_after_a_broken_stream_works(consumer: Consumer) -> None:
    """The same adapter serves the next run, from generation 0."""
    epochs: list[int] = []

    def edit(ctx: Any) -> Any:
        epochs.append(ctx.cache_epoch)
        return ctx.keep_recent_groups(1)

    shared = adapter(edit)
    left_by(consumer, shared, script=Script("one two three"), error=ConsumerError)
    agent: AnyAgent = Agent(Script("done").model, capabilities=[shared])

    finished = asyncio.run(run_async("run_stream", agent, "now", message_history=turns(3)))

    assert lines(finished.all_messages) == [*KEPT_ONE, "> done"]
    assert epochs == [0, 0]


def test_a_stream_that_is_left_early_without_an_error_keeps_the_edit() -> None:
    """Leaving the stream's block early is no failure: the host ends the answer as ever, and the edit was sent."""

    async def main(*capabilities: Any) -> list[str]:
        agent: AnyAgent = Agent(Script("one two three").model, capabilities=capabilities)
        with capture_run_messages() as captured:
            async with agent.run_stream("now", message_history=turns(3)) as stream:
                async for _ in stream.stream_text(debounce_by=None):
                    break
        return lines(captured)

    expected, left = asyncio.run(main()), asyncio.run(main(adapter(keep(1))))

    assert (expected, left) == ([*UNEDITED, "> one two three"], [*KEPT_ONE, "> one two three"])


@pytest.mark.parametrize("entry", ["run_stream", "run_stream_events"])
def test_a_break_in_a_later_step_keeps_the_finished_steps_edit(entry: str) -> None:
    """Only the broken request's own edit is undone."""

    async def second_answer_breaks() -> None:
        raise LookupError

    async def consume(agent: AnyAgent) -> None:
        await run_async(entry, agent, "now", message_history=turns(3))

    script = Script(calls("c1"), Partial("half", second_answer_breaks))
    agent: AnyAgent = Agent(
        script.model, capabilities=[adapter(lambda ctx: ctx.keep_recent_groups(3 - ctx.request_index))]
    )
    agent.tool_plain(look)

    async def main() -> list[str]:
        with capture_run_messages() as captured, pytest.raises(LookupError):
            await consume(agent)
        return lines(captured)

    left = asyncio.run(main())

    assert left == ["< question 2", "> answer 2", *KEPT_ONE, "> call c1", "< result c1", "> half"]
    assert script.sent[1] == [*KEPT_ONE, "> call c1", "< result c1"]


def test_streaming_events_come_through_unchanged() -> None:
    """A processor changes no event of the stream."""

    async def events_of(*capabilities: Any) -> list[str]:
        agent: AnyAgent = Agent(Script(calls("c1"), "one two").model, capabilities=capabilities)
        agent.tool_plain(look)
        async with agent.run_stream_events("now", message_history=turns(3)) as events:
            return [type(event).__name__ async for event in events]

    assert asyncio.run(events_of(adapter(keep(1)))) == asyncio.run(events_of())


def test_an_event_stream_handler_works_beside_the_adapter() -> None:
    """The host's event handler sees the stream of an edited request."""
    seen: list[str] = []

    async def handle(_: Any, events: Any) -> None:
        seen.extend([type(event).__name__ async for event in events])

    script = Script("one")
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(keep(1))])

    result = asyncio.run(agent.run("now", message_history=turns(3), event_stream_handler=handle))

    assert result.output == "one"
    assert script.sent == [KEPT_ONE]
    assert seen == ["PartStartEvent", "FinalResultEvent", "PartEndEvent"]


async def _cancelled_in_mid_stream(entry: str, *capabilities: Any) -> list[Any]:
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.get_running_loop().create_future()

    async def consume(agent: AnyAgent) -> None:
        if entry == "nodes":
            async with agent.iter("now", message_history=turns(3)) as run:
                async for node in run:
                    if Agent.is_model_request_node(node):
                        async with node.stream(run.ctx) as stream:
                            async for _ in stream:
                                pass
        else:
            await run_async(entry, agent, "now", message_history=turns(3))

    agent: AnyAgent = Agent(Script(Partial("half", hang)).model, capabilities=capabilities)
    with capture_run_messages() as captured:
        task = asyncio.create_task(consume(agent))
        await reached.wait()
        task.cancel()
        (outcome,) = await asyncio.gather(task, return_exceptions=True)
    assert isinstance(outcome, asyncio.CancelledError)
    return stored(captured)


def look() -> str:
    """Look at something."""
    return "seen"
