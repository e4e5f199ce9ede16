"""Requests that cannot be assembled, and calls that are cancelled meanwhile: nothing is sent and nothing is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from asking import ASKS, RUNS, shown
from assemblies import (
    EPOCH,
    SYSTEM,
    Dumps,
    compiler,
    extracted,
    failing,
    failing_async,
    growing,
    leaks,
    untrusted,
    wishing,
)
from assembling import inputs, ledger, limited
from chats import StreamingChat, adapter, asked, calls, keep, lines
from kedi_compile import AssemblyError, BudgetExceeded, InvariantViolation
from kedi_compile.assembly import RequestCompiler
from kedi_compile.conversation import ConversationState, history_scope
from kedi_langchain import messages_of
from threads import THREAD, Gate, agent, answering, asks, says

EACH_RUN = pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
EACH_ASK = pytest.mark.parametrize("ask", ASKS.values(), ids=ASKS)
GONE = LookupError("gone")

COMPILERS: dict[str, tuple[Callable[[], RequestCompiler], type[AssemblyError], str]] = {
    "inputs raise": (lambda: compiler(failing(GONE)), AssemblyError, "`inputs` raised LookupError: gone"),
    "inputs raise, async": (lambda: compiler(failing_async(GONE)), AssemblyError, "`inputs` raised LookupError: gone"),
    "inputs are none": (lambda: compiler(lambda live: {"core": "x"}), AssemblyError, "from `inputs`, .*dict"),
    "extraction raises": (lambda: wishing(failing(GONE)), AssemblyError, "`extraction` raised LookupError: gone"),
    "extraction raises, async": (
        lambda: wishing(failing_async(GONE)),
        AssemblyError,
        "`extraction` raised LookupError: gone",
    ),
    "extraction is none": (lambda: wishing(lambda wish: "x"), AssemblyError, "from `extraction` for .*str"),
    "no room": (lambda: compiler(inputs(budget=limited(20))), BudgetExceeded, "The request takes"),
    "untrusted policy": (lambda: compiler(untrusted()), InvariantViolation, "no_policy_from_untrusted"),
}


@EACH_RUN
@pytest.mark.parametrize("name", COMPILERS)
def test_what_cannot_be_assembled_is_not_sent(run: Any, name: str) -> None:
    """The history is as it was, also where an edit was accepted before; the dump says what refused it."""
    make, kind, message = COMPILERS[name]
    transport, dumps, saver = answering("never"), Dumps(), InMemorySaver()
    built = agent(transport, adapter(keep(1), request_compiler=make(), dump=dumps), saver)

    with pytest.raises(kind, match=message) as caught:
        run(built, asks("now"), THREAD)

    assert transport.requests == []
    assert built.get_state(THREAD).values["messages"] == asks("now")["messages"]
    assert (dumps.only.outcome, dumps.only.assembly) == ("refused", None)
    assert dumps.only.error == f"{type(caught.value).__name__}: {caught.value}"


@EACH_ASK
@pytest.mark.parametrize("name", COMPILERS)
def test_what_cannot_be_assembled_for_a_model_is_not_sent(ask: Any, name: str) -> None:
    """Each call of a wrapped model is a request of its own."""
    make, kind, message = COMPILERS[name]
    transport, dumps = answering("never"), Dumps()
    model = adapter(keep(1), request_compiler=make(), dump=dumps).wrap(StreamingChat(transport=transport))

    with pytest.raises(kind, match=message):
        ask(model, asked())

    assert transport.requests == []
    assert (dumps.only.outcome, dumps.only.history.outcome, dumps.only.assembly) == ("refused", "edited", None)


@EACH_RUN
def test_the_run_after_a_refused_one_is_assembled_from_its_beginning(run: Any) -> None:
    """The same adapter serves it, and a thread that is resumed too."""
    given: list[Any] = [GONE, inputs(), inputs()]

    def give(live: Any) -> Any:
        if isinstance(one := given.pop(0), Exception):
            raise one
        return one

    transport = answering("done")
    built = agent(transport, adapter(request_compiler=compiler(give)), InMemorySaver(), tools=[])
    with pytest.raises(AssemblyError):
        run(built, says("now"), THREAD)

    run(built, None, THREAD)

    assert shown(transport.requests[0]) == [f"< system {SYSTEM}", f"< {EPOCH} | now"]
    assert lines(built.get_state(THREAD).values["messages"]) == ["< now", "> done"]


@EACH_RUN
def test_a_failing_provider_leaves_nothing_of_what_was_assembled(run: Any) -> None:
    """Neither in the thread nor in what the next run sends."""
    transport = answering(RuntimeError("overloaded"), "done")
    built = agent(transport, adapter(request_compiler=compiler()), InMemorySaver(), tools=[])

    with pytest.raises(RuntimeError, match="overloaded"):
        run(built, says("now"), THREAD)
    failed = built.get_state(THREAD)
    run(built, None, THREAD)

    assert leaks(failed.values) == []
    assert shown(transport.requests[0]) == shown(transport.requests[1]) == [f"< system {SYSTEM}", f"< {EPOCH} | now"]


@EACH_RUN
def test_a_later_request_that_cannot_be_assembled_keeps_the_finished_ones(run: Any) -> None:
    """As with any failure of a later step."""
    good, dumps = growing(ledger()), Dumps()

    def give(live: Any) -> Any:
        if live.request_index == 2:
            raise GONE
        return good(live)

    built = agent(
        answering(calls("c1"), "never"), adapter(request_compiler=compiler(give), dump=dumps), InMemorySaver()
    )
    with pytest.raises(AssemblyError):
        run(built, says("now"), THREAD)

    assert lines(built.get_state(THREAD).values["messages"]) == ["< now", "> call c1", "< result c1"]
    assert dumps.outcomes == ["answered", "refused"]


class Held:
    """A moment of a request at which its task is held: in one of the callbacks, or in the model."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.gate = Gate()

    def compiler(self) -> RequestCompiler:
        """Return a compiler that waits in its callback, if this is the moment for it."""

        async def give(live: Any) -> Any:
            if self.name == "inputs":
                await self.gate.wait()
            return inputs()

        async def extract(wish: Any) -> Any:
            await self.gate.wait()
            return extracted()

        return wishing(extract) if self.name == "extraction" else compiler(give)

    @property
    def answer(self) -> Any:
        """The answer that waits, if this is the moment for it."""
        return self.gate.wait if self.name == "request" else "never"


