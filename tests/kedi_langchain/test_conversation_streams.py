"""Streams of wrapped models as turns: whole when they were read to the end, and nothing when they were not.

Between two chunks the reader is not in the turn: its other calls wait for the stream, or are refused where nobody but
the reader itself could end it.
"""

from __future__ import annotations

import asyncio
import contextvars
import gc
import threading
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk
from langchain_core.prompts import ChatPromptTemplate

from chats import Chat, Partial, StreamingChat, Transport, adapter, calls, lines, results
from kedi_compile import ConversationError
from kedi_compile.conversation import ConversationState, history_scope
from threads import Gate, answering, look

TALK = ["< one", "> one two", "< two"]


def wrapped(transport: Transport, *, streams: bool = True) -> Any:
    """Return a wrapped model."""
    return adapter().wrap((StreamingChat if streams else Chat)(transport=transport))


def chain(transport: Transport) -> Any:
    """Return a prompt in front of a wrapped model."""
    return ChatPromptTemplate.from_messages([("human", "{question}")]) | wrapped(transport)


def read(stream: Iterator[AIMessageChunk]) -> str:
    """Return the text of a stream."""
    return "".join(chunk.text for chunk in stream)


async def aread(stream: AsyncIterator[AIMessageChunk]) -> str:
    """Return the text of an asynchronous stream."""
    return "".join([chunk.text async for chunk in stream])


@pytest.mark.parametrize("streams", [True, False])
def test_a_stream_that_was_read_is_a_turn(streams: bool) -> None:
    """Its chunks are put together to one answer, also where the model cannot stream."""
    transport = answering("one two", "three")
    model = wrapped(transport, streams=streams)

    with history_scope(True) as state:
        text = read(model.stream("one"))
        model.invoke("two")

    assert text == "one two"
    assert transport.sent[1] == TALK
    assert not isinstance(transport.requests[1][1], AIMessageChunk)
    assert state.turns == 2


async def test_an_awaited_stream_that_was_read_is_a_turn() -> None:
    """The same on the asynchronous path, from the model and from its events."""
    transport = answering("one two")
    model = wrapped(transport)

    with history_scope(True) as state:
        await aread(model.astream("one"))
        events = [event async for event in model.astream_events("two", version="v2")]
        await model.ainvoke("three")

    assert events[-1]["event"] == "on_chat_model_end"
    assert transport.sent[1:] == [TALK, [*TALK, "> one two", "< three"]]
    assert state.turns == 3


def test_streamed_tool_calls_stay_native() -> None:
    """Calls that came in chunks are whole in the next request, with the results that answer them."""
    transport = answering(calls("c1", "c2"), "done")
    model = wrapped(transport).bind_tools([look])

    with history_scope(True):
        list(model.stream("one"))
        list(model.stream(results("c1", "c2")))

    assert transport.sent[1] == ["< one", "> call c1 | call c2", "< result c1", "< result c2"]
    answer = transport.requests[1][1]
    assert isinstance(answer, AIMessage)
    assert [call["name"] for call in answer.tool_calls] == ["look", "look"]


def test_a_stream_belongs_to_the_scope_it_was_made_in() -> None:
    """Read outside of it, it is a turn of that conversation; made outside and read inside, it is none."""
    transport = answering("one two")
    model = wrapped(transport)

    inside = None
    outside = model.stream("outside")
    with history_scope(True) as state:
        inside = model.stream("one")
        read(outside)
    read(inside)
    with history_scope(True, state=state):
        model.invoke("two")

    assert transport.sent == [["< outside"], ["< one"], TALK]
    assert state.turns == 2


async def test_an_awaited_stream_belongs_to_the_scope_it_was_made_in() -> None:
    """The same on the asynchronous path."""
    transport = answering("one two")
    model = wrapped(transport)

    with history_scope(True) as state:
        stream = model.astream("one")
    await aread(stream)
    with history_scope(True, state=state):
        await model.ainvoke("two")

    assert transport.sent == [["< one"], TALK]


def test_a_stream_that_is_never_read_takes_no_place() -> None:
    """Nothing of it begins."""
    transport = answering("one two")
    model = wrapped(transport)

    with history_scope(True) as state:
        never = model.stream("never")
        model.invoke("one")
        del never

    assert transport.sent == [["< one"]]
    assert state.turns == 1


def _closed(model: Any) -> None:
    stream = model.stream("left")
    next(stream)
    stream.close()


def _dropped(model: Any) -> None:
    stream = model.stream("left")
    next(stream)
    del stream


def _closed_elsewhere(model: Any) -> None:
    stream = model.stream("left")
    next(stream)
    closing = threading.Thread(target=stream.close)
    closing.start()
    closing.join()


def _raising(model: Any) -> None:
    def consume() -> None:
        for chunk in model.stream("left"):
            raise KeyError(chunk.text)

    with pytest.raises(KeyError):
        consume()


@pytest.mark.parametrize("leave", [_closed, _dropped, _closed_elsewhere, _raising])
def test_a_stream_that_was_left_commits_nothing(leave: Any) -> None:
    """However it was left, the next call is served and sees nothing of it."""
    transport = answering("one two")
    model = wrapped(transport)

    with history_scope(True) as state:
        leave(model)
        model.invoke("one")
        model.invoke("two")

    assert transport.sent == [["< left"], ["< one"], TALK]
    assert state.turns == 2


async def _aclosed(runnable: Any, given: object) -> None:
    stream = runnable.astream(given)
    await anext(stream)
    await stream.aclose()


async def _adropped(runnable: Any, given: object) -> None:
    stream = runnable.astream(given)
    await anext(stream)


