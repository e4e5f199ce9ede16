"""Calls of wrapped models at once, inside of each other, and in several processes: turns are whole, or are none."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableParallel

from chats import Chat, Context, StreamingChat, Transport, adapter, keep
from kedi_compile import ConversationConflict, ConversationError, HistoryProcessingError
from kedi_compile.conversation import ConversationState, history_scope
from kedi_compile.stores.memory import MemoryConversationStore
from threads import Gate, agent, answering

TALK = ["< one", "> done", "< two"]
CALLS = 32


def wrapped(transport: Transport, **options: Any) -> Any:
    """Return a wrapped model."""
    return adapter(**options).wrap(StreamingChat(transport=transport))


def prompts(shown: list[str]) -> list[str]:
    """Return the prompts among the lines of a request."""
    return [line.removeprefix("< ") for line in shown if line.startswith("< ")]


def numbered() -> list[str]:
    """Return many prompts, in order."""
    return [f"p{number}" for number in range(CALLS)]


SENDS: dict[str, Callable[[Any], Any]] = {
    "invoke": lambda model: model.invoke("left"),
    "ainvoke": lambda model: asyncio.run(model.ainvoke("left")),
    "batch": lambda model: model.batch(["left"]),
    "generate": lambda model: model.generate([[HumanMessage("left")]]),
}


@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
def test_a_call_that_fails_commits_nothing_and_the_next_is_served(send: Any) -> None:
    """Its error is the model's own."""
    transport = answering(LookupError("overloaded"), "done")
    model = wrapped(transport)

    with history_scope(True) as state:
        with pytest.raises(LookupError):
            send(model)
        model.invoke("one")
        model.invoke("two")

    assert transport.sent == [["< left"], ["< one"], TALK]
    assert state.turns == 2


@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
def test_a_processor_that_fails_commits_nothing_and_the_next_is_served(send: Any) -> None:
    """Nothing is sent; neither prompt nor generation is kept."""
    transport = answering("done")
    epochs: list[int] = []

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        epochs.append(ctx.cache_epoch)
        if ctx.messages[-1].text == "left":
            raise LookupError("no policy")
        return ctx.messages

    model = adapter(edit).wrap(StreamingChat(transport=transport))
    with history_scope(True) as state:
        model.invoke("one")
        with pytest.raises(HistoryProcessingError):
            send(model)
        model.invoke("two")

    assert transport.sent == [["< one"], TALK]
    assert epochs == [0, 0, 0]
    assert state.turns == 2


@pytest.mark.parametrize("is_timed", [False, True], ids=["cancelled", "timed out"])
async def test_a_cancelled_call_commits_nothing(is_timed: bool) -> None:
    """Nor does one that ran out of time."""
    gate = Gate()
    transport = answering(gate.wait, "done")
    model = wrapped(transport)

    with history_scope(True) as state:
        if is_timed:
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(model.ainvoke("left"), 0.01)
        else:
            task = asyncio.create_task(model.ainvoke("left"))
            await gate.entered.wait()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
        await model.ainvoke("one")

    assert transport.sent == [["< left"], ["< one"]]
    assert state.turns == 1


async def test_a_call_that_is_cancelled_while_it_waits_gives_its_place_back() -> None:
    """Those behind it are served in their order."""
    gate = Gate()
    transport = answering(gate.wait, "done")
    model = wrapped(transport)

    with history_scope(True) as state:
        first, second, third = (asyncio.create_task(model.ainvoke(prompt)) for prompt in ("left", "never", "one"))
        await gate.entered.wait()
        second.cancel()
        first.cancel()
        await asyncio.gather(first, second, return_exceptions=True)
        await third

    assert transport.sent == [["< left"], ["< one"]]
    assert state.turns == 1