async def cancelled(held_at: Held, awaitable: Any) -> None:
    """Cancel a task when it is held."""
    task = asyncio.create_task(awaitable)
    await held_at.gate.entered.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def drained(stream: Any) -> list[Any]:
    """Read a stream to its end."""
    return [item async for item in stream]


each_moment = pytest.mark.parametrize("moment", ["inputs", "extraction", "request"])


@each_moment
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_cancelled_run_leaves_nothing(moment: str, is_streamed: bool) -> None:
    """Cancellation is itself, the thread is as it was, and the dump says so."""
    held_at, dumps = Held(moment), Dumps()
    transport = answering(held_at.answer)
    built = agent(
        transport, adapter(keep(1), request_compiler=held_at.compiler(), dump=dumps), InMemorySaver(), tools=[]
    )
    start = drained(built.astream(asks("now"), THREAD)) if is_streamed else built.ainvoke(asks("now"), THREAD)

    await cancelled(held_at, start)

    assert len(transport.requests) == (moment == "request")
    assert built.get_state(THREAD).values["messages"] == asks("now")["messages"]
    assert dumps.outcomes == ["cancelled"]
    assert (dumps.only.assembly is None) is (moment != "request")


@each_moment
@pytest.mark.parametrize("is_streamed", [False, True])
async def test_a_cancelled_call_of_a_model_leaves_nothing(moment: str, is_streamed: bool) -> None:
    """Also in a conversation, which is free for the next turn."""
    held_at, dumps, state = Held(moment), Dumps(), ConversationState()
    given = adapter(request_compiler=held_at.compiler(), dump=dumps)
    model = given.wrap(StreamingChat(transport=answering(held_at.answer)))

    with history_scope(True, state):
        await cancelled(held_at, drained(model.astream("now")) if is_streamed else model.ainvoke("now"))

    assert dumps.outcomes == ["cancelled"]
    assert (state.turns, state.ledger.line.tickets) == (0, [])


@EACH_ASK
def test_a_conversation_keeps_nothing_of_what_was_assembled(ask: Any) -> None:
    """Nor does a checkpoint of it."""
    transport, state = answering("one", "two"), ConversationState()
    model = adapter(request_compiler=compiler(growing(ledger()))).wrap(StreamingChat(transport=transport))

    with history_scope(True, state):
        ask(model, "first")
        ask(model, [HumanMessage("second")])

    assert shown(transport.requests[1])[1:] == ["< first", "> one", f"< {EPOCH} | second"]
    assert lines(messages_of(state)) == ["< first", "> one", "< second", "> two"]
    assert leaks(state.checkpoint().to_json()) == []


@pytest.mark.parametrize("is_async", [False, True])
def test_a_conversation_around_an_agent_keeps_nothing_either(is_async: bool) -> None:
    """Its turns are the agent's runs."""
    transport, state = answering(calls("c1"), "one", "two"), ConversationState()
    built = agent(transport, adapter(request_compiler=compiler(growing(ledger()))))
    run = RUNS["ainvoke" if is_async else "invoke"]

    with history_scope(True, state):
        run(built, says("first"))
        run(built, says("second"))

    last = shown(transport.requests[2])[1:]
    assert last[:4] == ["< first", "> call c1", "< result c1", "> one"]
    assert last[4].startswith(f"< {EPOCH}")
    assert leaks(state.checkpoint().to_json()) == []
