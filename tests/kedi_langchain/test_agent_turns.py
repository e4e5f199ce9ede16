"""Agents in a scope: each run is one turn, whole with its tool loop, and what failed leaves nothing."""

from __future__ import annotations

import asyncio
import gc
import weakref
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.callbacks import BaseCallbackHandler, CallbackManager
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.tools import BaseTool, tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Command, interrupt
from pydantic import BaseModel

from chats import Context, adapter, calls, keep, lines, turns
from kedi_compile import ConversationError, HistoryConfigurationError
from kedi_compile.conversation import ConversationState, history_scope
from threads import THREAD, Graph, agent, answering, says

LOOP = ["< one", "> call c1", "< result c1", "> seen it"]


class Verdict(BaseModel):
    """A verdict."""

    guilty: bool = True


@tool("look", return_direct=True)
def look_directly() -> str:
    """Look around, and let the result be the answer."""
    return "direct"


def run(subject: Graph, prompt: str) -> list[str]:
    """Run an agent and return the lines of what it returns."""
    return lines(subject.invoke(says(prompt))["messages"])


def arun(subject: Graph, prompt: str) -> list[str]:
    """Do the same on the asynchronous path."""
    return lines(asyncio.run(subject.ainvoke(says(prompt)))["messages"])


each_path = pytest.mark.parametrize("run", [run, arun])


@each_path
def test_a_turn_with_its_tool_loop_is_in_front_of_the_next(run: Callable[[Graph, str], list[str]]) -> None:
    """Calls and results stay native messages; what a run returns is its own thread alone."""
    transport = answering(calls("c1"), "seen it", "done")
    subject = agent(transport, adapter())

    with history_scope(True) as state:
        returned = [run(subject, "one"), run(subject, "two")]

    assert transport.sent == [LOOP[:1], LOOP[:3], [*LOOP, "< two"]]
    assert [type(one) for one in transport.requests[2]] == [
        *(HumanMessage, AIMessage, ToolMessage, AIMessage),
        HumanMessage,
    ]
    assert returned == [LOOP, ["< two", "> done"]]
    assert state.turns == 2


def test_outside_of_a_scope_runs_know_nothing_of_each_other() -> None:
    """Calls are stateless by default."""
    transport = answering("done")
    subject = agent(transport, adapter(keep(3)))

    run(subject, "one")
    run(subject, "two")

    assert transport.sent == [["< one"], ["< two"]]


def test_a_disabled_scope_neither_reads_nor_changes_the_conversation_around_it() -> None:
    """Its loop is still processed, and sees its own messages alone."""
    transport, shown = answering("done", calls("c1"), "seen it", "over"), []

    def note(ctx: Context) -> Sequence[BaseMessage]:
        shown.append(lines(ctx.messages))
        return ctx.messages

    subject = agent(transport, adapter(note))
    with history_scope(True) as state:
        run(subject, "before")
        with history_scope(enabled=False):
            run(subject, "one")
        run(subject, "after")

    assert shown == [["< before"], LOOP[:1], LOOP[:3], ["< before", "> done", "< after"]]
    assert state.turns == 2


def test_parallel_tools_of_one_turn_are_whole_in_the_next() -> None:
    """Every call stands before its result, in the order of the calls."""
    transport = answering(calls("c1", "c2", "c3"), "seen it", "done")
    subject = agent(transport, adapter())

    with history_scope(True):
        run(subject, "one")
        run(subject, "two")

    assert transport.sent[2] == [
        *("< one", "> call c1 | call c2 | call c3", "< result c1", "< result c2", "< result c3", "> seen it"),
        "< two",
    ]


