"""Agents in a scope beside the host's own middleware: retries and fallbacks are one turn, and what others edit is kept.

Other middleware sees the run's own thread. Only what stands inside of the adapter's sees the conversation in front.
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
    ToolRetryMiddleware,
)
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

from chats import StreamingChat, Transport, adapter, calls, keep, turns
from kedi_compile import HistoryPrefixWarning
from kedi_compile.conversation import history_scope
from kedi_langchain import LangChainAdapter
from threads import Graph, agent, answering, says

OVERLOADED = LookupError("overloaded")
PLACES = ("outside", "inside")

each_place = pytest.mark.parametrize("stands", PLACES)


def built(transport: Transport, stands: str, other: Any, ours: LangChainAdapter | None = None) -> Graph:
    """Build an agent with another middleware on one side of the adapter's."""
    others: dict[str, Any] = {stands: [other]}
    return agent(transport, ours or adapter(), **others)


def retry() -> Any:
    """Return the host's retry without waiting."""
    return ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False, on_failure="error")


@each_place
def test_a_retried_request_is_one_turn_with_one_generation(stands: str) -> None:
    """The edit is proved once, both attempts send it, and the next turn begins from what it left."""
    transport, epochs = answering("done", "done", OVERLOADED, "again", "over"), []

    def edit(ctx: Any) -> Any:
        epochs.append(ctx.cache_epoch)
        return ctx.keep_recent_groups(1)

    subject = built(transport, stands, retry(), adapter(edit))
    with history_scope(True) as state:
        for prompt in ("one", "two", "three", "four"):
            subject.invoke(says(prompt))

    assert transport.sent[2:] == [
        *[["< two", "> done", "< three"]] * 2,
        ["< three", "> again", "< four"],
    ]
    assert epochs == [0, 0, 0, 1]
    assert state.turns == 4


@each_place
def test_a_request_that_no_retry_saves_commits_nothing(stands: str) -> None:
    """The next run is served."""
    transport = answering(OVERLOADED, OVERLOADED, OVERLOADED, "done")
    subject = built(transport, stands, retry(), adapter(keep(1)))

    with history_scope(True) as state:
        with pytest.raises(LookupError):
            subject.invoke(says("left"))
        subject.invoke(says("one"))

    assert transport.sent == [["< left"]] * 3 + [["< one"]]
    assert state.turns == 1


@each_place
def test_a_fallbacks_answer_is_part_of_the_turn(stands: str) -> None:
    """The lane is that of the model the agent asked first, so the turns stay together."""
    transport, spare = answering("done", OVERLOADED, "over"), answering("spare")
    subject = built(transport, stands, ModelFallbackMiddleware(StreamingChat(transport=spare)))

    with history_scope(True) as state:
        for prompt in ("one", "two", "three"):
            subject.invoke(says(prompt))

    assert spare.sent == [["< one", "> done", "< two"]]
    assert transport.sent[2] == ["< one", "> done", "< two", "> spare", "< three"]
    assert len(state.lanes) == 1


@each_place
def test_a_retried_tool_is_in_the_turn_once(stands: str) -> None:
    """Its failed attempt leaves nothing."""
    attempts: list[int] = []

    def look() -> str:
        """Look around."""
        attempts.append(1)
        if len(attempts) == 1:
            raise OVERLOADED
        return "seen"

    transport = answering(calls("c1"), "done", "over")
    others: dict[str, Any] = {stands: [ToolRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)]}
    subject = agent(transport, adapter(), tools=[look], **others)

    with history_scope(True):
        subject.invoke(says("one"))
        subject.invoke(says("two"))

    assert len(attempts) == 2
    assert transport.sent[2] == ["< one", "> call c1", "< result c1", "> done", "< two"]


@each_place
def test_a_summary_of_the_hosts_own_is_part_of_the_turn(stands: str) -> None:
    """It sums up the run's thread, which is what it sees, and the conversation keeps its form."""
    transport = answering("done")
    host = SummarizationMiddleware(
        StreamingChat(transport=answering("short")), trigger=("messages", 4), keep=("messages", 1)
    )
    subject = built(transport, stands, host)

    with history_scope(True):
        subject.invoke(says("one"))
        subject.invoke({"messages": [*turns(3), HumanMessage("two")]})
        subject.invoke(says("three"))

    summary = "< Here is a summary of the conversation to date:\n\nshort"
    assert transport.sent[1:] == [
        ["< one", "> done", summary, "< two"],
        ["< one", "> done", summary, "< two", "> done", "< three"],
    ]


@pytest.mark.parametrize(
    ("stands", "shown"),
    [("inside", ["[cleared]", "[cleared]"]), ("outside", ["seen", "[cleared]"])],
)
def test_an_edit_of_one_request_by_the_host_is_not_kept(stands: str, shown: list[str]) -> None:
    """Context editing clears results for a request: all where it stands inside, the run's own where it is outside."""
    transport = answering(calls("c1"), "done", calls("c2"), "done", "over")
    clearing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=0)])
    subject = built(transport, stands, clearing)

    with history_scope(True):
        subject.invoke(says("one"))
        subject.invoke(says("two"))
        agent(transport, adapter()).invoke(says("three"))

    assert _results(transport, 3) == shown
    assert _results(transport, 4) == ["seen", "seen"]


def _results(transport: Transport, request: int) -> list[str]:
    return [one.text for one in transport.requests[request] if isinstance(one, ToolMessage)]


def test_a_scopes_processor_holds_for_agents_and_leaves_with_the_scope() -> None:
    """It takes the place of the adapter's own; None runs none."""
    transport = answering("done")
    subject = agent(transport, adapter(keep(1)))

    with history_scope(True):
        for prompt in ("one", "two"):
            subject.invoke(says(prompt))
        with history_scope(processor=None):
            subject.invoke(says("three"))
        with pytest.warns(HistoryPrefixWarning), history_scope(processor=lambda ctx: ctx.keep_recent_groups(0)):
            subject.invoke(says("four"))
        subject.invoke(says("five"))

    assert transport.sent[2:] == [
        ["< one", "> done", "< two", "> done", "< three"],
        ["< four"],
        ["< four", "> done", "< five"],
    ]


@pytest.mark.parametrize("keys", [None, "messages", ["messages"], ["structured_response"]], ids=str)
def test_what_a_later_hook_put_in_the_place_of_an_answer_is_kept(keys: Any) -> None:
    """Also where the caller asks the graph for something else than its messages."""

    class Redacting(AgentMiddleware[Any, Any]):
        def after_agent(self, state: Any, runtime: Any) -> dict[str, Any]:
            return {"messages": [AIMessage("redacted", id=state["messages"][-1].id)]}

    transport = answering("secret")
    subject = built(transport, "outside", Redacting())

    with history_scope(True):
        for prompt in ("one", "two"):
            subject.invoke(says(prompt), output_keys=keys)

    assert transport.sent[-1] == ["< one", "> redacted", "< two"]
