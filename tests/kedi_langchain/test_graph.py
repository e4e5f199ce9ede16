"""The node of a raw graph: it calls the model and keeps the edit together with the answer.

Each call counts as a run of one request, since a raw graph has no private state for the adapter. Failures and
cancellations are in `test_middleware_failures.py`, streams in `test_middleware_streaming.py`.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.channels.delta import DeltaChannel
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import ToolNode, create_react_agent, tools_condition
from langgraph.pregel._messages import _messages_delta_reducer
from langgraph.types import RetryPolicy
from langgraph.warnings import LangGraphDeprecatedSinceV10
from pydantic import BaseModel

from chats import Context, Keeping, StreamingChat, adapter, asked, calls, keep, lines, noting, turns
from checkpointers import CHECKPOINTERS, aopened, opened
from kedi_compile import HistoryConfigurationError, HistoryProcessingWarning
from kedi_langchain import LangChainAdapter
from threads import THREAD, Graph, agent, answering, asks, graph, kept, look, says

BEFORE = [*lines(turns(3)), "< now"]
KEPT_ONE = ["< question 3", "> answer 3", "< now"]


def of_node(node: Runnable[Any, Any], state: Any = MessagesState, saver: Any = None, **options: Any) -> Graph:
    """Build a graph of one node."""
    builder: Any = StateGraph(state)
    builder.add_node("model", node, **options)
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver or InMemorySaver())


@pytest.mark.parametrize("checkpointer", CHECKPOINTERS)
def test_edit_and_answer_land_in_one_write(checkpointer: str, tmp_path: Path) -> None:
    """No checkpoint holds the edit without its answer; kept messages keep their ids."""
    with opened(checkpointer, tmp_path) as saver:
        subject = graph(answering("done"), adapter(keep(1)), saver)
        finished = subject.invoke(asks(), THREAD)
        states = [lines(state.values.get("messages", [])) for state in subject.get_state_history(THREAD)]

    assert states == [[*KEPT_ONE, "> done"], BEFORE, []]
    assert [message.id for message in finished["messages"]][:3] == ["q3", "a3", "now"]


@pytest.mark.parametrize("checkpointer", CHECKPOINTERS)
async def test_edit_and_answer_land_in_one_write_asynchronously(checkpointer: str, tmp_path: Path) -> None:
    """The same on the asynchronous path."""
    async with aopened(checkpointer, tmp_path) as saver:
        subject = graph(answering("done"), adapter(keep(1)), saver)
        await subject.ainvoke(asks(), THREAD)
        states = [lines(state.values.get("messages", [])) async for state in subject.aget_state_history(THREAD)]

    assert states == [[*KEPT_ONE, "> done"], BEFORE, []]


def test_a_tool_loop_and_a_next_turn_go_on_from_the_edited_history() -> None:
    """The node serves a loop with bound tools like any model node."""
    transport = answering(calls("c1"), "done", "again")
    model = StreamingChat(transport=transport).bind_tools([look])
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", adapter(keep(1)).model_node(model))
    builder.add_node("tools", ToolNode([look]))
    builder.add_edge(START, "model")
    builder.add_conditional_edges("model", tools_condition)
    builder.add_edge("tools", "model")
    subject = builder.compile(checkpointer=InMemorySaver())

    subject.invoke(asks(), THREAD)
    finished = subject.invoke(says("next"), THREAD)

    assert transport.sent == [
        KEPT_ONE,
        [*KEPT_ONE, "> call c1", "< result c1"],
        ["< now", "> call c1", "< result c1", "> done", "< next"],
    ]
    assert lines(finished["messages"]) == [*transport.sent[2], "> again"]
    assert all(kwargs["tools"] for kwargs in transport.kwargs)


def test_each_call_counts_as_a_run_of_one_request() -> None:
    """A raw graph has nowhere to remember a count."""
    seen: list[tuple[int, int]] = []
    processor = noting(seen, lambda ctx: (ctx.request_index, ctx.cache_epoch))
    subject = graph(answering("one", "two"), adapter(processor), InMemorySaver())

    subject.invoke(asks(), THREAD)
    subject.invoke(says("next"), THREAD)

    assert seen == [(1, 0), (1, 0)]


def test_new_messages_get_unique_ids() -> None:
    """A summary made in two threads has four ids."""

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        return ctx.replace_groups([g for g in ctx.groups if g.closed], *ctx.summary_messages("summary"))

    subject = graph(answering("done"), adapter(edit), InMemorySaver())
    threads: list[Any] = [{"configurable": {"thread_id": name}} for name in ("one", "two")]

    left = [message for thread in threads for message in subject.invoke(asks(), thread)["messages"][:2]]

    assert lines(left) == ["< summary", "> Noted."] * 2
    assert len({message.id for message in left}) == 4


PROMPTS = [
    pytest.param(ChatPromptTemplate([("system", "Be brief."), MessagesPlaceholder("messages")]), id="prompt"),
    pytest.param(RunnableLambda(lambda messages: [SystemMessage("Be brief."), *messages]), id="function"),
]


@pytest.mark.parametrize("prompt", PROMPTS)
def test_what_a_prompt_adds_is_sent_and_never_stored(prompt: Runnable[Any, Any]) -> None:
    """The durable history is the edit of the state, whatever stands before the model in the node."""
    transport = answering("one", "two")
    subject = of_node(adapter(keep(1)).model_node(prompt | StreamingChat(transport=transport)))

    first = subject.invoke(asks(), THREAD)
    second = subject.invoke(says("next"), THREAD)

    assert transport.sent == [
        ["< system Be brief.", *KEPT_ONE],
        ["< system Be brief.", "< now", "> one", "< next"],
    ]
    assert kept(first["messages"])[:3] == ["q3 < question 3", "a3 > answer 3", "now < now"]
    assert lines(second["messages"]) == ["< now", "> one", "< next", "> two"]


def test_a_retry_inside_the_node_shares_one_edit() -> None:
    """Two attempts send the same edited request, and the callback ran once."""
    processor = Keeping(1)
    transport = answering(RuntimeError("overloaded"), "done")
    model = StreamingChat(transport=transport).with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    subject = of_node(adapter(processor).model_node(model))

    finished = subject.invoke(asks(), THREAD)

    assert processor.count == 1
    assert transport.sent == [KEPT_ONE, KEPT_ONE]
    assert lines(finished["messages"]) == [*KEPT_ONE, "> done"]


def test_a_retry_policy_of_the_graph_runs_the_node_anew() -> None:
    """The host calls the whole node again: the edit is made again, and only the answered one is kept."""
    processor = Keeping(1)
    transport = answering(RuntimeError("overloaded"), "done")
    policy = RetryPolicy(initial_interval=0.001, jitter=False, retry_on=RuntimeError)
    node = adapter(processor).model_node(StreamingChat(transport=transport))

    finished = of_node(node, retry_policy=policy).invoke(asks(), THREAD)

    assert processor.count == 2
    assert transport.sent == [KEPT_ONE, KEPT_ONE]
    assert lines(finished["messages"]) == [*KEPT_ONE, "> done"]


def test_a_fallback_inside_the_node_shares_one_edit() -> None:
    """The second model is sent what was proved for the first, and its answer is kept with the edit."""
    processor = Keeping(1)
    first, second = answering(RuntimeError("overloaded")), answering("second")
    model = StreamingChat(transport=first).with_fallbacks([StreamingChat(transport=second)])

    finished = of_node(adapter(processor).model_node(model)).invoke(asks(), THREAD)

    assert processor.count == 1
    assert first.sent == second.sent == [KEPT_ONE]
    assert lines(finished["messages"]) == [*KEPT_ONE, "> second"]


def test_a_wrapped_model_inside_the_processor_is_not_taken_for_the_nodes() -> None:
    """A summarizer with an adapter of its own edits its own request; the thread keeps the node's edit."""
    inner = answering("summary")
    summarizer = adapter(keep(0)).wrap(StreamingChat(transport=inner))

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        summarizer.invoke(asked(2, "sum up"))
        return ctx.keep_recent_groups(1)

    finished = graph(answering("done"), adapter(edit)).invoke(asks())

    assert inner.sent == [["< sum up"]]
    assert lines(finished["messages"]) == [*KEPT_ONE, "> done"]