async def _aclosed_elsewhere(runnable: Any, given: object) -> None:
    stream = runnable.astream(given)
    await anext(stream)
    await asyncio.create_task(stream.aclose())


async def _araising(runnable: Any, given: object) -> None:
    async def consume() -> None:
        async for chunk in runnable.astream(given):
            raise KeyError(chunk.text)

    with pytest.raises(KeyError):
        await consume()


async def _acancelled(runnable: Any, given: object) -> None:
    async def reading() -> None:
        async for _ in runnable.astream(given):
            entered.set()
            await asyncio.Event().wait()

    entered = asyncio.Event()
    task = asyncio.create_task(reading())
    await entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


@pytest.mark.parametrize("is_chain", [False, True])
@pytest.mark.parametrize("leave", [_aclosed, _adropped, _aclosed_elsewhere, _araising, _acancelled])
async def test_an_awaited_stream_that_was_left_commits_nothing(leave: Any, is_chain: bool) -> None:
    """The loop closes a dropped stream later, and the next call waits for that instead of being lost or refused."""
    transport = answering("one two")
    model = chain(transport) if is_chain else wrapped(transport)

    def given(text: str) -> object:
        return {"question": text} if is_chain else text

    with history_scope(True) as state:
        await leave(model, given("left"))
        await model.ainvoke(given("one"))
        await model.ainvoke(given("two"))

    assert transport.sent == [["< left"], ["< one"], TALK]
    assert state.turns == 2


@pytest.mark.parametrize("failing", [RuntimeError("overloaded"), Partial("par", lambda: 1 / 0)], ids=["at once", "mid"])
def test_a_stream_that_fails_commits_nothing(failing: Any) -> None:
    """The error is the model's own, and the next call is served."""
    transport = answering(failing, "one two")
    model = wrapped(transport)

    with history_scope(True) as state:
        with pytest.raises((RuntimeError, ZeroDivisionError)):
            read(model.stream("left"))
        model.invoke("one")
        model.invoke("two")

    assert transport.sent == [["< left"], ["< one"], TALK]
    assert state.turns == 2


async def test_a_cancelled_stream_commits_nothing() -> None:
    """Cancelled between two chunks of the provider."""
    gate = Gate()
    transport = answering(Partial("par", gate.wait), "one two")
    model = wrapped(transport)

    with history_scope(True) as state:
        task = asyncio.create_task(aread(model.astream("left")))
        await gate.entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await model.ainvoke("one")

    assert transport.sent == [["< left"], ["< one"]]
    assert state.turns == 1


async def test_a_call_of_another_task_waits_for_the_stream() -> None:
    """A task that was started between two chunks is no part of the turn: it comes after it."""
    transport = answering("one two")
    model = wrapped(transport)

    with history_scope(True) as state:
        stream = model.astream("one")
        await anext(stream)
        second = asyncio.create_task(model.ainvoke("two"))
        await aread(stream)
        await second

    assert transport.sent == [["< one"], TALK]
    assert state.turns == 2


async def test_a_call_that_would_wait_for_its_callers_own_stream_is_refused() -> None:
    """Nobody else could read it on; the stream itself goes on, and commits."""
    transport = answering("one two")
    model = wrapped(transport)

    with history_scope(True) as state:
        stream = model.astream("one")
        await anext(stream)
        with pytest.raises(ConversationError, match="read or close the stream first"):
            await model.ainvoke("inside")
        await aread(stream)
        await model.ainvoke("two")

    assert transport.sent == [["< one"], TALK]
    assert state.turns == 2


def test_a_synchronous_call_that_would_wait_for_its_callers_own_stream_is_refused() -> None:
    """The same in a loop over a stream, where another conversation, or none, may be used."""
    transport, beside = answering("one two"), answering("seen")
    model, other = wrapped(transport), wrapped(beside)

    with history_scope(True) as state:
        for _ in model.stream("one"):
            with pytest.raises(ConversationError, match="read or close the stream first"):
                model.invoke("inside")
            with history_scope(enabled=False):
                other.invoke("without")
            with history_scope(state=ConversationState()):
                other.invoke("another")
        model.invoke("two")

    assert transport.sent == [["< one"], TALK]
    assert beside.sent == [["< without"], ["< another"]] * 3
    assert state.turns == 2


def test_threads_may_read_one_stream_and_serve_others_meanwhile() -> None:
    """As a server does: a worker that has read a chunk takes another request, which waits for the stream."""
    transport = answering("one two")
    model = wrapped(transport)
    state = ConversationState()
    chunks: list[Any] = []
    has_read = threading.Event()

    def work() -> None:
        contextvars.copy_context().run(lambda: chunks.append(next(stream)))
        has_read.set()
        contextvars.Context().run(_in, state, lambda: model.invoke("two"))

    with history_scope(True, state=state):
        stream = model.stream("one")
    worker = threading.Thread(target=work)
    worker.start()
    has_read.wait()
    chunks += list(stream)
    worker.join()

    assert lines([sum(chunks[1:], chunks[0])]) == ["> one two"]
    assert transport.sent == [["< one"], TALK]


def _in(state: ConversationState, call: Any) -> None:
    with history_scope(True, state=state):
        call()


def test_nothing_of_a_stream_is_left_behind() -> None:
    """A stream that was dropped in a cycle is given back by the collector."""
    transport = answering("one two")
    model = wrapped(transport)

    with history_scope(True) as state:
        cycle: list[Any] = [model.stream("left")]
        cycle.append(cycle)
        next(cycle[0])
        del cycle
        gc.collect()
        model.invoke("one")

    assert transport.sent == [["< left"], ["< one"]]
    assert state.turns == 1
