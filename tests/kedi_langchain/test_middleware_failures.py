"""Failures and cancellations: the durable history is what it was, ids included, and a resume makes the edit good.

Every misfortune is played under each checkpointer, through the agent middleware and through the node of a raw graph;
"equal" means every field of every message.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from chats import Answer, Context, Keeping, Partial, adapter, keep
from checkpointers import CHECKPOINTERS, aopened, opened
from kedi_compile import HistoryProcessingError, HistoryProcessingValidationError, HistoryProcessorState
from kedi_langchain import LangChainAdapter
from threads import THREAD, WAYS, Gate, Graph, answering, asks, built, kept, says

SENT = ["< question 3", "> answer 3", "< now"]
AFTER = ["q3 < question 3", "a3 > answer 3", "now < now"]
OVERLOADED = RuntimeError("overloaded")

each_way = pytest.mark.parametrize("way", WAYS)
each_checkpointer = pytest.mark.parametrize("checkpointer", CHECKPOINTERS)


@each_way
@each_checkpointer
def test_a_model_failure_leaves_the_durable_history_and_a_resume_edits_it(
    way: str, checkpointer: str, tmp_path: Path
) -> None:
    """The failing call commits nothing; the resumed one commits the edit together with its answer."""
    transport = answering(OVERLOADED, "done")
    with opened(checkpointer, tmp_path) as saver:
        graph = built(way, transport, adapter(keep(1)), saver)
        with pytest.raises(RuntimeError, match="overloaded"):
            graph.invoke(asks(), THREAD)
        failed = graph.get_state(THREAD)

        resumed = graph.invoke(None, THREAD)

        assert failed.values["messages"] == asks()["messages"]
        assert failed.next == ("model",)
        assert kept(resumed["messages"])[:-1] == AFTER
        assert graph.get_state(THREAD).next == ()
    assert transport.sent == [SENT, SENT]


@each_way
@each_checkpointer
def test_a_failure_in_a_later_turn_leaves_that_turns_history(way: str, checkpointer: str, tmp_path: Path) -> None:
    """The edit of the answered turn stays; the failing turn's own does not, and works on resume."""
    transport = answering("done", OVERLOADED, "again")
    with opened(checkpointer, tmp_path) as saver:
        graph = built(way, transport, adapter(keep(1)), saver)
        first = kept(graph.invoke(asks(), THREAD)["messages"])
        with pytest.raises(RuntimeError, match="overloaded"):
            graph.invoke(says("next"), THREAD)
        failed = graph.get_state(THREAD)

        resumed = graph.invoke(None, THREAD)

        assert kept(failed.values["messages"]) == [*first, "next < next"]
        assert failed.next == ("model",)
        assert kept(resumed["messages"])[:-1] == [*first[2:], "next < next"]
    assert transport.sent[2] == ["< now", "> done", "< next"]


