"""Streams of agents and graphs: an edit shows as what it is, and no removed or re-listed message looks like an answer.

The measure is the same agent without the adapter: its stream of messages, its events, and the steps of its state.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import pytest
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from pydantic import BaseModel

from chats import Chat, Context, StreamingChat, adapter, calls, keep, lines, turns
from kedi_langchain import LangChainAdapter
from threads import THREAD, WAYS, agent, answering, asks, built, graph

KEPT_ONE = ["< question 3", "> answer 3", "< now"]


def summarized(ctx: Context) -> Sequence[BaseMessage]:
    """Replace all groups that may go by a summary."""
    eligible = [group for group in ctx.groups if group.closed and not group.protected]
    return ctx.replace_groups(eligible, *ctx.summary_messages("summary")) if len(eligible) > 1 else ctx.messages


each_edit = pytest.mark.parametrize("edit", [keep(1), keep(0), summarized], ids=["drop", "drop all", "summarize"])


def pieces(stream: Iterable[tuple[BaseMessage, Any]]) -> list[str]:
    """Write each message of a stream as its type and its line."""
    return [f"{message.type} {line}" for message, _ in stream for line in lines([message])]


LOOP = [
    "AIMessageChunk > ",
    "AIMessageChunk > call c1",
    "AIMessageChunk > ",
    "tool < result c1",
    "AIMessageChunk > one",
    "AIMessageChunk >  two",
    "AIMessageChunk > ",
]


@pytest.mark.parametrize("ours", [None, adapter(keep(1)), adapter(keep(0)), adapter(summarized)])
def test_the_messages_stream_holds_only_what_is_new(ours: LangChainAdapter | None) -> None:
    """With and without an edit, the stream is the answers' chunks and the tool's result."""
    subject = agent(answering(calls("c1"), "one two"), ours, InMemorySaver())

    assert pieces(subject.stream(asks(), THREAD, stream_mode="messages")) == LOOP


@pytest.mark.parametrize("ours", [None, adapter(keep(1)), adapter(keep(0)), adapter(summarized)])
async def test_the_messages_stream_holds_only_what_is_new_asynchronously(ours: LangChainAdapter | None) -> None:
    """The same on the asynchronous path."""
    subject = agent(answering(calls("c1"), "one two"), ours, InMemorySaver())

    streamed = [item async for item in subject.astream(asks(), THREAD, stream_mode="messages")]

    assert pieces(streamed) == LOOP


@each_edit
def test_the_messages_stream_of_a_node_holds_only_what_is_new(edit: Any) -> None:
    """A raw graph streams the answer's chunks and nothing of the list the node returns."""
    subject = graph(answering("one two"), adapter(edit), InMemorySaver())

    assert pieces(subject.stream(asks(), THREAD, stream_mode="messages")) == LOOP[4:]


@pytest.mark.parametrize("way", WAYS)
@each_edit
def test_an_answer_that_was_not_streamed_comes_whole_and_once(way: str, edit: Any) -> None:
    """A model that cannot stream: one message, the answer, although the update lists it again."""
    model = Chat(transport=answering("one two"))
    if way == "middleware":
        subject = agent(model.transport, adapter(edit), InMemorySaver(), model=model)
    else:
        subject = graph(model.transport, adapter(edit), InMemorySaver(), model=model)

    assert pieces(subject.stream(asks(), THREAD, stream_mode="messages")) == ["ai > one two"]


def test_messages_without_ids_do_not_come_back_in_the_stream() -> None:
    """Kept messages that came in without ids are not taken for new ones."""
    subject = agent(answering("one two"), adapter(keep(1)), InMemorySaver())
    given = {"messages": [*turns(3), HumanMessage("now")]}

    assert pieces(subject.stream(given, THREAD, stream_mode="messages")) == LOOP[4:]


def test_stripped_reasoning_does_not_come_back_in_the_stream() -> None:
    """A kept answer that lost its bound reasoning is the old message, under its old id."""
    thought = AIMessage(
        [{"type": "thinking", "thinking": "hm", "signature": "s"}, {"type": "text", "text": "a"}], id="a"
    )
    strip = adapter(keep(1), reasoning_protection="open_cycle", bound_reasoning="strip")
    subject = agent(answering("one two"), strip, InMemorySaver())
    given = {"messages": [*turns(2, ids=True), HumanMessage("q", id="q"), thought, HumanMessage("now", id="now")]}

    streamed = pieces(subject.stream(given, THREAD, stream_mode="messages"))
    left = subject.get_state(THREAD).values["messages"]

    assert streamed == LOOP[4:]
    assert [message.id for message in left][:3] == ["q", "a", "now"]
    assert left[1].content == [{"type": "text", "text": "a"}]