def test_structured_output_is_part_of_the_turn() -> None:
    """Its call and its result come in front of the next prompt."""
    verdict = AIMessage("", tool_calls=[{"name": "Verdict", "args": {"guilty": True}, "id": "v1"}])
    transport = answering(verdict, verdict)
    subject = agent(transport, adapter(), response_format=ToolStrategy(Verdict))

    with history_scope(True):
        first = subject.invoke(says("one"))
        subject.invoke(says("two"))

    assert first["structured_response"] == Verdict(guilty=True)
    assert transport.sent[1] == ["< one", "> call v1", "< result v1", "< two"]


DIRECT = ["< one", "> call c1", "< result c1"]


def test_a_tool_whose_result_is_the_answer_ends_the_turn() -> None:
    """The turn ends with the result, and the next prompt follows it."""
    transport = answering(calls("c1"), "done")
    subject = agent(transport, adapter(), tools=[look_directly])

    with history_scope(True):
        returned = run(subject, "one")
        run(subject, "two")

    assert returned == DIRECT
    assert transport.sent[1] == [*DIRECT, "< two"]


@tool("look", return_direct=True)
def look_by_command() -> Command[Any]:
    """Look around, and write the result oneself."""
    return Command(update={"messages": [ToolMessage("mine", tool_call_id="c1", name="look")]})


NARROW: list[dict[str, Any]] = [
    {"output_keys": "messages"}, {"output_keys": ["structured_response"]}, {"output_keys": "structured_response"},
]  # fmt: skip


@pytest.mark.parametrize("narrow", NARROW, ids=str)
@pytest.mark.parametrize("tools", [[look_directly], [look_by_command]], ids=["result", "command"])
def test_a_run_whose_output_is_narrowed_is_a_whole_turn(narrow: dict[str, Any], tools: list[BaseTool]) -> None:
    """What the caller asks the graph for says nothing about what is kept: no call is without its result."""
    transport = answering(calls("c1"), "done", calls("c1"), "over")
    subject = agent(transport, adapter(), tools=tools)

    with history_scope(True) as state:
        subject.invoke(says("one"), **narrow)
        list(subject.stream(says("two"), **narrow))
        run(subject, "three")

    assert transport.sent[1] == [*DIRECT, "< two"]
    assert transport.sent[2] == [*DIRECT, "< two", "> done", "< three"]
    assert state.turns == 3


def test_a_run_that_pauses_commits_nothing() -> None:
    """Without a checkpointer nothing can resume it, and its call would stay unanswered for good."""

    def look() -> str:
        """Look around."""
        return str(interrupt("Where?"))

    transport = answering(calls("c1"), "done")
    subject = agent(transport, adapter(), tools=[look])

    with history_scope(True) as state:
        paused = subject.invoke(says("one"))
        run(subject, "two")

    assert [one.value for one in paused["__interrupt__"]] == ["Where?"]
    assert transport.sent[1] == ["< two"]
    assert state.turns == 1


def test_a_history_that_a_run_brings_along_is_part_of_its_turn() -> None:
    """Between the conversation and the new question; system messages of a thread stay where they are."""
    transport = answering("done")
    subject = agent(transport, adapter(), system_prompt="Be brief.")

    with history_scope(True):
        run(subject, "one")
        subject.invoke({"messages": [SystemMessage("Now."), *turns(1), HumanMessage("two")]})
        run(subject, "three")

    assert transport.sent[1:] == [
        ["< system Be brief.", "< one", "> done", "< system Now.", "< question 1", "> answer 1", "< two"],
        [
            *("< system Be brief.", "< one", "> done", "< system Now.", "< question 1", "> answer 1", "< two"),
            *("> done", "< three"),
        ],
    ]


def test_answers_that_are_handed_over_again_are_refused() -> None:
    """The history would be there twice; nothing is sent and nothing committed."""
    transport = answering("done")
    subject = agent(transport, adapter())

    with history_scope(True) as state:
        first = subject.invoke(says("one"))
        with pytest.raises(ConversationError, match=r"Message 1 .* holds already"):
            subject.invoke({"messages": [*first["messages"], HumanMessage("two")]})
        run(subject, "three")

    assert transport.sent == [["< one"], ["< one", "> done", "< three"]]
    assert state.turns == 2


