"""Turns of one conversation run one after the other, in the order their calls were made; nested runs are no turns."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from typing import Any

import pytest
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability

from agents import ENTRY_POINTS, Script, adapter, calls, keep, lines, run_async, run_through, turns
from kedi_compile import ConversationError
from kedi_compile.conversation import ConversationState, history_scope
from talks import AnyAgent, held, is_free, look, soon, talking

EACH_ASYNC = pytest.mark.parametrize("entry", [entry for entry in ENTRY_POINTS if entry != "run_sync"])


class Slow(AbstractCapability[Any]):
    """A capability that takes some steps of the loop to prepare a run."""

    def __init__(self, steps: int) -> None:
        self.steps = steps

    async def for_run(self, ctx: RunContext[Any]) -> Slow:
        for _ in range(self.steps):
            await asyncio.sleep(0)
        return self


@EACH_ASYNC
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("steps", [(0, 0, 0), (9, 0, 3), (0, 9, 3), (3, 9, 0)])
def test_parallel_calls_are_turns_in_the_order_they_were_made(entry: str, steps: tuple[int, ...], first: bool) -> None:
    """However long each takes to be prepared."""
    state = ConversationState()

    def agent(slow: int) -> AnyAgent:
        capabilities: list[AbstractCapability[Any]] = [Slow(slow), adapter()]
        return talking(Script("done"), *(capabilities if first else capabilities[::-1]))

    async def main() -> None:
        with history_scope(True, state):
            await asyncio.gather(*(run_async(entry, agent(slow), f"call {n}") for n, slow in enumerate(steps)))

    asyncio.run(soon(main()))

    assert held(state)[::2] == ["< call 0", "< call 1", "< call 2"]
    assert is_free(state)


def test_a_parallel_turn_waits_for_the_whole_of_the_one_before() -> None:
    """With its tools and all its requests."""
    state = ConversationState()
    script = Script(calls("c1"), calls("c2"), "one", "two")
    agent = talking(script)
    agent.tool_plain(look)

    async def main() -> None:
        with history_scope(True, state):
            await asyncio.gather(agent.run("first"), agent.run("second"))

    asyncio.run(soon(main()))

    assert script.sent[-1] == ["< first", "> call c1", "< result c1", "> call c2", "< result c2", "> one", "< second"]


def test_parallel_calls_of_separate_conversations_do_not_wait() -> None:
    """Two runs that need each other to go on are fine in two conversations."""
    barrier = asyncio.Barrier(2)

    async def meet() -> None:
        await barrier.wait()

    async def call(state: ConversationState) -> None:
        with history_scope(True, state):
            await talking(Script(meet)).run("now")

    async def main() -> None:
        await asyncio.gather(call(ConversationState()), call(ConversationState()))

    asyncio.run(soon(main()))


def test_synchronous_runs_in_threads_are_turns_in_the_order_they_were_made() -> None:
    """Each thread has a loop of its own, and one conversation has one line."""
    state = ConversationState()
    go = threading.Event()

    async def hold() -> None:
        await asyncio.get_running_loop().run_in_executor(None, go.wait)

    first, later = talking(Script(hold)), talking(Script("done"))
    threads = []
    with history_scope(True, state):
        for number, agent in enumerate((first, later, later)):
            context = contextvars.copy_context()
            threads.append(
                threading.Thread(target=context.run, args=(run_through, "run_sync", agent, f"call {number}"))
            )
            threads[-1].start()
            while len(state.ledger.line.tickets) <= number:
                threading.Event().wait(0.001)
    go.set()
    for thread in threads:
        thread.join(20)

    assert held(state)[::2] == ["< call 0", "< call 1", "< call 2"]
    assert is_free(state)


def test_many_parallel_turns_are_all_kept() -> None:
    """None is lost, and each has seen those before it."""
    state = ConversationState()
    script = Script("done")
    agent = talking(script)

    async def main() -> None:
        with history_scope(True, state):
            await asyncio.gather(*(agent.run(f"{number}") for number in range(40)))

    asyncio.run(soon(main()))

    assert held(state)[::2] == [f"< {number}" for number in range(40)]
    assert [len(request) for request in script.requests] == list(range(1, 80, 2))


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_sub_agent_that_a_tool_runs_is_no_turn(entry: str) -> None:
    """It inherits the scope, so it runs without the conversation, which it neither sees nor changes."""
    state = ConversationState()
    inner_script, outer_script = Script("inner"), Script(calls("c1"), "outer", "again")
    inner, outer = talking(inner_script), talking(outer_script)

    @outer.tool_plain(name="look")
    async def delegate() -> str:
        return str((await inner.run("sub")).output)

    with history_scope(True, state):
        run_through(entry, outer, "first")
        run_through(entry, outer, "second")

    assert inner_script.sent == [["< sub"]]
    assert held(state) == ["< first", "> call c1", "< result c1", "> outer", "< second", "> again"]
    assert is_free(state)


def test_a_sub_agents_own_tool_loop_is_processed() -> None:
    """What it inherits of the scope is the processor."""
    seen: list[list[str]] = []

    def note(ctx: Any) -> Any:
        seen.append(lines(ctx.messages))
        return ctx.messages

    inner, outer = talking(Script(calls("i1", tool="find"), "inner")), talking(Script(calls("c1"), "outer"), adapter())
    inner.tool_plain(name="find")(look)

    @outer.tool_plain(name="look")
    async def delegate() -> str:
        return str((await inner.run("sub")).output)

    with history_scope(True), pytest.warns(UserWarning, match="prefix cache"), history_scope(processor=note):
        run_through("run", outer, "first")

    assert seen == [
        ["< first"],
        ["< sub"],
        ["< sub", "> call i1", "< result i1"],
        ["< first", "> call c1", "< result c1"],
    ]


def test_a_sub_agent_that_is_given_its_own_conversation_is_refused() -> None:
    """It would wait for the turn it runs in."""
    state = ConversationState("talk")
    inner, outer = talking(Script("inner")), talking(Script(calls("c1"), "outer"))

    @outer.tool_plain(name="look")
    async def delegate() -> str:
        with history_scope(state=state):
            return str((await inner.run("sub")).output)

    with history_scope(True, state), pytest.raises(ConversationError, match="so it would wait for itself"):
        run_through("run", outer, "first")

    assert (state.turns, is_free(state)) == (0, True)


def test_a_sub_agent_may_have_a_conversation_of_its_own() -> None:
    """Its turns are kept there, from call to call."""
    state, notes = ConversationState(), ConversationState()
    inner_script = Script("inner 1", "inner 2")
    inner, outer = talking(inner_script), talking(Script(calls("c1"), calls("c2"), "outer"))

    @outer.tool_plain(name="look")
    async def delegate() -> str:
        with history_scope(state=notes):
            return str((await inner.run("sub")).output)

    with history_scope(True, state):
        run_through("run", outer, "first")

    assert inner_script.sent[1] == ["< sub", "> inner 1", "< sub"]
    assert (state.turns, notes.turns, is_free(notes)) == (1, 2, True)


def test_parallel_sub_agents_wait_for_each_other_in_their_own_conversation() -> None:
    """Two tools of one step take turns there."""
    notes = ConversationState()
    inner, outer = talking(Script("inner")), talking(Script(calls("c1", "c2"), "outer"))

    @outer.tool(name="look")
    async def delegate(ctx: RunContext[Any]) -> str:
        with history_scope(state=notes):
            return str((await inner.run(ctx.tool_call_id)).output)

    with history_scope(True):
        asyncio.run(soon(outer.run("first")))

    assert held(notes) == ["< c1", "> inner", "< c2", "> inner"]


def test_conversations_nested_crosswise_are_refused() -> None:
    """A in B and B in A at the same time would wait for each other."""
    states = ConversationState("a"), ConversationState("b")
    reached = asyncio.Barrier(2)

    def nesting(mine: int) -> AnyAgent:
        agent = talking(Script(calls("c1"), "outer"))

        @agent.tool_plain(name="look")
        async def delegate() -> str:
            await reached.wait()
            with history_scope(state=states[1 - mine]):
                return str((await talking(Script("inner")).run("sub")).output)

        return agent

    async def call(mine: int) -> None:
        with history_scope(True, states[mine]):
            await nesting(mine).run("now")

    async def main() -> list[Any]:
        return list(await asyncio.gather(call(0), call(1), return_exceptions=True))

    outcomes = asyncio.run(soon(main()))

    assert sorted(type(one).__name__ for one in outcomes) == ["ConversationError", "NoneType"]
    assert all(is_free(state) for state in states)


def test_a_processor_may_run_another_agent_without_the_conversation() -> None:
    """A summary is no turn, also where its agent has an adapter."""
    state = ConversationState()
    summarizer_script = Script("summary")
    summarizer = talking(summarizer_script)

    async def summarize(ctx: Any) -> Any:
        if len(ctx.groups) > 1:
            await summarizer.run("sum up")
        return ctx.keep_recent_groups(5)

    agent = talking(Script("one", "two"), adapter(summarize))
    with history_scope(True, state):
        run_through("run", agent, "first")
        run_through("run", agent, "second")

    assert summarizer_script.sent == [["< sum up"]]
    assert held(state) == ["< first", "> one", "< second", "> two"]


def test_calls_of_one_adapter_may_have_different_processors_at_once() -> None:
    """A scope changes nothing of the adapter, so parallel calls do not see each other's."""
    shared = adapter()
    script = Script("done")
    agent = talking(script, shared)

    async def call(processor: Any) -> list[str]:
        with history_scope(processor=processor):
            return lines((await agent.run("now", message_history=turns(2))).all_messages())

    async def main() -> list[list[str]]:
        return list(await asyncio.gather(call(keep(0)), call(None), call(keep(1))))

    with pytest.warns(UserWarning, match="prefix cache"):
        found = asyncio.run(soon(main()))

    assert found == [
        ["< now", "> done"],
        ["< question 1", "> answer 1", "< question 2", "> answer 2", "< now", "> done"],
        ["< question 2", "> answer 2", "< now", "> done"],
    ]
    assert not shared.is_active
