"""Lineage and measured usage across the turns of a conversation, and after it was restored or stored."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.messages.ai import UsageMetadata

from chats import Chat, Context, StreamingChat, Transport, adapter, calls, results, turns
from kedi_compile.conversation import ConversationCheckpoint, ConversationState, history_scope
from kedi_compile.stores.memory import MemoryConversationStore
from kedi_langchain import LangChainAdapter
from threads import agent, answering, look, says

Kinds = list[list[str]]

EXCHANGE = ["user", "assistant"]
LOOP = ["user", "assistant", "tool-call look", "tool-result look", "assistant"]


class Noting:
    """A processor that notes the kinds of each group's origins, and returns what it was shown."""

    def __init__(self) -> None:
        self.kinds: list[Kinds] = []
        self.runs: list[list[set[str | None]]] = []

    def __call__(self, ctx: Context) -> Sequence[BaseMessage]:
        origins = [group.origins for group in ctx.groups]
        self.kinds.append([[" ".join(filter(None, (one.kind, one.tool_name))) for one in group] for group in origins])
        self.runs.append([{one.run_id for one in group} for group in origins])
        return ctx.messages


def restored(state: ConversationState) -> ConversationState:
    """Return a conversation that goes on from another one's JSON."""
    return ConversationState.restore(ConversationCheckpoint.from_json(state.checkpoint().to_json()))


def asking(ours: LangChainAdapter, transport: Transport, *, is_agent: bool) -> Any:
    """Return a function that takes a turn."""
    if is_agent:
        subject = agent(transport, ours)
        return lambda prompt: subject.invoke({"messages": prompt})
    return ours.wrap(StreamingChat(transport=transport)).invoke


each_host = pytest.mark.parametrize("is_agent", [False, True], ids=["model", "agent"])


@each_host
def test_origins_go_on_from_turn_to_turn(is_agent: bool) -> None:
    """Each group is known by what its own turn made."""
    noting = Noting()
    ask = asking(adapter(noting), answering("done"), is_agent=is_agent)

    with history_scope(True):
        for prompt in ("one", "two", "three"):
            ask(prompt)

    assert noting.kinds == [[[]], [EXCHANGE, []], [EXCHANGE, EXCHANGE, []]]


def test_an_agents_tools_are_named_in_later_turns() -> None:
    """Calls and results of the loop, by tool."""
    noting = Noting()
    subject = agent(answering(calls("c1"), "done"), adapter(noting))

    with history_scope(True):
        subject.invoke(says("one"))
        subject.invoke(says("two"))

    assert noting.kinds[-1] == [LOOP, []]


def test_each_turn_of_a_model_has_a_run_of_its_own() -> None:
    """Both messages of a turn name the same run, and another one than the next turn's."""
    noting = Noting()
    ask = asking(adapter(noting), answering("done"), is_agent=False)

    with history_scope(True):
        for prompt in ("one", "two", "three"):
            ask(prompt)

    first, second, _ = noting.runs[-1]
    assert len(first) == len(second) == 1
    assert first.isdisjoint(second)


@each_host
def test_turns_in_which_the_condition_said_no_keep_their_origins(is_agent: bool) -> None:
    """The processor runs in the last turn alone."""
    noting, transport = Noting(), answering("done")
    ask = asking(adapter(noting, lambda state: len(transport.sent) == 2), transport, is_agent=is_agent)

    with history_scope(True):
        for prompt in ("one", "two", "three"):
            ask(prompt)

    assert noting.kinds == [[EXCHANGE, EXCHANGE, []]]


@each_host
def test_origins_are_found_again_after_a_restore_in_the_same_process(is_agent: bool) -> None:
    """They are no part of the JSON; the messages are other objects."""
    noting = Noting()
    transport = answering(calls("c1") if is_agent else "done", "done")
    ask = asking(adapter(noting), transport, is_agent=is_agent)

    with history_scope(True) as state:
        ask("one")
    later = restored(state)
    with history_scope(True, state=later):
        ask("two")

    assert noting.kinds[-1] == [LOOP if is_agent else EXCHANGE, []]
    assert "run_id" not in state.checkpoint().to_json()


@each_host
def test_origins_are_found_again_in_a_store_of_the_same_process(is_agent: bool) -> None:
    """Another object for the same conversation reads it back."""
    noting, store = Noting(), MemoryConversationStore()
    ask = asking(adapter(noting), answering("done"), is_agent=is_agent)

    for prompt in ("one", "two"):
        with history_scope(True, state=ConversationState("s", store)):
            ask(prompt)

    assert noting.kinds[-1] == [EXCHANGE, []]


