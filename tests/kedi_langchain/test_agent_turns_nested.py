"""Calls inside an agent's turn: what merely inherits the conversation runs without one, what names its own has it.

The sides of the provider are told apart: `outer` is the agent's, `inner` that of the model or agent its tool calls.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.documents import Document
from langchain_core.messages import BaseMessage
from langchain_core.retrievers import BaseRetriever
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from chats import Chat, Context, StreamingChat, Transport, adapter, calls
from kedi_compile import ConversationError, HistoryConfigurationError
from kedi_compile.conversation import ConversationState, history_scope
from threads import THREAD, Graph, agent, answering

Call = Callable[[str], str]
Ways = dict[str, Callable[[Transport], Call]]

LOOP = ["< hello", "> call c1", "< result c1"]
TWO_TURNS = [["< hello"], LOOP, [*LOOP, "> done", "< again"]]


def _of_agent(inner: Transport, **config: Any) -> Call:
    sub = agent(inner, adapter(), tools=[])
    return lambda prompt: str(sub.invoke({"messages": prompt}, config)["messages"][-1].text)


def _of_async_agent(inner: Transport) -> Call:
    sub = agent(inner, adapter(), tools=[])
    return lambda prompt: str(asyncio.run(sub.ainvoke({"messages": prompt}))["messages"][-1].text)


def _of_model(inner: Transport, config: RunnableConfig | None = None) -> Call:
    model = adapter().wrap(Chat(transport=inner))
    return lambda prompt: model.invoke(prompt, config).text


def _of_stream(inner: Transport) -> Call:
    model = adapter().wrap(StreamingChat(transport=inner))
    return lambda prompt: "".join(chunk.text for chunk in model.stream(prompt))


INNER: Ways = {
    "agent": _of_agent,
    "agent, awaited": _of_async_agent,
    "agent with handlers of its own": lambda inner: _of_agent(inner, callbacks=[BaseCallbackHandler()]),
    "agent without handlers": lambda inner: _of_agent(inner, callbacks=[]),
    "model": _of_model,
    "model with handlers of its own": lambda inner: _of_model(inner, {"callbacks": [BaseCallbackHandler()]}),
    "streaming model": _of_stream,
}
each_inner = pytest.mark.parametrize("inner_of", INNER.values(), ids=INNER)


def calling(outer: Transport, call: Callable[[], str], saver: Any = None) -> Graph:
    """Return an agent whose one tool makes a call."""

    def look() -> str:
        """Look around."""
        return call()

    return agent(outer, adapter(), saver, tools=[look])


def named(state: ConversationState, call: Call) -> Callable[[], str]:
    """Return a call that is given a conversation."""

    def make() -> str:
        with history_scope(True, state=state):
            return call("inner")

    return make


@each_inner
def test_a_call_that_merely_inherits_the_conversation_runs_without_it(inner_of: Callable[[Transport], Call]) -> None:
    """It neither waits for the turn it is part of, nor is it one: the second inner call sees nothing of the first."""
    outer, inner = answering(calls("c1"), "done", calls("c2"), "over"), answering("seen")
    call = inner_of(inner)
    subject = calling(outer, lambda: call("inner"))

    with history_scope(True) as state:
        subject.invoke({"messages": "hello"})
        subject.invoke({"messages": "again"})

    assert inner.sent == [["< inner"], ["< inner"]]
    assert outer.sent[:3] == TWO_TURNS
    assert state.turns == 2


@each_inner
def test_a_call_that_is_given_the_conversation_of_its_own_turn_is_refused(
    inner_of: Callable[[Transport], Call],
) -> None:
    """It would wait for itself; the turn fails with it, and the next one is served."""
    outer, inner = answering(calls("c1"), "done"), answering("seen")
    state = ConversationState()
    subject = calling(outer, named(state, inner_of(inner)))

    with history_scope(True, state=state):
        with pytest.raises(ConversationError, match="would wait for itself"):
            subject.invoke({"messages": "hello"})
        failed = state.turns
        subject.invoke({"messages": "again"})

    assert (failed, state.turns) == (0, 1)
    assert inner.sent == []
    assert outer.sent == [["< hello"], ["< again"]]


@each_inner
def test_a_call_that_is_given_another_conversation_is_a_turn_of_that(inner_of: Callable[[Transport], Call]) -> None:
    """Both go on: the outer one from turn to turn, and the one of the tool."""
    outer, inner = answering(calls("c1"), "done", calls("c2"), "over"), answering("seen")
    own = ConversationState()
    subject = calling(outer, named(own, inner_of(inner)))

    with history_scope(True) as state:
        subject.invoke({"messages": "hello"})
        subject.invoke({"messages": "again"})

    assert inner.sent == [["< inner"], ["< inner", "> seen", "< inner"]]
    assert outer.sent[:3] == TWO_TURNS
    assert (state.turns, own.turns) == (2, 2)


@each_inner
def test_a_tool_of_a_thread_may_have_a_conversation(inner_of: Callable[[Transport], Call]) -> None:
    """The checkpointer around keeps nothing of a call that a tool makes."""
    outer, inner = answering(calls("c1"), "done", calls("c2"), "over"), answering("seen")
    own = ConversationState()
    subject = calling(outer, named(own, inner_of(inner)), InMemorySaver())

    subject.invoke({"messages": "hello"}, THREAD)
    subject.invoke({"messages": "again"}, THREAD)

    assert inner.sent == [["< inner"], ["< inner", "> seen", "< inner"]]
    assert outer.sent[:3] == TWO_TURNS
    assert own.turns == 2


def test_an_agent_with_a_memory_of_its_own_is_refused_in_a_tool_too() -> None:
    """A checkpointer that keeps the inner agent from call to call is a second memory."""
    inner = answering("seen")
    sub = agent(inner, adapter(), True, tools=[])
    own = ConversationState()
    call = named(own, lambda prompt: str(sub.invoke({"messages": prompt})["messages"][-1].text))
    subject = calling(answering(calls("c1"), "done"), call, InMemorySaver())

    with pytest.raises(HistoryConfigurationError, match="two memories"):
        subject.invoke({"messages": "hello"}, THREAD)

    assert inner.sent == []
    assert own.turns == 0


def test_an_inner_agent_edits_its_own_loop() -> None:
    """Without conversation, a sub-agent's processor sees its own messages alone."""
    outer, inner = answering(calls("c1"), "done"), answering(calls("d1"), "seen")
    shown: list[int] = []

    def note(ctx: Context) -> list[BaseMessage]:
        shown.append(len(ctx.messages))
        return list(ctx.messages)

    sub = agent(inner, adapter(note))
    subject = calling(outer, lambda: str(sub.invoke({"messages": "inner"})["messages"][-1].text))

    with history_scope(True):
        subject.invoke({"messages": "hello"})

    assert shown == [1, 3]


