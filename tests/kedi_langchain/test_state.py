"""What a thread remembers between model calls: plain, private, and enough for a later process to go on from.

Measured usage, origins and the ban on server-side state from before an edit are looked at where a later step or turn
needs them.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware, ModelFallbackMiddleware
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from chats import Answer, Context, StreamingChat, Transport, adapter, calls, keep, lines, noting, turns, untouched
from checkpointers import CHECKPOINTERS, opened
from kedi_compile.history.carried import Carried
from kedi_langchain.state import KEY, remembered, to_remember
from threads import THREAD, Graph, agent, answering, asks, says


def test_what_is_remembered_reads_back() -> None:
    """Writing and reading the private state are inverses, and a new thread starts from nothing."""
    assert remembered({KEY: to_remember(Carried(generation=2), 3)}) == (Carried(generation=2), 3)
    assert remembered({}) == (Carried(), 0)


def test_the_private_state_is_plain_and_hidden() -> None:
    """It survives JSON, stands in the checkpoint, and is no part of input, output or their schemas."""
    subject = agent(answering("done"), adapter(keep(1)), InMemorySaver())

    finished = subject.invoke(asks(), THREAD)
    state = subject.get_state(THREAD).values["kedi_history"]

    assert state == {"generation": 1, "usage": None, "asks_usage": False, "may_warn": False, "request_index": 1}
    assert json.loads(json.dumps(state)) == state
    assert set(finished) == {"messages"}
    assert "kedi_history" not in subject.get_input_jsonschema()["properties"]
    assert "kedi_history" not in subject.get_output_jsonschema()["properties"]


def test_the_private_state_cannot_be_injected() -> None:
    """A caller that sends one is not heard."""
    seen: list[int] = []
    subject = agent(answering("done"), adapter(noting(seen, lambda ctx: ctx.cache_epoch)), InMemorySaver())

    subject.invoke({**asks(), "kedi_history": {"generation": 7, "request_index": 7}}, THREAD)

    assert seen == [0]
    assert subject.get_state(THREAD).values["kedi_history"]["generation"] == 0


@pytest.mark.parametrize("checkpointer", CHECKPOINTERS)
def test_another_adapter_goes_on_from_a_stored_thread(checkpointer: str, tmp_path: Path) -> None:
    """Generation and usage come from the checkpoint, as for a process that opens the thread later."""
    seen: list[tuple[int, int | None]] = []

    def note(ctx: Context) -> Sequence[BaseMessage]:
        seen.append((ctx.cache_epoch, ctx.measured_tokens))
        return ctx.keep_recent_groups(1)

    with opened(checkpointer, tmp_path) as saver:
        agent(answering(_counted("one", 40)), adapter(note), saver).invoke(asks(), THREAD)
        later = agent(answering(calls("c1", usage_metadata=_usage(50)), "two"), adapter(note), saver)
        later.invoke(says("next"), THREAD)

    (first, second, third) = seen
    assert (first, second) == ((0, None), (1, None))
    assert third[0] == 2
    assert third[1] is not None
    assert third[1] > 50


def test_the_second_request_knows_the_measured_tokens() -> None:
    """Input plus output of the answer to the edited request, plus the estimate of the tool result since."""
    seen: list[int | None] = []
    answers = (calls("c1", usage_metadata=_usage(50)), "done")

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        seen.append(ctx.measured_tokens)
        return ctx.replace_groups(_eligible(ctx), *ctx.summary_messages("sum")) if _eligible(ctx) else ctx.messages

    agent(answering(*answers), adapter(edit, token_counter=lambda message: 7)).invoke(
        {"messages": [*turns(1), HumanMessage("now")]}
    )

    assert seen == [None, 57]


def _eligible(ctx: Context) -> list[Any]:
    return [group for group in ctx.groups if group.closed and not group.protected and group.entry_end > 2]


def test_a_changed_history_has_no_measured_tokens() -> None:
    """A message somebody put into the thread makes the measurement void."""
    seen: list[int | None] = []
    subject = agent(
        answering(_counted("one", 40), "two"), adapter(noting(seen, lambda ctx: ctx.measured_tokens)), InMemorySaver()
    )

    subject.invoke(asks(), THREAD)
    subject.update_state(THREAD, {"messages": [AIMessage("forged", id="a3")]})
    subject.invoke(says("next"), THREAD)

    assert seen == [None, None]


def test_origins_name_the_calls_and_results_of_the_run() -> None:
    """The second request knows which run asked, called and was answered; what was imported has no origin."""
    seen: list[set[tuple[str, str | None]]] = []

    def note(ctx: Context) -> Sequence[BaseMessage]:
        seen.append({(origin.kind, origin.tool_call_id) for group in ctx.groups for origin in group.origins})
        return ctx.messages

    subject = agent(answering(calls("c1"), "done"), adapter(note), InMemorySaver())
    subject.invoke(asks(), THREAD)
    subject.invoke(says("next"), THREAD)

    called = {("user", None), ("assistant", None), ("tool-call", "c1")}
    assert seen == [set(), called, called | {("tool-result", "c1")}]


class Chained(StreamingChat):
    """A model whose host would chain to the newest `resp_` id of its messages."""

    use_previous_response_id: bool = True
    model_kwargs: dict[str, Any] = {}  # noqa: RUF012  # a field of a pydantic model, copied for each


class Settings(AgentMiddleware[Any, Any]):
    """Names server-side state from the settings of every request."""

    def wrap_model_call(self, request: Any, handler: Callable[[Any], Any]) -> Any:
        settings = {"previous_response_id": "resp_fixed", "conversation": "conv_fixed", "temperature": 1}
        return handler(request.override(model_settings=settings))


def chained(*answers: Answer) -> tuple[Graph, Transport, Chained]:
    """Build an agent that edits once there are more than two closed groups, over a model that chains."""
    transport = answering(*answers)
    model = Chained(transport=transport, model_kwargs={"conversation": "conv_fixed", "top_k": 1})
    processor = adapter(lambda ctx: ctx.keep_recent_groups(1, over=2))
    return agent(transport, processor, InMemorySaver(), model=model, outside=[Settings()]), transport, model


def answered(text: str, response_id: str | None = None) -> AIMessage:
    """Return an answer with the id the provider gave its response."""
    return AIMessage(text, response_metadata={"id": response_id} if response_id else {})


def response_ids(messages: Sequence[BaseMessage]) -> list[str | None]:
    """List the response ids that the answers of a request still carry."""
    return [message.response_metadata.get("id") for message in messages if isinstance(message, AIMessage)]


def chained_input() -> dict[str, list[BaseMessage]]:
    """Return three closed exchanges whose answers have response ids, and a question."""
    history = turns(3, ids=True)
    for number, message in enumerate(history[1::2], start=1):
        message.response_metadata = {"id": f"resp_{number}"}
    return {"messages": [*history, HumanMessage("now", id="now")]}


def test_fixed_server_state_stays_off_in_later_steps_and_turns() -> None:
    """After an edit neither settings nor the model's own arguments name a response or conversation from before."""
    subject, transport, model = chained(calls("c1"), "one", "two")

    subject.invoke(chained_input(), THREAD)
    subject.invoke(says("next"), THREAD)

    assert [len(sent) for sent in transport.sent] == [3, 5, 7]
    assert [sorted(kwargs) for kwargs in transport.kwargs] == [["temperature", "tools"]] * 3
    assert model.model_kwargs == {"conversation": "conv_fixed", "top_k": 1}