def test_a_wrapped_model_behind_the_answer_is_not_taken_for_the_nodes() -> None:
    """A judge that a later step asks edits its own request; the thread is not replaced by the judge's history."""
    judge = {"model": adapter(keep(0)).wrap(StreamingChat(transport=answering("fine")))}

    def judged(answer: AIMessage) -> AIMessage:
        judge["model"].invoke(asked(2, "judge"))
        return answer

    model = StreamingChat(transport=answering("done")) | RunnableLambda(judged)
    finished = of_node(adapter(keep(1)).model_node(model)).invoke(asks(), THREAD)

    assert lines(finished["messages"]) == [*KEPT_ONE, "> done"]


def test_two_models_in_a_row_keep_the_edit_of_the_thread() -> None:
    """The first was shown the thread and the second a draft: the thread keeps its own edit, and the last answer."""
    drafting, revising = answering("draft"), answering("final")
    revise: Any = RunnableLambda(lambda draft: [HumanMessage("Revise."), draft, HumanMessage("Now.")])
    model = StreamingChat(transport=drafting) | revise | StreamingChat(transport=revising)

    finished = of_node(adapter(keep(1)).model_node(model)).invoke(asks(), THREAD)

    assert drafting.sent == [KEPT_ONE]
    assert revising.sent == [["< Revise.", "> draft", "< Now."]]
    assert lines(finished["messages"]) == [*KEPT_ONE, "> final"]


