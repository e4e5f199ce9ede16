"""Wrapped models in a scope: each call is a turn, and the next one is shown it natively."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.chat_history import InMemoryChatMessageHistory
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.prompts import ChatPromptTemplate
from langchain_core.runnables import RunnableLambda
from langchain_core.runnables.history import RunnableWithMessageHistory
from langgraph.graph import START, MessagesState, StateGraph
from pydantic import BaseModel

from chats import Chat, Context, StreamingChat, Transport, adapter, calls, keep, lines, results, turns
from kedi_compile import ConversationError, HistoryConfigurationError
from kedi_compile.conversation import ConversationState, history_scope
from threads import THREAD, answering, graph, look, says
from ways_in import NEEDS_STREAM, ONCE

TALK = ["< one", "> done", "< two"]

quiet = pytest.mark.filterwarnings(
    "ignore::langchain_core._api.LangChainBetaWarning",
    "ignore::langchain_core._api.LangChainDeprecationWarning",
    "ignore::kedi_compile.HistoryLaneWarning",
)


def wrapped(transport: Transport, *, streams: bool = True, **options: Any) -> Any:
    """Return a wrapped model."""
    return adapter(**options).wrap((StreamingChat if streams else Chat)(transport=transport))


V3 = {name for name in ONCE if "v3" in name}


@quiet
@pytest.mark.parametrize("streams", [False, True])
@pytest.mark.parametrize("name", sorted(set(ONCE) - V3))
def test_a_call_by_any_way_in_is_a_turn(name: str, streams: bool) -> None:
    """Its prompt and its answer stand in front of the next call's prompt by the same way."""
    if name in NEEDS_STREAM and not streams:
        pytest.skip("a model that cannot stream has no such way")
    transport = answering("done")
    model = wrapped(transport, streams=streams)

    with history_scope(True) as state:
        for prompt in ("one", "two"):
            ONCE[name](model, [HumanMessage(prompt)])

    assert transport.sent == [["< one"], TALK]
    assert state.turns == 2
    assert not any(isinstance(message, AIMessageChunk) for message in transport.requests[1])


@quiet
@pytest.mark.parametrize("name", sorted(V3))
def test_events_of_version_3_are_refused(name: str) -> None:
    """Their end cannot be followed, so they could be no whole turn."""
    transport = answering("done")

    with history_scope(True) as state:
        with pytest.raises(ConversationError, match="version 3"):
            ONCE[name](wrapped(transport), [HumanMessage("one")])
        wrapped(transport).invoke("two")

    assert transport.sent == [["< two"]]
    assert state.turns == 1


def test_tool_calls_and_results_stay_native_messages() -> None:
    """A turn that ends with a call is answered by the results of the next."""
    transport = answering(calls("c1", "c2"), "seen it", "done")
    model = wrapped(transport).bind_tools([look])

    with history_scope(True) as state:
        model.invoke("one")
        model.invoke(results("c1", "c2"))
        model.invoke("two")

    assert transport.sent[2] == [
        *("< one", "> call c1 | call c2", "< result c1", "< result c2", "> seen it", "< two"),
    ]
    assert [type(one) for one in transport.requests[2]] == [
        *(HumanMessage, AIMessage, ToolMessage, ToolMessage, AIMessage, HumanMessage),
    ]
    assert state.turns == 3


class Verdict(BaseModel):
    """A verdict."""

    guilty: bool


def test_structured_output_is_a_turn_by_its_native_call() -> None:
    """What was parsed of it is the caller's; the history has the model's own answer."""
    verdict = AIMessage("", tool_calls=[{"name": "Verdict", "args": {"guilty": True}, "id": "v1"}])
    transport = answering(verdict)
    model = wrapped(transport).with_structured_output(Verdict)

    with history_scope(True):
        parsed = [model.invoke("one"), model.invoke("two")]

    assert parsed == [Verdict(guilty=True)] * 2
    assert transport.sent[1] == ["< one", "> call v1", "< two"]


def test_no_call_is_a_turn_outside_of_a_scope() -> None:
    """Calls are stateless by default, also after a scope was left."""
    transport = answering("done")
    model = wrapped(transport)

    model.invoke("before")
    with history_scope(True):
        model.invoke("one")
    model.invoke("after")

    assert transport.sent == [["< before"], ["< one"], ["< after"]]


def test_a_disabled_scope_neither_reads_nor_changes_the_conversation_around_it() -> None:
    """Its call is processed, and the processor sees nothing of the conversation."""
    transport = answering("done")
    shown: list[list[str]] = []

    def note(ctx: Context) -> Sequence[BaseMessage]:
        shown.append(lines(ctx.messages))
        return ctx.messages

    model = adapter(note).wrap(Chat(transport=transport))
    with history_scope(True) as state:
        model.invoke("one")
        with history_scope(enabled=False):
            model.invoke("inside")
        model.invoke("two")

    assert shown == transport.sent == [["< one"], ["< inside"], TALK]
    assert state.turns == 2


def test_a_model_that_is_not_wrapped_is_no_part_of_a_conversation() -> None:
    """It is not ours to lead."""
    transport = answering("done")

    with history_scope(True) as state:
        Chat(transport=transport).invoke("one")

    assert state.turns == 0


def test_leading_system_messages_are_the_calls_own() -> None:
    """They are sent in front of everything, each call's alone, and stored nowhere."""
    transport = answering("done")
    model = wrapped(transport)

    with history_scope(True) as state:
        model.invoke([SystemMessage("Be brief."), SystemMessage("Be kind."), HumanMessage("one")])
        model.invoke([SystemMessage("Be long."), HumanMessage("two")])
        model.invoke("three")

    assert transport.sent == [
        ["< system Be brief.", "< system Be kind.", "< one"],
        ["< system Be long.", *TALK],
        [*TALK, "> done", "< three"],
    ]
    assert "Be" not in state.checkpoint().to_json()