class Moment:
    """A moment of a request at which its task is held; cleared by `let_go` for the resume."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gate = Gate()
        self.is_holding = True

    def adapter(self) -> LangChainAdapter:
        """Return an adapter that holds before or during its callback, if this is the moment for it."""
        return adapter(self._edit, self._condition)

    def answer(self) -> Answer:
        """Return the answer that holds after the callback or in mid-stream, if this is the moment for it."""
        answers: dict[str, Answer] = {"after": self.gate.wait, "mid-stream": Partial("par", self.gate.wait)}
        return answers.get(self.name, "done")

    async def _condition(self, state: HistoryProcessorState) -> bool:
        await self._hold("before")
        return True

    async def _edit(self, ctx: Context) -> Sequence[BaseMessage]:
        await self._hold("during")
        return ctx.keep_recent_groups(1)

    async def _hold(self, name: str) -> None:
        if self.is_holding and name == self.name:
            await self.gate.wait()


async def consumed(graph: Graph) -> None:
    """Run a turn and read its stream of messages to the end."""
    async for _ in graph.astream(asks(), THREAD, stream_mode="messages"):
        pass


@each_way
@each_checkpointer
@pytest.mark.parametrize("moment", ["before", "during", "after", "mid-stream"])
async def test_a_cancel_leaves_the_durable_history_and_a_resume_edits_it(
    way: str, checkpointer: str, moment: str, tmp_path: Path
) -> None:
    """Before, during and after the callback, and between two chunks: nothing is committed, and a resume edits."""
    held = Moment(moment)
    streamed = moment == "mid-stream"
    transport = answering(*([held.answer()] if moment in ("after", "mid-stream") else []), "done")
    async with aopened(checkpointer, tmp_path) as saver:
        graph = built(way, transport, held.adapter(), saver)
        running = asyncio.create_task(consumed(graph) if streamed else graph.ainvoke(asks(), THREAD))
        await held.gate.entered.wait()
        running.cancel()
        with pytest.raises(asyncio.CancelledError):
            await running
        cancelled = await graph.aget_state(THREAD)
        held.is_holding = False

        resumed = await graph.ainvoke(None, THREAD)

        assert cancelled.values["messages"] == asks()["messages"]
        assert cancelled.next == ("model",)
        assert kept(resumed["messages"])[:-1] == AFTER
        assert (await graph.aget_state(THREAD)).next == ()
    assert transport.sent[-1] == SENT


@each_way
@each_checkpointer
async def test_a_broken_stream_leaves_the_durable_history(way: str, checkpointer: str, tmp_path: Path) -> None:
    """The model streams a word and then fails: no word of it and no edit is kept, and a resume edits."""
    transport = answering(Partial("par", _raise_overloaded), "done")
    async with aopened(checkpointer, tmp_path) as saver:
        graph = built(way, transport, adapter(keep(1)), saver)
        with pytest.raises(RuntimeError, match="overloaded"):
            await consumed(graph)
        broken = await graph.aget_state(THREAD)

        resumed = await graph.ainvoke(None, THREAD)

        assert broken.values["messages"] == asks()["messages"]
        assert broken.next == ("model",)
        assert kept(resumed["messages"])[:-1] == AFTER


@each_way
async def test_an_abandoned_stream_leaves_the_durable_history(way: str, tmp_path: Path) -> None:
    """The consumer closes the stream after its first word: nothing is committed, and a resume edits."""
    transport = answering(Partial("par", Gate().wait), "done")
    async with aopened("memory", tmp_path) as saver:
        graph = built(way, transport, adapter(keep(1)), saver)
        stream = graph.astream(asks(), THREAD, stream_mode="messages")
        word, _ = await anext(stream)
        await stream.aclose()
        left = await graph.aget_state(THREAD)

        resumed = await graph.ainvoke(None, THREAD)

    assert word.text == "par"
    assert left.values["messages"] == asks()["messages"]
    assert kept(resumed["messages"])[:-1] == AFTER


@each_way
def test_a_closed_sync_stream_keeps_the_edit_only_with_the_whole_answer(way: str, tmp_path: Path) -> None:
    """The host cannot stop a thread: it finishes the step behind a closed stream, with edit and answer together."""
    with opened("memory", tmp_path) as saver:
        graph = built(way, answering("one two three"), adapter(keep(1)), saver)
        stream = graph.stream(asks(), THREAD, stream_mode="messages")
        next(stream)
        stream.close()
        left = kept(graph.get_state(THREAD).values["messages"])

    assert left == kept(asks()["messages"]) or (left[:-1] == AFTER and left[-1].endswith("> one two three"))


@each_way
@pytest.mark.parametrize(
    ("processor", "error"),
    [
        pytest.param(lambda ctx: 1 / 0, HistoryProcessingError, id="raises"),
        pytest.param(lambda ctx: ctx.messages[1:], HistoryProcessingValidationError, id="splits a group"),
    ],
)
def test_a_refused_edit_leaves_the_durable_history(
    way: str, processor: Callable[[Context], Any], error: type[Exception], tmp_path: Path
) -> None:
    """Nothing is sent, nothing is committed, and the thread waits for a resume."""
    transport = answering("done")
    with opened("memory", tmp_path) as saver:
        graph = built(way, transport, adapter(processor), saver)
        with pytest.raises(error):
            graph.invoke(asks(), THREAD)
        left = graph.get_state(THREAD)

    assert left.values["messages"] == asks()["messages"]
    assert left.next == ("model",)
    assert transport.sent == []


def test_a_failed_request_does_not_count(tmp_path: Path) -> None:
    """Index and generation of the resumed request are those of the failed one."""
    seen: list[tuple[int, int]] = []

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        seen.append((ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(1)

    with opened("memory", tmp_path) as saver:
        graph = built("middleware", answering(OVERLOADED, "done"), adapter(edit), saver)
        with pytest.raises(RuntimeError, match="overloaded"):
            graph.invoke(asks(), THREAD)
        graph.invoke(None, THREAD)

    assert seen == [(1, 0), (1, 0)]


def test_a_thread_that_failed_may_go_on_without_a_resume(tmp_path: Path) -> None:
    """A new question instead of a resume: the next request edits the history with both questions."""
    processor = Keeping(1)
    with opened("memory", tmp_path) as saver:
        graph = built("middleware", answering(OVERLOADED, "done"), adapter(processor), saver)
        with pytest.raises(RuntimeError, match="overloaded"):
            graph.invoke(asks(), THREAD)

        finished = graph.invoke(says("next"), THREAD)

    assert kept(finished["messages"])[:-1] == ["q3 < question 3", "a3 > answer 3", "now < now", "next < next"]
    assert processor.count == 2


def _raise_overloaded() -> None:
    raise OVERLOADED
