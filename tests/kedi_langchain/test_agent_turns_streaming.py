"""Streams of agents in a scope: nothing of earlier turns is in them, and a stream that was left is no turn."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from chats import Context, adapter, calls, keep, lines
from kedi_compile import ConversationError
from kedi_compile.conversation import history_scope
from kedi_langchain import LangChainAdapter
from threads import Gate, agent, answering, says

MODES: list[Any] = [
    *("values", "updates", "messages", "custom", "debug", "tasks", "checkpoints"),
    ["values", "messages"],
]
WORDS = ["> ", "> call c2", "> ", "< result c2", "> third", "> "]

each_adapter = pytest.mark.parametrize("ours", [adapter(), adapter(keep(0))], ids=["as it is", "edited"])


def pieces(stream: Iterable[tuple[BaseMessage, Any]]) -> list[str]:
    """Write each message of a stream as its line."""
    return [line for message, _ in stream for line in lines([message])]


@each_adapter
@pytest.mark.parametrize("mode", MODES, ids=str)
def test_no_stream_holds_anything_of_an_earlier_turn(mode: Any, ours: LangChainAdapter) -> None:
    """In any mode, edited or not; and each stream that was read is a turn."""
    transport = answering(calls("c1"), "answered", calls("c2"), "third")
    subject = agent(transport, ours)

    with history_scope(True) as state:
        list(subject.stream(says("zebra"), stream_mode=mode))
        streamed = str(list(subject.stream(says("two"), stream_mode=mode)))

    assert "< two" in transport.sent[-1]
    assert "zebra" not in streamed
    assert "answered" not in streamed
    assert state.turns == 2


@each_adapter
@pytest.mark.parametrize("mode", MODES, ids=str)
async def test_no_awaited_stream_holds_anything_of_an_earlier_turn(mode: Any, ours: LangChainAdapter) -> None:
    """The same on the asynchronous path."""
    transport = answering(calls("c1"), "answered", calls("c2"), "third")
    subject = agent(transport, ours)

    with history_scope(True) as state:
        _ = [item async for item in subject.astream(says("zebra"), stream_mode=mode)]
        streamed = str([item async for item in subject.astream(says("two"), stream_mode=mode)])

    assert "zebra" not in streamed
    assert "answered" not in streamed
    assert state.turns == 2


@each_adapter
def test_the_messages_of_a_later_turn_are_its_own(ours: LangChainAdapter) -> None:
    """The chunks of its answers and the result of its tool."""
    subject = agent(answering("done", calls("c2"), "third"), ours)

    with history_scope(True):
        subject.invoke(says("one"))
        streamed = pieces(subject.stream(says("two"), stream_mode="messages"))

    assert streamed == WORDS


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol:langchain_core._api.beta_decorator.LangChainBetaWarning")
def test_events_of_a_later_turn_are_its_own() -> None:
    """Versions 2 and 3: a run of an agent ends where its graph does, whoever follows it."""
    subject = agent(answering("done", "second", "third"), adapter())

    async def events() -> list[Any]:
        return [event async for event in subject.astream_events(says("two"), version="v2")]

    with history_scope(True) as state:
        subject.invoke(says("one"))
        second = asyncio.run(events())
        with subject.stream_events(says("three"), version="v3") as run:
            third = [event["params"]["data"][0] for event in run if event["method"] == "messages"]

    assert second[-1]["event"] == "on_chain_end"
    assert lines(second[-1]["data"]["output"]["messages"]) == ["< two", "> second"]
    assert [event["event"] for event in third].count("message-start") == 1
    assert state.turns == 3


def _closed(stream: Any) -> None:
    stream.close()


def _closed_elsewhere(stream: Any) -> None:
    closing = threading.Thread(target=stream.close)
    closing.start()
    closing.join()


@pytest.mark.parametrize("mode", ["messages", "values", "updates"])
@pytest.mark.parametrize("leave", [_closed, _closed_elsewhere, lambda stream: None], ids=["closed", "other", "dropped"])
def test_a_stream_that_was_left_commits_nothing(leave: Any, mode: str) -> None:
    """Wherever it was closed, the next run is served and sees nothing of it."""
    transport = answering("one two")
    subject = agent(transport, adapter(keep(5)))

    with history_scope(True) as state:
        stream = subject.stream(says("left"), stream_mode=mode)
        next(stream)
        leave(stream)
        del stream
        subject.invoke(says("one"))
        subject.invoke(says("two"))

    assert transport.sent[-2:] == [["< one"], ["< one", "> one two", "< two"]]
    assert state.turns == 2


def test_a_run_inside_an_open_stream_of_its_own_caller_is_refused() -> None:
    """It would wait for a stream that nobody can read on meanwhile; read to the end, it is served."""
    subject = agent(answering("one two"), adapter(keep(5)))

    with history_scope(True) as state:
        stream = subject.stream(says("open"), stream_mode="messages")
        next(stream)
        with pytest.raises(ConversationError, match="a stream that its own caller has not read"):
            subject.invoke(says("inside"))
        list(stream)
        subject.invoke(says("after"))

    assert state.turns == 2


async def test_an_awaited_run_inside_an_open_stream_of_its_own_caller_is_refused() -> None:
    """The same on the asynchronous path; another task waits for the stream."""
    transport = answering("one two")
    subject = agent(transport, adapter(keep(5)))

    with history_scope(True) as state:
        stream = subject.astream(says("open"), stream_mode="messages")
        await anext(stream)
        with pytest.raises(ConversationError, match="a stream that its own caller has not read"):
            await subject.ainvoke(says("inside"))
        other = asyncio.ensure_future(subject.ainvoke(says("other")))
        _ = [chunk async for chunk in stream]
        await other

    assert state.turns == 2
    assert transport.sent[-1] == ["< open", "> one two", "< other"]


async def _aclosed(stream: Any) -> None:
    await stream.aclose()


async def _aclosed_elsewhere(stream: Any) -> None:
    await asyncio.create_task(stream.aclose())


async def _adropped(_: Any) -> None:
    return


@pytest.mark.parametrize("mode", ["messages", "values", "updates"])
@pytest.mark.parametrize("leave", [_aclosed, _aclosed_elsewhere, _adropped])
async def test_an_awaited_stream_that_was_left_commits_nothing(leave: Any, mode: str) -> None:
    """The same on the asynchronous path, where the loop closes what was dropped."""
    transport = answering("one two")
    subject = agent(transport, adapter(keep(5)))

    with history_scope(True) as state:
        stream = subject.astream(says("left"), stream_mode=mode)
        await anext(stream)
        await leave(stream)
        del stream
        await subject.ainvoke(says("one"))
        await subject.ainvoke(says("two"))

    assert transport.sent[-2:] == [["< one"], ["< one", "> one two", "< two"]]
    assert state.turns == 2


async def test_a_reader_that_is_cancelled_commits_nothing() -> None:
    """In the middle of a stream."""
    transport = answering("one two")
    subject = agent(transport, adapter())
    gate = Gate()

    async def read() -> None:
        async for _ in subject.astream(says("left"), stream_mode="messages"):
            await gate.wait()

    with history_scope(True) as state:
        reading = asyncio.create_task(read())
        await gate.entered.wait()
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await subject.ainvoke(says("one"))

    assert transport.sent[-1] == ["< one"]
    assert state.turns == 1


async def test_a_run_of_another_task_waits_for_the_stream() -> None:
    """It comes after the stream, and sees its turn."""
    transport = answering("one two")
    subject = agent(transport, adapter())

    with history_scope(True) as state:
        stream = subject.astream(says("one"), stream_mode="messages")
        await anext(stream)
        second = asyncio.create_task(subject.ainvoke(says("two")))
        _ = [item async for item in stream]
        await second

    assert transport.sent == [["< one"], ["< one", "> one two", "< two"]]
    assert state.turns == 2


@pytest.mark.filterwarnings("ignore::kedi_compile.HistoryPrefixWarning")
def test_a_stream_keeps_the_scope_its_run_began_in() -> None:
    """Conversation and processor hold to its end, also where the rest is read outside of the scope."""
    transport = answering("done", calls("c1"), "over")
    subject = agent(transport, adapter())
    indices: list[int] = []

    def note(ctx: Context) -> Sequence[BaseMessage]:
        indices.append(ctx.request_index)
        return ctx.messages

    with history_scope(True) as state:
        subject.invoke(says("one"))
        with history_scope(processor=note):
            stream = subject.stream(says("two"), stream_mode="updates")
            next(stream)
    list(stream)

    assert indices == [1, 2]
    assert transport.sent[-1] == ["< one", "> done", "< two", "> call c1", "< result c1"]
    assert state.turns == 2


def test_a_stream_that_is_first_read_outside_of_the_scope_is_no_turn() -> None:
    """The host runs nothing of a graph before its first piece is read; then no scope is around it."""
    transport = answering("done")
    subject = agent(transport, adapter())

    with history_scope(True) as state:
        subject.invoke(says("one"))
        stream = subject.stream(says("two"))
    list(stream)

    assert transport.sent == [["< one"], ["< two"]]
    assert state.turns == 1