async def test_calls_that_are_gathered_follow_each_other_in_source_order() -> None:
    """Whatever mixture of calls and streams they are."""
    transport = answering("done")
    model = wrapped(transport)

    async def stream(prompt: str) -> None:
        async for _ in model.astream(prompt):
            await asyncio.sleep(0)

    with history_scope(True) as state:
        await asyncio.gather(
            *(stream(prompt) if number % 3 else model.ainvoke(prompt) for number, prompt in enumerate(numbered()))
        )

    assert prompts(transport.sent[-1]) == numbered()
    assert state.turns == CALLS


async def test_conversations_do_not_wait_for_each_other() -> None:
    """While one is held, another goes on."""
    gate = Gate()
    held, model = wrapped(answering(gate.wait)), wrapped(answering("done"))

    with history_scope(True):
        waiting = asyncio.create_task(held.ainvoke("held"))
        await gate.entered.wait()
        with history_scope(state=ConversationState()) as other:
            await model.ainvoke("one")
        waiting.cancel()

    assert other is not None
    assert other.turns == 1


def test_calls_in_threads_are_whole_turns() -> None:
    """None is lost, and none is within another."""
    transport = answering("done")
    model = wrapped(transport)

    def call(prompt: str) -> None:
        with history_scope(True, state=state):
            model.invoke(prompt)

    state = ConversationState()
    threads = [threading.Thread(target=call, args=(prompt,)) for prompt in numbered()]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert sorted(prompts(transport.sent[-1])) == sorted(numbered())
    assert [len(sent) for sent in transport.sent] == [2 * number + 1 for number in range(CALLS)]
    assert state.turns == CALLS


def test_branches_of_a_chain_are_turns_one_after_the_other() -> None:
    """The host runs them in threads."""
    transport = answering("done")
    model = wrapped(transport)

    with history_scope(True) as state:
        RunnableParallel(first=model, second=model).invoke("one")

    assert transport.sent == [["< one"], ["< one", "> done", "< one"]]
    assert state.turns == 2


async def test_a_synchronous_call_that_would_block_the_loop_of_an_earlier_turn_is_refused() -> None:
    """The earlier one could never end; it is left alone."""
    entered, go = asyncio.Event(), asyncio.Event()

    async def hold() -> None:
        entered.set()
        await go.wait()

    transport = answering(hold, "over")
    model = wrapped(transport)

    with history_scope(True) as state:
        first = asyncio.create_task(model.ainvoke("one"))
        await entered.wait()
        for call in (lambda: model.invoke("left"), lambda: list(model.stream("left"))):
            with pytest.raises(ConversationError, match="use the asynchronous method"):
                call()
        go.set()
        await first
        model.invoke("two")

    assert transport.sent == [["< one"], TALK]
    assert state.turns == 2


def test_a_processor_may_ask_another_model() -> None:
    """Inside the turn it runs without the conversation it inherits."""
    transport, helper = answering("done"), answering("short")
    helping = wrapped(helper)

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        closed = [group for group in ctx.groups if group.closed]
        return (
            ctx.replace_groups(closed, *ctx.summary_messages(helping.invoke("Sum up.").text))
            if closed
            else ctx.messages
        )

    model = adapter(edit).wrap(Chat(transport=transport))
    with history_scope(True) as state:
        model.invoke("one")
        model.invoke("two")
        model.invoke("three")

    assert helper.sent == [["< Sum up."], ["< Sum up."]]
    assert transport.sent[2] == ["< short", "> Noted.", "< three"]
    assert state.turns == 3


@pytest.mark.parametrize("is_own", [False, True])
def test_a_processor_that_names_a_conversation_for_a_model(is_own: bool) -> None:
    """Another one is fine; that of its own turn would wait for itself."""
    transport, helper = answering("done"), answering("short")
    helping, state, other = wrapped(helper), ConversationState(), ConversationState()

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        with history_scope(True, state=state if is_own else other):
            helping.invoke("Sum up.")
        return ctx.messages

    model = adapter(edit).wrap(Chat(transport=transport))
    with history_scope(True, state=state):
        if is_own:
            with pytest.raises(HistoryProcessingError, match="would wait for itself"):
                model.invoke("one")
        else:
            model.invoke("one")

    assert (state.turns, other.turns) == ((0, 0) if is_own else (1, 1))
    assert helper.sent == ([] if is_own else [["< Sum up."]])


