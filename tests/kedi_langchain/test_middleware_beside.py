"""The agent middleware beside the host's own and others: attempts, transient changes, two commands, two editors.

The rule: the callback runs once per model step wherever the middleware stands in the list, later attempts reuse the
proved edit, and nothing but the edit becomes durable.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Annotated, Any, NotRequired

import pytest
from langchain.agents.middleware import (
    AgentMiddleware,
    AgentState,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    ModelFallbackMiddleware,
    ModelRetryMiddleware,
    SummarizationMiddleware,
)
from langchain.agents.middleware.types import ExtendedModelResponse, ModelResponse
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from langchain_core.runnables.config import ContextThreadPoolExecutor
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command

from chats import Keeping, StreamingChat, adapter, calls, keep, lines, results, turns
from kedi_compile import HistoryConfigurationError
from threads import THREAD, agent, answering, asks, says

KEPT_ONE = ["< question 3", "> answer 3", "< now"]
OVERLOADED = RuntimeError("overloaded")
SIDES = ("outside", "inside")

Handler = Callable[[Any], Any]
AsyncHandler = Callable[[Any], Awaitable[Any]]


class Twice(AgentMiddleware[Any, Any]):
    """Calls the model twice and returns the second answer; `change` is what it does to each request first."""

    def __init__(self, change: Callable[[Any], Any] = lambda request: request) -> None:
        super().__init__()
        self.change = change

    def wrap_model_call(self, request: Any, handler: Handler) -> Any:
        handler(self.change(request))
        return handler(self.change(request))

    async def awrap_model_call(self, request: Any, handler: AsyncHandler) -> Any:
        await handler(self.change(request))
        return await handler(self.change(request))


class Timed(AgentMiddleware[Any, Any]):
    """Gives each attempt a task or a thread of its own, as a timeout per attempt does; tries twice."""

    def wrap_model_call(self, request: Any, handler: Handler) -> Any:
        with ContextThreadPoolExecutor(1) as pool:
            pool.submit(handler, request).result()
            return pool.submit(handler, request).result()

    async def awrap_model_call(self, request: Any, handler: AsyncHandler) -> Any:
        await asyncio.wait_for(handler(request), 10)
        return await asyncio.wait_for(handler(request), 10)


def copied(request: Any) -> Any:
    """Hand over copies of the messages, as middleware that edits them for one request does."""
    return request.override(messages=[message.model_copy() for message in request.messages])


def retrying() -> ModelRetryMiddleware:
    """Retry at once."""
    return ModelRetryMiddleware(max_retries=2, initial_delay=0, jitter=False)


TWO_ATTEMPTS = [
    pytest.param(retrying, [OVERLOADED, "done"], id="retry"),
    pytest.param(Twice, ["other", "done"], id="twice"),
    pytest.param(Timed, ["other", "done"], id="a task for each"),
    pytest.param(lambda: Twice(copied), ["other", "done"], id="copies"),
]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("other", "answers"), TWO_ATTEMPTS)
def test_two_attempts_share_one_edit(other: Callable[[], Any], answers: list[Any], side: str) -> None:
    """Both attempts send the same edited request, the callback ran once, and the last answer is kept with the edit."""
    processor = Keeping(1)
    transport = answering(*answers)
    subject = agent(transport, adapter(processor), InMemorySaver(), **_beside(side, other()))

    finished = subject.invoke(asks(), THREAD)

    assert processor.count == 1
    assert transport.sent == [KEPT_ONE, KEPT_ONE]
    assert lines(finished["messages"]) == [*KEPT_ONE, "> done"]


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(("other", "answers"), TWO_ATTEMPTS)
async def test_two_attempts_share_one_edit_asynchronously(
    other: Callable[[], Any], answers: list[Any], side: str
) -> None:
    """The same on the asynchronous path."""
    processor = Keeping(1)
    transport = answering(*answers)
    subject = agent(transport, adapter(processor), InMemorySaver(), **_beside(side, other()))

    finished = await subject.ainvoke(asks(), THREAD)

    assert processor.count == 1
    assert transport.sent == [KEPT_ONE, KEPT_ONE]
    assert lines(finished["messages"]) == [*KEPT_ONE, "> done"]


@pytest.mark.parametrize("side", SIDES)
def test_a_fallback_model_gets_the_proved_edit(side: str) -> None:
    """The second model is sent what the first one was, and its answer is kept with the edit."""
    processor = Keeping(1)
    first, second = answering(OVERLOADED), answering("second")
    fallback = ModelFallbackMiddleware(StreamingChat(transport=second, model_name="second"))
    subject = agent(first, adapter(processor), InMemorySaver(), **_beside(side, fallback))

    finished = subject.invoke(asks(), THREAD)

    assert processor.count == 1
    assert first.sent == second.sent == [KEPT_ONE]
    assert lines(finished["messages"]) == [*KEPT_ONE, "> second"]


def test_each_step_of_a_loop_has_an_edit_of_its_own() -> None:
    """Attempts share an edit, steps do not: two steps of two attempts run the callback twice."""
    processor = Keeping(1)
    transport = answering(OVERLOADED, calls("c1"), OVERLOADED, "done")
    subject = agent(transport, adapter(processor), InMemorySaver(), outside=[retrying()])

    subject.invoke(asks(), THREAD)

    assert processor.count == 2
    assert transport.sent == [KEPT_ONE] * 2 + [[*KEPT_ONE, "> call c1", "< result c1"]] * 2


def test_a_retry_that_gives_up_keeps_no_edit() -> None:
    """The host answers for the model when all attempts outside ours failed: the history stays as it was."""
    subject = agent(answering(OVERLOADED), adapter(keep(1)), InMemorySaver(), outside=[retrying()])

    messages = subject.invoke(asks(), THREAD)["messages"]

    assert lines(messages)[:-1] == [*lines(turns(3)), "< now"]
    assert "overloaded" in messages[-1].text


class NotedState(AgentState[Any]):
    """State with a note."""

    note: NotRequired[Annotated[str, "written by `Noting`"]]


class Noting(AgentMiddleware[NotedState, Any]):
    """Returns a command of its own beside the answer: a note, and a message behind it."""

    state_schema = NotedState

    def wrap_model_call(self, request: Any, handler: Handler) -> Any:
        update = {"note": "noted", "messages": [AIMessage("appended", id="appended")]}
        return ExtendedModelResponse(handler(request), Command(update=update))


@pytest.mark.parametrize("side", SIDES)
def test_another_middleware_may_return_a_command_too(side: str) -> None:
    """Its note and the message it appends are kept on either side of ours."""
    subject = agent(answering("done"), adapter(keep(1)), InMemorySaver(), **_beside(side, Noting()))

    finished = subject.invoke(asks(), THREAD)

    assert finished["note"] == "noted"
    assert lines(finished["messages"]) == [*KEPT_ONE, "> done", "> appended"]


def test_two_adapters_in_one_agent_are_refused() -> None:
    """Two editors of one history would overwrite each other: the host refuses two middlewares of one name."""
    with pytest.raises(AssertionError, match="duplicate middleware"):
        agent(answering("done"), adapter(keep(1)), inside=[adapter(keep(2)).middleware()])


class Adding(AgentMiddleware[Any, Any]):
    """Adds a message to each request, for that request only."""

    def __init__(self, message: Any, *, at_end: bool = True) -> None:
        super().__init__()
        self.message = message
        self.at_end = at_end

    def wrap_model_call(self, request: Any, handler: Handler) -> Any:
        shown = [*request.messages, self.message] if self.at_end else [self.message, *request.messages]
        return handler(request.override(messages=shown))


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize(
    ("adding", "line"),
    [
        pytest.param(Adding(HumanMessage("reminder")), "< reminder", id="at the end"),
        pytest.param(Adding({"role": "user", "content": "reminder"}), "< reminder", id="a dictionary"),
        pytest.param(Adding(SystemMessage("rules"), at_end=False), "< system rules", id="a system message in front"),
    ],
)
def test_what_is_added_for_one_request_is_sent_and_never_stored(adding: Adding, line: str, side: str) -> None:
    """A transient message of another middleware reaches the model; the edit does not write it into the thread."""
    transport = answering("one", "two")
    subject = agent(transport, adapter(keep(1)), InMemorySaver(), **_beside(side, adding))

    first = subject.invoke(asks(), THREAD)
    second = subject.invoke(says("next"), THREAD)

    assert [sent.count(line) for sent in transport.sent] == [1, 1]
    assert len(transport.sent[0]) == 4
    assert lines(first["messages"]) == [*KEPT_ONE, "> one"]
    assert lines(second["messages"]) == ["< now", "> one", "< next", "> two"]


@pytest.mark.parametrize("side", SIDES)
def test_context_editing_clears_a_request_and_not_the_thread(side: str) -> None:
    """The host's own clearing of tool results is for the request; our edit keeps the results whole in the thread."""
    clearing = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=10, keep=0)])
    transport = answering("done")
    subject = agent(transport, adapter(keep(1)), InMemorySaver(), **_beside(side, clearing))
    exchange = [HumanMessage("look"), calls("c1"), *results("c1", content="seen " * 100), AIMessage("looked")]

    finished = subject.invoke({"messages": [*turns(2), *exchange, HumanMessage("now")]}, THREAD)["messages"]

    assert [message.text for message in transport.requests[0]] == ["look", "", "[cleared]", "looked", "now"]
    assert [message.text for message in finished] == ["look", "", "seen " * 100, "looked", "now", "done"]