def test_a_prompt_template_gives_its_instructions_to_every_turn_once() -> None:
    """They are not doubled by the turns before."""
    transport = answering("done")
    chain = ChatPromptTemplate.from_messages([("system", "Be brief."), ("human", "{p}")]) | wrapped(transport)

    with history_scope(True):
        chain.invoke({"p": "one"})
        chain.invoke({"p": "two"})

    assert transport.sent[1] == ["< system Be brief.", *TALK]


def test_a_system_message_further_on_is_part_of_the_turn() -> None:
    """It stays where it stands, also under an edit."""
    transport = answering("done")
    model = adapter(keep(5)).wrap(Chat(transport=transport))

    with history_scope(True):
        model.invoke([HumanMessage("one"), SystemMessage("Now."), HumanMessage("more")])
        model.invoke("two")

    assert transport.sent[1] == ["< one", "< system Now.", "< more", "> done", "< two"]


def test_an_edit_drops_turns_for_good_and_leaves_instructions() -> None:
    """Each later call begins from what the edits before left."""
    transport = answering("done")
    model = adapter(keep(1)).wrap(Chat(transport=transport))

    with history_scope(True):
        for prompt in ("one", "two", "three"):
            model.invoke([SystemMessage("Be brief."), HumanMessage(prompt)])
        with history_scope(processor=None):
            model.invoke("four")

    assert transport.sent[2] == ["< system Be brief.", "< two", "> done", "< three"]
    assert transport.sent[3] == ["< two", "> done", "< three", "> done", "< four"]


@pytest.mark.parametrize("copied", [False, True])
def test_answers_that_are_handed_over_again_are_refused(copied: bool) -> None:
    """By object, or by id; nothing is sent, and the next call is served."""
    transport = answering("done")
    model = wrapped(transport)

    with history_scope(True) as state:
        answer = model.invoke("one")
        again = copy.deepcopy(answer) if copied else answer
        with pytest.raises(ConversationError, match=r"Message 1 .* holds already"):
            model.invoke([HumanMessage("one"), again, HumanMessage("two")])
        model.invoke("two")

    assert transport.sent == [["< one"], TALK]
    assert state.turns == 2


def test_a_history_of_the_callers_own_is_part_of_its_turn() -> None:
    """Answers that the conversation does not hold are new to it."""
    transport = answering("done")
    model = wrapped(transport)

    with history_scope(True):
        model.invoke([*turns(1), HumanMessage("one")])
        model.invoke("two")

    assert transport.sent[1] == ["< question 1", "> answer 1", "< one", "> done", "< two"]


@quiet
def test_a_second_memory_of_the_hosts_is_refused_as_soon_as_it_repeats() -> None:
    """`RunnableWithMessageHistory` hands each answer over again; in a disabled scope it is the memory."""
    transport = answering("done")
    kept: dict[str, InMemoryChatMessageHistory] = {}
    model = RunnableWithMessageHistory(
        wrapped(transport), lambda session_id: kept.setdefault(session_id, InMemoryChatMessageHistory())
    )
    config: Any = {"configurable": {"session_id": "s"}}

    with history_scope(True) as state:
        model.invoke("one", config)
        with pytest.raises(ConversationError, match="history would be sent twice"):
            model.invoke("left", config)
        with history_scope(enabled=False):
            model.invoke("two", config)

    assert transport.sent == [["< one"], TALK]
    assert state.turns == 1


@pytest.mark.parametrize("is_node", [False, True], ids=["function", "model_node"])
def test_a_model_in_a_node_of_a_graph_is_refused(is_node: bool) -> None:
    """The graph's state is a memory; a disabled scope lets it be."""
    transport = answering("done")
    ours = adapter()
    subject = graph(transport, ours) if is_node else _graph_of(ours.wrap(Chat(transport=transport)))

    with history_scope(True) as state:
        with pytest.raises(HistoryConfigurationError, match="two memories"):
            subject.invoke(says("one"), THREAD)
        with history_scope(enabled=False):
            subject.invoke(says("two"), THREAD)

    assert [sent[-1] for sent in transport.sent] == ["< two"]
    assert state.turns == 0


def _graph_of(model: Any) -> Any:
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    builder.add_edge(START, "model")
    return builder.compile()


def test_a_model_in_a_function_of_a_chain_is_a_turn() -> None:
    """A function is no graph."""
    transport = answering("done")
    model = wrapped(transport)
    chain = RunnableLambda(lambda prompt: model.invoke(str(prompt)))

    with history_scope(True) as state:
        chain.invoke("one")
        chain.invoke("two")

    assert transport.sent[1] == TALK
    assert state.turns == 2


def test_conversations_are_independent() -> None:
    """Each scope without a state of its own has a new one; a given one goes on wherever it is named."""
    transport = answering("done")
    model, state = wrapped(transport), ConversationState("mine")

    for prompt in ("one", "two"):
        with history_scope(True, state=state) as found:
            model.invoke(prompt)
        with history_scope(True):
            model.invoke(f"{prompt}, alone")
        assert found is state

    assert transport.sent == [["< one"], ["< one, alone"], TALK, ["< two, alone"]]


def test_objects_of_the_caller_are_left_alone() -> None:
    """What is given, and what is returned, is neither changed nor shared with an edit."""
    transport = answering("done")
    given = [HumanMessage("one", additional_kwargs={"a": [1]})]
    before = copy.deepcopy(given)
    model = adapter(keep(0)).wrap(Chat(transport=transport))

    with history_scope(True):
        answer = model.invoke(given)
        kept = copy.deepcopy(answer)
        model.invoke("two")

    assert given == before
    assert answer == kept