class Talk(TypedDict):
    """A state that keeps its history under another key."""

    talk: Annotated[list[BaseMessage], add_messages]


def test_the_history_may_stand_under_another_key() -> None:
    """The node reads and writes the key it was given."""
    node = adapter(keep(1)).model_node(StreamingChat(transport=answering("done")), key="talk")

    finished = of_node(node, Talk).invoke({"talk": asked()}, THREAD)

    assert lines(finished["talk"]) == [*KEPT_ONE, "> done"]


class Validated(BaseModel):
    """A state the host validates."""

    messages: Annotated[list[Any], add_messages]


@dataclass
class Held:
    """A state in a dataclass."""

    messages: Annotated[list[Any], add_messages] = field(default_factory=list)


@pytest.mark.parametrize("state", [Validated, Held])
def test_the_state_may_be_an_object(state: type[Any]) -> None:
    """The host hands nodes a model or a dataclass where the graph was built on one."""
    node = adapter(keep(1)).model_node(StreamingChat(transport=answering("done")))

    finished = of_node(node, state).invoke(asks(), THREAD)

    assert lines(finished["messages"]) == [*KEPT_ONE, "> done"]


class Replayed(TypedDict):
    """A state whose messages are replayed from their writes on every read."""

    messages: Annotated[list[BaseMessage], DeltaChannel(_messages_delta_reducer)]


def test_a_replayed_channel_reads_the_edit_back() -> None:
    """The host's delta channel stores writes, not values: each read replays the edit to the same ids."""

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        return ctx.replace_groups([g for g in ctx.groups if g.closed], *ctx.summary_messages("summary"))

    node = adapter(edit).model_node(StreamingChat(transport=answering("done")))
    subject = of_node(node, Replayed)
    subject.invoke(asks(), THREAD)

    first, second = (kept(subject.get_state(THREAD).values["messages"]) for _ in range(2))

    assert first == second
    assert [line.split(" ", 1)[1] for line in first] == ["< summary", "> Noted.", "< now", "> done"]
    assert len({line.split(" ", 1)[0] for line in first}) == 4


