"""Which attempts share an edit: those at one logical request, found by content and never by `==`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import ConfigurableField
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from chats import Chat, Context, Keeping, Transport, adapter, asked, calls, keep, lines
from kedi_compile import HistoryConfigurationError
from kedi_compile.history.flow import Skipped
from kedi_langchain.attempts import FailedAttempts
from kedi_langchain.editing import Attempt
from threads import THREAD, agent, answering, asks

SHOWN = (HumanMessage("one"),)
ATTEMPT = Attempt(SHOWN, Skipped())


def test_a_failed_attempt_is_taken_over_once() -> None:
    """Two equal requests below one caller are two requests."""
    attempts = FailedAttempts()
    attempts.leave("caller", ATTEMPT)

    assert attempts.take("caller", [HumanMessage("one")]) is ATTEMPT
    assert attempts.take("caller", [HumanMessage("one")]) is None


def test_an_attempt_of_another_caller_or_content_is_none() -> None:
    """What stands alone leaves nothing, and other messages are another request."""
    attempts = FailedAttempts()
    attempts.leave("caller", ATTEMPT)
    attempts.leave(None, ATTEMPT)

    assert attempts.take("other", SHOWN) is None
    assert attempts.take(None, SHOWN) is None
    assert attempts.take("caller", [HumanMessage("two")]) is None


def test_the_oldest_callers_go_first() -> None:
    """Failures that nobody tries again do not pile up."""
    attempts = FailedAttempts()
    for number in range(257):
        attempts.leave(number, ATTEMPT)

    assert attempts.take(0, SHOWN) is None
    assert attempts.take(1, SHOWN) is ATTEMPT


class Table:
    """An artifact that compares to no plain bool, as arrays do."""

    def __eq__(self, other: object) -> Any:
        msg = "the truth of a table is ambiguous"
        raise ValueError(msg)

    __hash__ = None  # type: ignore[assignment]  # as arrays have none


class CopyingTwice(AgentMiddleware[Any, Any]):
    """Calls the model twice, over copies."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        for _ in range(2):
            answer = handler(request.override(messages=[message.model_copy() for message in request.messages]))
        return answer


def test_attempts_over_copies_share_an_edit_whatever_their_artifacts_are() -> None:
    """Copies of one step's messages are the same request."""
    processor, transport = Keeping(1), answering("one", "two")
    subject = agent(transport, adapter(processor), outside=[CopyingTwice()])
    looked = [HumanMessage("look"), calls("c1"), ToolMessage("seen", tool_call_id="c1", artifact=Table())]

    subject.invoke({"messages": [*asks()["messages"][:2], *looked, HumanMessage("now")]})

    assert processor.count == 1
    assert transport.sent[0] == transport.sent[1]


def test_a_processor_may_pause_the_graph() -> None:
    """`interrupt` in a callback pauses the run; the resumed one runs the callback again, with the answer."""

    def asking(ctx: Context) -> Any:
        return ctx.keep_recent_groups(interrupt("how many?"))

    transport = answering("done")
    subject = agent(transport, adapter(asking), InMemorySaver())

    paused = subject.invoke(asks(), THREAD)
    finished = subject.invoke(Command(resume=1), THREAD)

    assert [one.value for one in paused["__interrupt__"]] == ["how many?"]
    assert transport.sent == [["< question 3", "> answer 3", "< now"]]
    assert lines(finished["messages"]) == ["< question 3", "> answer 3", "< now", "> done"]


def test_alternatives_of_a_wrapped_model_are_wrapped() -> None:
    """Whichever the configuration chooses, its requests are edited."""
    first, second, third = Transport(), Transport(), Transport()
    wrapped = adapter(keep(1)).wrap(Chat(transport=first))
    choosing = wrapped.configurable_alternatives(
        ConfigurableField(id="which"), second=Chat(transport=second), third=lambda: Chat(transport=third)
    )

    for name in ("default", "second", "third"):
        choosing.with_config(configurable={"which": name}).invoke(asked())

    assert [len(transport.sent[0]) for transport in (first, second, third)] == [3, 3, 3]


def test_an_empty_request_is_the_hosts_business() -> None:
    """There is no history to edit, and nothing to refuse."""
    transport, processor = Transport(), Keeping(1)

    adapter(processor).wrap(Chat(transport=transport)).invoke([])

    assert (transport.sent, processor.count) == ([[]], 0)


def test_the_name_of_a_model_is_no_model() -> None:
    """The error says how to make one."""
    with pytest.raises(HistoryConfigurationError, match=r"'openai:gpt' is no chat model.*init_chat_model"):
        adapter(keep(1)).wrap("openai:gpt")  # type: ignore[type-var]  # the mistake under test