def test_agents_within_agents_within_agents_are_one_turn() -> None:
    """However deep, and through threads of tools that run side by side."""
    deepest, middle, outer = answering("deep"), answering(calls("m1", "m2"), "mid"), answering(calls("c1"), "done")
    third = agent(deepest, adapter(), tools=[])
    second = calling(middle, lambda: str(third.invoke({"messages": "third"})["messages"][-1].text))
    first = calling(outer, lambda: str(second.invoke({"messages": "second"})["messages"][-1].text))

    with history_scope(True) as state:
        first.invoke({"messages": "hello"})

    assert deepest.sent == [["< third"], ["< third"]]
    assert state.turns == 1


async def test_an_awaited_tool_is_inside_its_turn() -> None:
    """The same on the asynchronous path, with tools side by side."""
    outer, inner = answering(calls("c1", "c2"), "done", "over"), answering("seen")
    sub = agent(inner, adapter(), tools=[])

    async def look() -> str:
        """Look around."""
        return str((await sub.ainvoke({"messages": "inner"}))["messages"][-1].text)

    subject = agent(outer, adapter(), tools=[look])
    with history_scope(True) as state:
        await subject.ainvoke({"messages": "hello"})

    assert inner.sent == [["< inner"], ["< inner"]]
    assert state.turns == 1


class Asking(AgentMiddleware):
    """Another middleware that calls something in a node of its own."""

    def __init__(self, call: Callable[[], object]) -> None:
        super().__init__()
        self._call = call

    def before_model(self, state: Any, runtime: Any) -> None:
        self._call()


@pytest.mark.parametrize("stands", ["outside", "inside"])
def test_other_middleware_is_inside_the_turn_too(stands: str) -> None:
    """Its call before the model inherits the conversation, so it runs without."""
    outer, inner = answering("done"), answering("seen")
    sub = agent(inner, adapter(), tools=[])
    asking = Asking(lambda: sub.invoke({"messages": "inner"}))
    others: dict[str, Any] = {stands: [asking]}
    subject = agent(outer, adapter(), **others)

    with history_scope(True) as state:
        subject.invoke({"messages": "hello"})

    assert inner.sent == [["< inner"]]
    assert state.turns == 1