@each_host
def test_another_adapter_knows_nothing_of_where_a_message_came_from(is_agent: bool) -> None:
    """As another process does; nothing is inferred from text."""
    noting = Noting()
    transport = answering("done")

    with history_scope(True) as state:
        asking(adapter(Noting()), transport, is_agent=is_agent)("one")
    with history_scope(True, state=restored(state)):
        asking(adapter(noting), transport, is_agent=is_agent)("two")

    assert noting.kinds == [[[], []]]


def test_equal_turns_are_ambiguous_after_a_restore() -> None:
    """Two equal prompts: the answers have ids, the prompts are not told apart."""
    noting = Noting()
    ask = asking(adapter(noting), answering("done"), is_agent=False)

    with history_scope(True) as state:
        ask("one")
        ask("one")
    with history_scope(True, state=restored(state)):
        ask("two")

    assert noting.kinds[1] == [EXCHANGE, []]
    assert noting.kinds[-1] == [["assistant"], ["assistant"], []]


def test_imported_history_and_summaries_have_no_origins() -> None:
    """Only what a run itself made is known."""
    noting = Noting()

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        noting(ctx)
        closed = [group for group in ctx.groups if group.closed]
        return ctx.replace_groups(closed, *ctx.summary_messages("summary")) if len(closed) > 1 else ctx.messages

    ask = asking(adapter(edit), answering("done"), is_agent=True)
    with history_scope(True):
        ask([*turns(1), ("user", "one")])
        ask("two")
        ask("three")

    assert noting.kinds == [[[], []], [[], EXCHANGE, []], [[], EXCHANGE, []]]


USAGE = UsageMetadata(input_tokens=100, output_tokens=1, total_tokens=101)


def used(text: str, tokens: int) -> AIMessage:
    """Return an answer with the provider's count."""
    return AIMessage(text, usage_metadata=UsageMetadata(input_tokens=tokens, output_tokens=1, total_tokens=tokens + 1))


class Measuring:
    """A processor that notes the measured tokens of each request."""

    def __init__(self) -> None:
        self.measured: list[int | None] = []

    def __call__(self, ctx: Context) -> Sequence[BaseMessage]:
        self.measured.append(ctx.measured_tokens)
        return ctx.messages


@pytest.mark.parametrize("is_restored", [False, True])
def test_what_was_measured_in_a_turn_holds_for_results_in_the_next(is_restored: bool) -> None:
    """The count of the last answer, and the results by estimate; the JSON carries it to another object."""
    measuring = Measuring()
    call = AIMessage("", tool_calls=[{"name": "look", "args": {}, "id": "c1"}], usage_metadata=USAGE)
    model = adapter(measuring, token_counter=lambda message: 7).wrap(StreamingChat(transport=answering(call, "done")))

    with history_scope(True) as state:
        model.bind_tools([look]).invoke("one")
    later = restored(state) if is_restored else state
    with history_scope(True, state=later):
        model.bind_tools([look]).invoke(results("c1"))
        model.bind_tools([look]).invoke("two")

    assert measuring.measured == [None, 101 + 7, None]


@each_host
def test_the_measurement_is_committed_with_its_turn(is_agent: bool) -> None:
    """A later turn's takes its place."""
    ask = asking(adapter(Measuring()), answering(used("done", 100), used("done", 200)), is_agent=is_agent)
    found: list[int] = []

    with history_scope(True) as state:
        for prompt in ("one", "two"):
            ask(prompt)
            found += [lane.usage.tokens for lane in state.checkpoint().head.lanes if lane.usage]

    assert found == [101, 201]


def test_an_answer_without_a_count_drops_the_measurement() -> None:
    """What was measured before says nothing about the history it is part of."""
    transport = answering(used("done", 100), "done")
    ask = asking(adapter(Measuring()), transport, is_agent=False)

    with history_scope(True) as state:
        ask("one")
        measured = [lane.usage is not None for lane in state.checkpoint().head.lanes]
        ask("two")

    assert measured == [True]
    assert [lane.usage for lane in state.checkpoint().head.lanes] == [None]


def test_a_model_that_streams_is_measured_too() -> None:
    """The count comes with the last chunk."""
    ask = adapter(Measuring()).wrap(StreamingChat(transport=answering(used("one two", 100))))

    with history_scope(True) as state:
        list(ask.stream("one"))

    assert [lane.usage.tokens for lane in state.checkpoint().head.lanes if lane.usage] == [101]


def test_a_chat_without_a_processor_is_not_measured() -> None:
    """Disabled work costs nothing."""
    with history_scope(True) as state:
        adapter().wrap(Chat(transport=answering(used("done", 100)))).invoke("one")

    assert [lane.usage for lane in state.checkpoint().head.lanes] == [None]