class Trimming(AgentMiddleware[Any, Any]):
    """Shows the model the last three messages only."""

    def wrap_model_call(self, request: Any, handler: Handler) -> Any:
        return handler(request.override(messages=request.messages[-3:]))


def test_what_is_hidden_from_one_request_stays_in_the_thread() -> None:
    """The edit is made on what the request shows; the thread keeps what it did not show, where it was."""
    processor = Keeping(0)
    transport = answering("done")
    subject = agent(transport, adapter(processor), InMemorySaver(), outside=[Trimming()])

    finished = subject.invoke(asks(), THREAD)

    assert processor.shown == [KEPT_ONE]
    assert transport.sent == [["< now"]]
    assert lines(finished["messages"]) == [*lines(turns(2)), "< now", "> done"]


def reminded(request: Any) -> Any:
    """Add a reminder that is made anew for each attempt."""
    return request.override(messages=[*request.messages, HumanMessage("reminder")])


def cleared(request: Any) -> Any:
    """Clear the results of tools in copies."""
    return request.override(
        messages=[
            message.model_copy(update={"content": "[cleared]"}) if message.type == "tool" else message
            for message in request.messages
        ]
    )


def test_what_each_attempt_adds_for_itself_is_not_stored() -> None:
    """The second attempt takes over the first one's edit, and its own reminder is no part of that edit."""
    processor = Keeping(1)
    transport = answering("other", "done")
    subject = agent(transport, adapter(processor), InMemorySaver(), outside=[Twice(reminded)])

    finished = subject.invoke(asks(), THREAD)

    assert processor.count == 1
    assert transport.sent == [[*KEPT_ONE, "< reminder"]] * 2
    assert lines(finished["messages"]) == [*KEPT_ONE, "> done"]