def test_server_state_is_named_until_the_first_edit() -> None:
    """A processor that changes nothing leaves settings as they are."""
    transport = answering("one")
    subject = agent(transport, adapter(untouched), InMemorySaver(), outside=[Settings()])

    subject.invoke(asks(), THREAD)

    assert transport.kwargs[0]["previous_response_id"] == "resp_fixed"
    assert transport.kwargs[0]["conversation"] == "conv_fixed"


def test_a_chain_resumes_from_the_first_answer_after_the_edit() -> None:
    """The edited request carries no response id; the next one chains to the answer the edit led to."""
    subject, transport, _ = chained(answered("one", "resp_new"), "two")

    subject.invoke(chained_input(), THREAD)
    subject.invoke(says("next"), THREAD)

    assert lines(transport.requests[1]) == ["< question 3", "> answer 3", "< now", "> one", "< next"]
    assert response_ids(transport.requests[0]) == [None]
    assert response_ids(transport.requests[1])[-1] == "resp_new"


def test_a_chain_never_goes_back_behind_an_edit_whose_answer_has_no_id() -> None:
    """Where the first answer after the edit came from elsewhere, no id from before it may be the newest."""
    subject, transport, _ = chained(answered("one"), "two")

    subject.invoke(chained_input(), THREAD)
    subject.invoke(says("next"), THREAD)

    assert lines(transport.requests[1]) == ["< question 3", "> answer 3", "< now", "> one", "< next"]
    assert response_ids(transport.requests[1]) == [None, None]


def test_a_chain_never_goes_back_behind_an_edit_that_a_fallback_answered() -> None:
    """The fallback does not chain, the model of the next turn does: no id from before the edit may be the newest."""
    transport = answering(RuntimeError("overloaded"), "two")
    fallback = ModelFallbackMiddleware(StreamingChat(transport=answering("one")))
    ours = adapter(lambda ctx: ctx.keep_recent_groups(1, over=2))
    subject = agent(transport, ours, InMemorySaver(), model=Chained(transport=transport), outside=[fallback])

    subject.invoke(chained_input(), THREAD)
    subject.invoke(says("next"), THREAD)

    assert lines(transport.requests[1]) == ["< question 3", "> answer 3", "< now", "> one", "< next"]
    assert response_ids(transport.requests[1]) == [None, None]


def _usage(tokens: int) -> Any:
    return {"input_tokens": tokens - 10, "output_tokens": 10, "total_tokens": tokens}


def _counted(text: str, tokens: int) -> AIMessage:
    return AIMessage(text, usage_metadata=_usage(tokens))