def test_a_run_that_asks_no_model_is_no_turn() -> None:
    """Another middleware may end a run before its first request."""

    class Ending(AgentMiddleware):
        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            return AIMessage("from a cache")

    transport = answering("done")
    with history_scope(True) as state:
        run(agent(transport, adapter(), outside=[Ending()]), "one")
        run(agent(transport, adapter()), "two")

    assert transport.sent == [["< two"]]
    assert state.turns == 1


@pytest.mark.parametrize("saver", [InMemorySaver(), True], ids=["its own", "a parent's"])
def test_a_checkpointer_in_an_enabled_scope_is_refused(saver: Any) -> None:
    """There would be two memories; in a disabled scope, and outside, the thread is the memory."""
    transport = answering("done")
    subject = agent(transport, adapter(), saver)
    subject = subject if saver is not True else _in_a_thread(subject)

    with history_scope(True) as state:
        with pytest.raises(HistoryConfigurationError, match="two memories"):
            subject.invoke(says("one"), THREAD)
        with history_scope(enabled=False):
            subject.invoke(says("two"), THREAD)

    assert transport.sent[0][-1] == "< two"
    assert state.turns == 0


def _in_a_thread(subject: Graph) -> Graph:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("agent", subject)
    builder.add_edge(START, "agent")
    return builder.compile(checkpointer=InMemorySaver())


def test_a_thread_id_alone_is_no_memory() -> None:
    """Without a checkpointer nothing is kept under it."""
    transport = answering("done")
    subject = agent(transport, adapter())

    with history_scope(True):
        subject.invoke(says("one"), THREAD)
        subject.invoke(says("two"), THREAD)

    assert transport.sent[1] == ["< one", "> done", "< two"]


class Hearing(BaseCallbackHandler):
    """A handler of the user's own."""

    def __init__(self) -> None:
        self.started: list[list[str]] = []

    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        self.started += map(lines, messages)


@pytest.mark.parametrize("pack", [lambda handler: [handler], lambda handler: CallbackManager([], [handler])])
def test_handlers_of_the_users_own_still_hear_everything(pack: Callable[[Any], Any]) -> None:
    """Given as a list or as a manager; they see the conversation in front of each request."""
    hearing = Hearing()
    subject = agent(answering("done"), adapter())

    with history_scope(True) as state:
        subject.invoke(says("one"), {"callbacks": pack(hearing)})
        subject.with_config(callbacks=pack(hearing)).invoke(says("two"))

    assert hearing.started == [["< one"], ["< one", "> done", "< two"]]
    assert state.turns == 2


class Carrying(AgentMiddleware):
    """Another middleware; each run holds an object of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.runs: list[weakref.ref[Any]] = []

    def before_agent(self, state: Any, runtime: Any) -> None:
        self.runs += map(weakref.ref, state["messages"][:1])


def test_nothing_of_a_run_is_kept_but_its_turn() -> None:
    """Neither of one that ended nor of one that failed: the messages go with the conversation."""
    carrying = Carrying()
    transport = answering("done", lambda: 1 / 0)
    subject = agent(transport, adapter(keep(1)), outside=[carrying])

    with history_scope(True) as state:
        subject.invoke(says("one"))
        with pytest.raises(ZeroDivisionError):
            subject.invoke(says("left"))
    transport.requests.clear()
    gc.collect()
    during = [run() is not None for run in carrying.runs]
    del state
    gc.collect()

    assert during == [True, False]
    assert [run() for run in carrying.runs] == [None, None]


def test_a_closed_conversation_is_refused_before_a_request() -> None:
    """Its resources are released; a turn of it cannot begin."""
    transport = answering("done")
    state = ConversationState()
    state.close()

    with history_scope(True, state=state), pytest.raises(ConversationError, match="is closed"):
        run(agent(transport, adapter()), "one")

    assert transport.sent == []