def test_what_each_attempt_clears_stays_whole_in_the_thread() -> None:
    """The second attempt takes over the first one's edit, and the thread's own results are kept with it."""
    transport = answering("other", "done")
    subject = agent(transport, adapter(keep(1)), InMemorySaver(), outside=[Twice(cleared)])
    exchange = [HumanMessage("look"), calls("c1"), *results("c1", content="seen"), AIMessage("looked")]

    finished = subject.invoke({"messages": [*turns(2), *exchange, HumanMessage("now")]}, THREAD)["messages"]

    assert [message.text for message in transport.requests[1]] == ["look", "", "[cleared]", "looked", "now"]
    assert [message.text for message in finished] == ["look", "", "seen", "looked", "now", "done"]


@pytest.mark.parametrize("side", SIDES)
def test_summarization_goes_first_and_is_edited_like_any_history(side: str) -> None:
    """The host's summary is written before the model call, in a step of its own; the edit is made on what it left."""
    processor = Keeping(1)
    summarizer = StreamingChat(transport=answering("sum"))
    summarizing = SummarizationMiddleware(model=summarizer, trigger=("messages", 6), keep=("messages", 5))
    subject = agent(answering("done"), adapter(processor), InMemorySaver(), **_beside(side, summarizing))

    finished = subject.invoke(asks(), THREAD)["messages"]

    assert [shown[1:] for shown in processor.shown] == [["< question 2", "> answer 2", *KEPT_ONE]]
    assert lines(finished) == [*KEPT_ONE, "> done"]


@pytest.mark.parametrize("side", SIDES)
def test_a_wrapped_model_that_another_middleware_brings_is_refused(side: str) -> None:
    """A fallback that is wrapped would edit what the middleware edits: nothing is sent to it."""
    ours = adapter(keep(1))
    transport = answering("done")
    fallback = ModelFallbackMiddleware(ours.wrap(StreamingChat(transport=transport)))
    subject = agent(answering(OVERLOADED), ours, InMemorySaver(), **_beside(side, fallback))

    with pytest.raises(HistoryConfigurationError, match="wrapped already"):
        subject.invoke(asks(), THREAD)
    assert transport.sent == []


class Silent(AgentMiddleware[Any, Any]):
    """Returns no answer at all."""

    def wrap_model_call(self, request: Any, handler: Handler) -> Any:
        return ModelResponse(result=[])


def test_a_step_without_an_answer_keeps_no_edit() -> None:
    """The host allows it; there is nothing to keep the edit with, so the history stays as it was."""
    subject = agent(answering("never"), adapter(keep(1)), InMemorySaver(), inside=[Silent()])

    assert lines(subject.invoke(asks(), THREAD)["messages"]) == [*lines(turns(3)), "< now"]


def _beside(side: str, other: Any) -> dict[str, Any]:
    return {side: [other]}