def test_a_resource_that_a_tool_registers_belongs_to_the_turn() -> None:
    """It is released with a turn that fails, and otherwise when the conversation is closed."""
    released: list[str] = []
    state = ConversationState()

    def look() -> str:
        """Look around."""
        state.cleanup(lambda: released.append("handle"))
        return "seen"

    subject = agent(answering(calls("c1"), RuntimeError("overloaded"), calls("c2"), "done"), adapter(), tools=[look])
    with history_scope(True, state=state):
        with pytest.raises(RuntimeError, match="overloaded"):
            subject.invoke({"messages": "hello"})
        after_failure = list(released)
        subject.invoke({"messages": "again"})
    after_success = list(released)
    state.close()

    assert after_failure == ["handle"]
    assert after_success == ["handle"]
    assert released == ["handle", "handle"]


class _Asking(BaseRetriever):
    """A retriever that asks a model what to look for."""

    model: Any

    def _get_relevant_documents(self, query: str, *, run_manager: Any) -> list[Document]:
        return [Document(self.model.invoke(query, {"callbacks": run_manager.get_child()}).text)]


def test_a_model_that_a_retriever_of_a_tool_asks_is_inside_the_turn() -> None:
    """It runs without the conversation, however deep it stands."""
    inner = answering("better words")
    retriever = _Asking(model=adapter().wrap(Chat(transport=inner)))

    def look() -> str:
        """Look around."""
        return retriever.invoke("words")[0].page_content

    with history_scope(True) as state:
        agent(answering(calls("c1"), "done"), adapter(), tools=[look]).invoke({"messages": "hello"})

    assert inner.sent == [["< words"]]
    assert state.turns == 1


async def test_what_a_failed_run_releases_is_awaited_on_its_own_loop() -> None:
    """A release may need the loop that its resource belongs to."""
    released: list[object] = []
    state, loop = ConversationState(), asyncio.get_running_loop()

    async def release() -> None:
        await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(asyncio.sleep(0), loop))
        released.append(asyncio.get_running_loop())

    def look() -> str:
        """Look around."""
        state.cleanup(release)
        return "seen"

    subject = agent(answering(calls("c1"), RuntimeError("overloaded")), adapter(), tools=[look])
    with history_scope(True, state=state), pytest.raises(RuntimeError, match="overloaded"):
        await asyncio.wait_for(subject.ainvoke({"messages": "hello"}), 30)

    assert released == [loop]


@pytest.mark.parametrize("config", [{}, {"callbacks": []}], ids=["handlers inherited", "none"])
def test_a_graph_without_turns_that_a_tool_runs_keeps_its_word_on_memories(config: Any) -> None:
    """A wrapped model in a node of a raw graph is refused where the conversation was named around that graph."""
    inner = answering("seen")
    nodes = adapter()
    raw = _raw(nodes.wrap(Chat(transport=inner)))
    own = ConversationState()

    def call() -> str:
        with history_scope(True, state=own):
            return str(raw.invoke({"messages": "inner"}, config)["messages"][-1].text)

    subject = calling(answering(calls("c1"), "done"), call)

    with history_scope(True), pytest.raises(HistoryConfigurationError, match="two memories"):
        subject.invoke({"messages": "hello"})

    assert inner.sent == []


def _raw(model: Any) -> Graph:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    return builder.compile()


@each_inner
@pytest.mark.parametrize("is_hook", [False, True], ids=["processor", "prompt hook"])
def test_a_callback_of_the_agents_own_is_inside_the_turn(inner_of: Callable[[Transport], Call], is_hook: bool) -> None:
    """What it asks inherits the conversation, so it runs without."""
    outer, inner = answering("done"), answering("better")
    call = inner_of(inner)

    def edit(ctx: Context) -> list[BaseMessage]:
        call("inner")
        return list(ctx.messages)

    ours = adapter(user_prompt_submit=lambda prompt: call("inner")) if is_hook else adapter(edit)
    with history_scope(True) as state:
        agent(outer, ours).invoke({"messages": "hello"})

    assert inner.sent == [["< inner"]]
    assert outer.sent == [["< better"] if is_hook else ["< hello"]]
    assert state.turns == 1
