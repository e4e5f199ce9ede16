"""What a thread keeps after an edit: the edit alone, however the request was shown, retried or answered."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ModelResponse
from langchain_core.messages import AIMessage, HumanMessage, RemoveMessage, ToolMessage
from langchain_core.messages.tool import invalid_tool_call
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.types import Send

from chats import Context, StreamingChat, adapter, calls, keep, lines, results, turns
from threads import THREAD, agent, answering, asks, says

KEPT_ONE = ["< question 3", "> answer 3", "< now"]
OVERLOADED = RuntimeError("overloaded")


def summarize(ctx: Context) -> Any:
    """Replace all eligible groups by a summary."""
    eligible = [group for group in ctx.groups if group.eligible]
    return ctx.replace_groups(eligible, *ctx.summary_messages("sum")) if len(eligible) > 1 else ctx.messages


class Redacting(AgentMiddleware[Any, Any]):
    """A guardrail: returns another answer than the model's."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        handler(request)
        return ModelResponse(result=[AIMessage("blocked")])


def test_the_answer_another_middleware_put_in_place_is_kept() -> None:
    """Neither the model's answer nor a tool it called comes back with the edit."""
    transport = answering(calls("c1"))
    subject = agent(transport, adapter(keep(1)), InMemorySaver(), outside=[Redacting()])

    assert lines(subject.invoke(asks(), THREAD)["messages"]) == [*KEPT_ONE, "> blocked"]
    assert transport.sent == [KEPT_ONE]


class Clearing(AgentMiddleware[Any, Any]):
    """Shows new copies at each attempt, one of them with other content."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        shown = [m.model_copy(update={"content": "cleared"} if m.id == "q3" else {}) for m in request.messages]
        return handler(request.override(messages=shown))


class Retrying(AgentMiddleware[Any, Any]):
    """Tries a second time."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        try:
            return handler(request)
        except RuntimeError:
            return handler(request)


@pytest.mark.parametrize("answers", [["done"], [OVERLOADED, "done"]], ids=["at once", "after a retry"])
@pytest.mark.parametrize("processor", [keep(1), summarize], ids=["dropping", "summarizing"])
def test_what_was_changed_for_one_request_stays_whole(processor: Any, answers: list[Any]) -> None:
    """The thread's own message is kept, not the copy a request showed."""
    subject = agent(answering(*answers), adapter(processor), InMemorySaver(), outside=[Retrying(), Clearing()])

    kept = lines(subject.invoke(asks(), THREAD)["messages"])

    assert "< cleared" not in kept
    assert kept[-2:] == ["< now", "> done"]


@pytest.mark.parametrize("answers", [["one", "two"], [OVERLOADED, "one", OVERLOADED, "two"]], ids=["at once", "retry"])
def test_a_prompt_of_the_node_is_never_stored(answers: list[Any]) -> None:
    """A system prompt in front of the model is sent with each request, whatever was tried again."""
    transport = answering(*answers)
    prompt = ChatPromptTemplate([("system", "be brief"), MessagesPlaceholder("messages")])
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", adapter(keep(1)).model_node((prompt | StreamingChat(transport=transport)).with_retry()))
    builder.add_edge(START, "model")
    subject = builder.compile(checkpointer=InMemorySaver())

    subject.invoke(asks(), THREAD)
    left = subject.invoke(says("next"), THREAD)["messages"]

    assert lines(left) == ["< now", "> one", "< next", "> two"]
    assert [sent[0] for sent in transport.sent] == ["< system be brief"] * len(answers)


def test_answers_of_nodes_side_by_side_are_both_kept() -> None:
    """Two calls over the same thread in one step drop the same messages, and neither loses the other's answer."""
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", adapter(keep(1)).model_node(StreamingChat(transport=answering("A", "B"))))
    builder.add_conditional_edges(START, lambda state: [Send("model", state), Send("model", state)])

    left = lines(builder.compile().invoke(asks())["messages"])

    assert left[:3] == KEPT_ONE
    assert sorted(left[3:]) == ["> A", "> B"]


def test_a_worker_with_messages_of_its_own_leaves_the_thread() -> None:
    """What the node was sent is not the thread, so nothing of the thread goes."""
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", adapter(keep(1)).model_node(StreamingChat(transport=answering("A"))))
    own = [*turns(2), HumanMessage("sub")]
    builder.add_conditional_edges(START, lambda _: [Send("model", {"messages": own})])

    left = lines(builder.compile().invoke(asks())["messages"])

    assert left == [*lines(turns(3)), "< now", "> A"]


def test_the_edit_of_a_request_that_failed_is_not_kept() -> None:
    """A canned answer instead of the model's brings no edit with it."""
    canned: RunnableLambda[Any, AIMessage] = RunnableLambda(lambda _: AIMessage("busy"))
    failing = StreamingChat(transport=answering(OVERLOADED))
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", adapter(keep(1)).model_node(failing.with_fallbacks([canned])))
    builder.add_edge(START, "model")

    assert lines(builder.compile().invoke(asks())["messages"]) == [*lines(turns(3)), "< now", "> busy"]


class Flattening(AgentMiddleware[Any, Any]):
    """Shows a call with its result as one answer under the call's id, as some providers need it."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        shown = [m for m in request.messages if not isinstance(m, ToolMessage)]
        flat = [AIMessage("flat", id=m.id) if getattr(m, "tool_calls", None) else m for m in shown]
        return handler(request.override(messages=flat))


def test_a_hidden_result_goes_with_its_call() -> None:
    """A tool result the request did not show never stays without the call the edit dropped."""
    exchange = [HumanMessage("look"), calls("c1"), *results("c1"), AIMessage("looked")]
    subject = agent(answering("done"), adapter(keep(0)), InMemorySaver(), outside=[Flattening()])

    left = subject.invoke({"messages": [*exchange, HumanMessage("now")]}, THREAD)["messages"]

    assert lines(left) == ["< now", "> done"]


def test_an_edit_that_drops_is_written_as_removals() -> None:
    """A stream of updates shows what went; each removal stands behind its message."""
    subject = agent(answering("done"), adapter(keep(2)), InMemorySaver())

    [update] = [one["model"] for one in subject.stream(asks(), THREAD, stream_mode="updates") if "model" in one]
    written = [message for part in update for message in part.get("messages", ())]

    removed = [message for message in written if isinstance(message, RemoveMessage)]
    assert len(removed) == 2
    assert lines(subject.get_state(THREAD).values["messages"]) == ["< question 2", "> answer 2", *KEPT_ONE, "> done"]


def test_a_message_shown_twice_is_kept_once() -> None:
    """A middleware that repeats a message for one request does not double it in the thread."""

    class Repeating(AgentMiddleware[Any, Any]):
        """Shows the last exchange a second time."""

        def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
            *before, last = request.messages
            return handler(request.override(messages=[*before, *before[-2:], last]))

    subject = agent(answering("done"), adapter(keep(2)), InMemorySaver(), outside=[Repeating()])

    assert lines(subject.invoke(asks(), THREAD)["messages"]) == [*KEPT_ONE, "> done"]


def test_a_result_the_host_repaired_goes_with_its_call() -> None:
    """The host answers a broken call in the very step in which the edit drops it."""
    broken = AIMessage("", id="b", invalid_tool_calls=[invalid_tool_call(name="look", args="{", id="c1", error="bad")])
    told = [HumanMessage("look", id="l"), broken, AIMessage("looked", id="k"), HumanMessage("now", id="n")]
    subject = agent(answering("done"), adapter(keep(0)), InMemorySaver())

    assert lines(subject.invoke({"messages": told}, THREAD)["messages"]) == ["< now", "> done"]