def asking(transport: Transport, *, is_agent: bool) -> Any:
    """Return a function that takes a turn."""
    if not is_agent:
        return wrapped(transport).invoke
    subject = agent(transport, adapter(keep(9)), tools=[])
    return lambda prompt: subject.invoke({"messages": prompt})


each_host = pytest.mark.parametrize("is_agent", [False, True], ids=["model", "agent"])


@each_host
def test_a_lost_race_is_a_conflict_and_a_retry_begins_from_what_is_stored(is_agent: bool) -> None:
    """Another process commits while the model is asked: nothing is overwritten."""
    store = MemoryConversationStore()
    mine, other = ConversationState("s", store), ConversationState("s", store)

    def commit_elsewhere() -> None:
        with history_scope(True, state=other):
            asking(answering("done"), is_agent=is_agent)("one")

    transport = answering(commit_elsewhere, "over", "again")
    ask = asking(transport, is_agent=is_agent)
    with history_scope(True, state=mine):
        with pytest.raises(ConversationConflict) as caught:
            ask("left")
        lost = mine.turns
        ask("two")
        ask("three")

    assert (caught.value.session_id, caught.value.expected, caught.value.found) == ("s", 0, 1)
    assert lost == 0
    assert transport.sent == [["< left"], TALK, [*TALK, "> over", "< three"]]
    assert mine.turns == 3


@each_host
async def test_a_lost_race_is_a_conflict_for_a_synchronous_call_on_a_loop_too(is_agent: bool) -> None:
    """The host drops what handlers raise that it would have to await there."""
    test_a_lost_race_is_a_conflict_and_a_retry_begins_from_what_is_stored(is_agent)


@each_host
async def test_a_lost_race_is_a_conflict_on_the_asynchronous_path(is_agent: bool) -> None:
    """Reading and committing do not block the loop; the conflict is the same."""
    store = MemoryConversationStore()
    mine, other = ConversationState("s", store), ConversationState("s", store)

    async def commit_elsewhere() -> None:
        with history_scope(True, state=other):
            await asyncio.to_thread(asking(answering("done"), is_agent=is_agent), "one")

    transport = answering(commit_elsewhere, "over")
    subject = agent(transport, adapter(), tools=[]) if is_agent else wrapped(transport)
    given: Callable[[str], Any] = (lambda prompt: {"messages": prompt}) if is_agent else (lambda prompt: prompt)
    # Named anew, so that the other process is not inside of this one's turn.
    with history_scope(True, state=mine):
        with pytest.raises(ConversationConflict):
            await subject.ainvoke(given("left"))
        await subject.ainvoke(given("two"))

    assert transport.sent == [["< left"], TALK]


@each_host
def test_a_stored_conversation_goes_on_in_another_object(is_agent: bool) -> None:
    """As in another process: the store is the truth."""
    store = MemoryConversationStore()
    transport = answering("done")

    for prompt in ("one", "two"):
        with history_scope(True, state=ConversationState("s", store)):
            asking(transport, is_agent=is_agent)(prompt)

    assert transport.sent == [["< one"], TALK]


def test_a_store_that_fails_fails_the_call_and_commits_nothing() -> None:
    """Its own error, and the next call is served."""

    class Full(MemoryConversationStore):
        is_full = True

        def commit(self, session_id: str, change: Any) -> int:
            if self.is_full:
                raise OSError("disk full")
            return super().commit(session_id, change)

    store = Full()
    transport = answering("done")
    model = wrapped(transport)
    with history_scope(True, state=ConversationState("s", store)) as state:
        for call in (lambda: model.invoke("left"), lambda: list(model.stream("left"))):
            with pytest.raises(OSError, match="disk full"):
                call()
        store.is_full = False
        model.invoke("one")

    assert transport.sent == [["< left"], ["< left"], ["< one"]]
    assert state.turns == 1