def test_without_a_processor_the_node_only_calls_the_model() -> None:
    """The answer is the whole update."""
    subject = graph(answering("done"), adapter(), InMemorySaver())

    (update,) = subject.stream(asks(), THREAD, stream_mode="updates")

    assert lines(update["model"]["messages"]) == ["> done"]


def test_a_node_needs_a_message_for_an_answer() -> None:
    """A parser behind the model would leave nothing to keep: the error says so, and the history stays."""
    node = adapter(keep(1)).model_node(StreamingChat(transport=answering("done")) | StrOutputParser())
    subject = of_node(node)

    with pytest.raises(TypeError, match="leave output parsers out"):
        subject.invoke(asks(), THREAD)
    assert lines(subject.get_state(THREAD).values["messages"]) == BEFORE


def test_a_wrapped_model_is_refused_by_the_node() -> None:
    """The node wraps its model itself."""
    ours = adapter(keep(1))
    wrapped = ours.wrap(StreamingChat(transport=answering("done")))

    with pytest.raises(HistoryConfigurationError, match="wrapped already"):
        ours.model_node(wrapped)


def test_an_agent_as_a_node_leaves_the_outer_graphs_history() -> None:
    """A limit of the host: an outer graph adds an agent's list to its own by id, so what was removed stays there.

    Each request is edited all the same, from the outer graph's whole history.
    """
    transport = answering("one", "two")
    subject = of_node(agent(transport, adapter(keep(1))))

    subject.invoke(asks(), THREAD)
    finished = subject.invoke(says("next"), THREAD)

    assert transport.sent == [KEPT_ONE, ["< now", "> one", "< next"]]
    assert lines(finished["messages"]) == [*BEFORE, "> one", "< next", "> two"]


class Chained(StreamingChat):
    """A model whose host would chain to the newest `resp_` id of its messages."""

    use_previous_response_id: bool = True


def test_a_chain_never_goes_back_behind_an_edit_whose_answer_has_no_id() -> None:
    """In a later call without an edit, no id from before an earlier edit may be the newest."""
    transport = answering("one", "two")
    ours = adapter(lambda ctx: ctx.keep_recent_groups(1, over=2))
    history = turns(3, ids=True)
    history[5].response_metadata = {"id": "resp_3"}
    subject = of_node(ours.model_node(Chained(transport=transport)))

    subject.invoke({"messages": [*history, HumanMessage("now", id="now")]}, THREAD)
    subject.invoke(says("next"), THREAD)

    answers = [message for message in transport.requests[1] if isinstance(message, AIMessage)]
    assert lines(answers) == ["> answer 3", "> one"]
    assert [answer.response_metadata.get("id") for answer in answers] == [None, None]


def react_agent(ours: LangChainAdapter, transport: Any) -> Graph:
    """Build the older prebuilt agent over a wrapped model."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangGraphDeprecatedSinceV10)
        model = ours.wrap(StreamingChat(transport=transport))
        return create_react_agent(model, [look], checkpointer=InMemorySaver())


def test_the_prebuilt_agent_edits_each_request_and_keeps_the_whole_history() -> None:
    """Its model node is the host's own: requests are edited anew from the whole history, and one warning says so."""
    transport = answering(calls("c1"), "done")
    subject = react_agent(adapter(keep(1)), transport)

    with pytest.warns(HistoryProcessingWarning, match=r"\.middleware\(\)") as warned:
        finished = subject.invoke(asks(), THREAD)

    assert len(warned) == 1
    assert transport.sent == [KEPT_ONE, [*KEPT_ONE, "> call c1", "< result c1"]]
    assert lines(finished["messages"]) == [*BEFORE, "> call c1", "< result c1", "> done"]


def test_the_prebuilt_agent_takes_no_node_for_its_model() -> None:
    """It binds tools to its model itself, which a node is not: build the graph from the node instead."""
    node: Any = adapter(keep(1)).model_node(StreamingChat(transport=answering("done")))

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", LangGraphDeprecatedSinceV10)
        with pytest.raises(AttributeError, match="bind_tools"):
            create_react_agent(node, [look])
