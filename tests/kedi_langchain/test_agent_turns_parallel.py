"""Many runs at once, and agents as parts of something larger: complete turns, one after the other, in source order."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda, RunnableParallel
from langgraph.graph import START, MessagesState, StateGraph

from chats import Transport, adapter, calls, keep, lines
from kedi_compile import ConversationError
from kedi_compile.conversation import ConversationState, history_scope
from threads import Gate, Graph, agent, answering, says

RUNS = 32


def prompts(shown: list[str]) -> list[str]:
    """Return the prompts among the lines of a request."""
    return [line.removeprefix("< ") for line in shown if line.startswith("< p")]


def numbered(count: int = RUNS) -> list[str]:
    """Return that many prompts, in order."""
    return [f"p{number}" for number in range(count)]


async def test_runs_that_are_gathered_follow_each_other_in_source_order() -> None:
    """Each sees the complete turns of all before it, loops included."""
    transport = Transport([answer for number in range(RUNS) for answer in (calls(f"c{number}"), "done")])
    subject = agent(transport, adapter())

    with history_scope(True) as state:
        await asyncio.gather(*(subject.ainvoke(says(prompt)) for prompt in numbered()))

    assert prompts(transport.sent[-1]) == numbered()
    assert len(transport.sent[-1]) == 4 * RUNS - 1
    assert state.turns == RUNS


async def test_conversations_of_their_own_do_not_wait_for_each_other() -> None:
    """While one of them is held, the others run to their ends."""
    gate = Gate()
    held = agent(answering(gate.wait), adapter())
    transport = answering("done")
    subject = agent(transport, adapter(keep(5)))
    states = [ConversationState() for _ in range(RUNS)]

    async def converse(state: ConversationState) -> None:
        with history_scope(True, state=state):
            await subject.ainvoke(says("p0"))
            await subject.ainvoke(says("p1"))

    with history_scope(True) as other:
        waiting = asyncio.create_task(held.ainvoke(says("held")))
        await gate.entered.wait()
        await asyncio.gather(*map(converse, states))
        waiting.cancel()

    assert [state.turns for state in states] == [2] * RUNS
    assert sorted(map(prompts, transport.sent)) == sorted([["p0"], ["p0", "p1"]] * RUNS)
    assert other.turns == 0


def test_runs_in_threads_are_whole_turns() -> None:
    """In whatever order they came, no turn is within another, and none is lost."""
    transport = Transport([answer for number in range(RUNS) for answer in (calls(f"c{number}"), "done")])
    subject = agent(transport, adapter())

    with history_scope(True) as state:
        subject.batch([says(prompt) for prompt in numbered()])

    expected = [f"< {prompt}" for prompt in prompts(transport.sent[-1])]
    found = transport.sent[-1]
    assert sorted(prompts(found)) == sorted(numbered())
    assert found[::4] == expected
    assert state.turns == RUNS


def test_a_thread_that_comes_second_waits_for_the_first() -> None:
    """The first is held in its model until the second has come."""
    state = ConversationState()
    entered, go = threading.Event(), threading.Event()

    def hold() -> None:
        entered.set()
        go.wait()

    transport = answering(hold, "over")
    subject = agent(transport, adapter())

    def run(prompt: str) -> None:
        with history_scope(True, state=state):
            subject.invoke(says(prompt))

    first, second = (threading.Thread(target=run, args=(prompt,)) for prompt in ("p0", "p1"))
    first.start()
    entered.wait()
    second.start()
    go.set()
    first.join()
    second.join()

    assert transport.sent == [["< p0"], ["< p0", "> done", "< p1"]]


async def test_a_synchronous_run_that_would_block_the_loop_of_an_earlier_one_is_refused() -> None:
    """The earlier one could never end."""
    gate = Gate()
    transport = answering(gate.wait, "done")
    subject = agent(transport, adapter())

    with history_scope(True) as state:
        first = asyncio.create_task(subject.ainvoke(says("p0")))
        await gate.entered.wait()
        with pytest.raises(ConversationError, match="use the asynchronous method"):
            subject.invoke(says("p1"))
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await subject.ainvoke(says("p2"))

    assert transport.sent == [["< p0"], ["< p2"]]
    assert state.turns == 1


def _as_input(prompt: Any) -> dict[str, Any]:
    return {"messages": prompt.to_messages()}


PARTS: dict[str, Any] = {
    "prompt | agent": lambda subject: ChatPromptTemplate.from_messages([("human", "{p}")]) | _as_input | subject,
    "a function": lambda subject: RunnableLambda(lambda given: subject.invoke(says(given["p"]))),
    "retry": lambda subject: RunnableLambda(lambda given: says(given["p"])) | subject.with_retry(),
    "fallback": lambda subject: RunnableLambda(lambda given: says(given["p"])) | subject.with_fallbacks([subject]),
    "config": lambda subject: RunnableLambda(lambda given: says(given["p"])) | subject.with_config(tags=["mine"]),
}


@pytest.mark.parametrize("build", PARTS.values(), ids=PARTS)
def test_an_agent_in_a_chain_is_a_turn(build: Any) -> None:
    """Whatever stands in front of it; a batch of the chain is one turn after the other."""
    transport = answering("done")
    chain = build(agent(transport, adapter()))

    with history_scope(True) as state:
        chain.invoke({"p": "p0"})
        chain.batch([{"p": "p1"}], {"max_concurrency": 1})
        list(chain.stream({"p": "p2"}))

    assert transport.sent[-1] == ["< p0", "> done", "< p1", "> done", "< p2"]
    assert state.turns == 3


@pytest.mark.parametrize("build", PARTS.values(), ids=PARTS)
async def test_an_agent_in_an_awaited_chain_is_a_turn(build: Any) -> None:
    """The same on the asynchronous path."""
    transport = answering("done")
    chain = build(agent(transport, adapter()))

    with history_scope(True) as state:
        await chain.ainvoke({"p": "p0"})
        await chain.ainvoke({"p": "p1"})

    assert transport.sent[-1] == ["< p0", "> done", "< p1"]
    assert state.turns == 2


def test_agents_side_by_side_are_turns_one_after_the_other() -> None:
    """The host runs them in threads; both are whole turns of the one conversation."""
    transport = answering("done")
    subject = agent(transport, adapter())

    with history_scope(True) as state:
        RunnableParallel(first=subject, second=subject).invoke(says("p0"))

    assert transport.sent == [["< p0"], ["< p0", "> done", "< p0"]]
    assert state.turns == 2


def test_a_retried_run_is_one_turn() -> None:
    """The failed attempt commits nothing."""
    transport = answering(LookupError("overloaded"), "done")
    subject = agent(transport, adapter()).with_retry(wait_exponential_jitter=False)

    with history_scope(True) as state:
        subject.invoke(says("p0"))
        subject.invoke(says("p1"))

    assert transport.sent == [["< p0"], ["< p0"], ["< p0", "> done", "< p1"]]
    assert state.turns == 2


def graph_of(*agents: Graph) -> Graph:
    """Return a graph whose nodes are these agents, one after the other."""
    builder: Any = StateGraph(MessagesState)
    before: Any = START
    for number, subject in enumerate(agents):
        builder.add_node(f"agent{number}", subject)
        builder.add_edge(before, f"agent{number}")
        before = f"agent{number}"
    return builder.compile()


def test_an_agent_as_a_node_of_a_graph_without_a_memory_is_a_turn() -> None:
    """The turn ends with the agent's own graph; the graph around returns this run's messages."""
    transport = answering("done")
    subject = graph_of(agent(transport, adapter()))

    with history_scope(True) as state:
        subject.invoke(says("p0"))
        returned = subject.invoke(says("p1"))

    assert transport.sent == [["< p0"], ["< p0", "> done", "< p1"]]
    assert lines(returned["messages"]) == ["< p1", "> done"]
    assert state.turns == 2


def test_agents_that_hand_their_answers_on_in_a_graph_are_refused() -> None:
    """The second is handed the first one's answer, which the conversation holds already."""
    transport = answering("done")
    subject = graph_of(agent(transport, adapter()), agent(transport, adapter()))

    with history_scope(True) as state, pytest.raises(ConversationError, match="holds already"):
        subject.invoke(says("p0"))

    assert transport.sent == [["< p0"]]
    assert state.turns == 1