class Verdict(BaseModel):
    """A verdict."""

    guilty: bool


def test_structured_output_streams_as_without_the_adapter() -> None:
    """Its call and its result are in the stream once."""
    verdict = AIMessage("", tool_calls=[{"name": "Verdict", "args": {"guilty": True}, "id": "v1"}])
    alone, edited = (
        agent(answering(verdict), ours, InMemorySaver(), response_format=ToolStrategy(Verdict))
        for ours in (None, adapter(keep(1)))
    )

    expected, streamed = (pieces(one.stream(asks(), THREAD, stream_mode="messages")) for one in (alone, edited))

    assert streamed == expected
    assert streamed.count("tool < result v1") == 1


@pytest.mark.parametrize("way", WAYS)
@each_edit
def test_values_never_show_an_edit_without_its_answer(way: str, edit: Any) -> None:
    """The state goes from the unedited history to the edited one with the answer, in one step."""
    subject = built(way, answering("done"), adapter(edit), InMemorySaver())

    *before, last = [lines(state["messages"]) for state in subject.stream(asks(), THREAD, stream_mode="values")]

    assert all(state == [*lines(turns(3)), "< now"] for state in before)
    assert last[-2:] == ["< now", "> done"]
    assert len(last) < 8


def test_updates_of_an_edit_list_the_answer_first_and_then_the_whole_history() -> None:
    """The host writes a model step with commands as a list; order to remove and new texts are dictionaries in it."""
    subject = agent(answering("done"), adapter(summarized), InMemorySaver())

    *_, last = subject.stream(asks(), THREAD, stream_mode="updates")
    answer, *_, replaced = [update["messages"] for update in last["model"] if "messages" in update]

    assert lines(answer) == ["> done"]
    assert [item["role"] for item in replaced if isinstance(item, dict)] == ["remove", "user", "assistant"]
    assert lines(item for item in replaced if not isinstance(item, dict)) == ["< now", "> done"]


async def test_events_show_one_edited_request_for_each_step() -> None:
    """The model's start events carry the edited history, as its tracing does."""
    subject = agent(answering(calls("c1"), "one two"), adapter(keep(1)), InMemorySaver())

    events = [event async for event in subject.astream_events(asks(), THREAD, version="v2")]
    started = [event["data"]["input"]["messages"][0] for event in events if event["event"] == "on_chat_model_start"]
    streamed = [event["data"]["chunk"].text for event in events if event["event"] == "on_chat_model_stream"]

    assert list(map(lines, started)) == [KEPT_ONE, [*KEPT_ONE, "> call c1", "< result c1"]]
    assert streamed == ["", "", "", "one", " two", ""]


@pytest.mark.filterwarnings("ignore:The v3 streaming protocol:langchain_core._api.beta_decorator.LangChainBetaWarning")
@pytest.mark.parametrize("way", WAYS)
def test_the_hosts_newest_events_hold_only_what_is_new(way: str) -> None:
    """One message starts for the one answer; its text is the answer's."""
    transport = answering("one two")
    subject = built(way, transport, adapter(summarized), InMemorySaver())

    with subject.stream_events(asks(), THREAD, version="v3") as run:
        events = [event["params"]["data"][0] for event in run if event["method"] == "messages"]

    assert transport.sent == [["< summary", "> Noted.", "< now"]]
    assert [event["event"] for event in events].count("message-start") == 1
    assert "".join(_delta(event) for event in events) == "one two"


def _delta(event: dict[str, Any]) -> str:
    return str(event.get("delta", {}).get("text", ""))


def test_a_summarizer_stays_out_of_the_stream_by_the_hosts_own_tag() -> None:
    """What a model inside the processor streams is in the node's stream, unless the model is tagged `nostream`."""
    plain = StreamingChat(transport=answering("sum"))

    def streamed_with(summarizer: Any) -> list[str]:
        def edit(ctx: Context) -> Sequence[BaseMessage]:
            summary = summarizer.invoke("Sum up.").text
            eligible = [group for group in ctx.groups if group.closed]
            return ctx.replace_groups(eligible, *ctx.summary_messages(summary))

        subject = agent(answering("done"), adapter(edit), InMemorySaver())
        return pieces(subject.stream(asks(), THREAD, stream_mode="messages"))

    assert streamed_with(plain.with_config(tags=["nostream"])) == ["AIMessageChunk > done", "AIMessageChunk > "]
    assert streamed_with(plain)[0] == "AIMessageChunk > sum"
