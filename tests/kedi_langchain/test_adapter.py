"""The adapter itself: its options, what callbacks are shown and may return, warnings and errors on a wrapped model."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from functools import reduce
from operator import add
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.runnables import Runnable, RunnableLambda
from langgraph.graph import MessagesState, StateGraph

from chats import (
    Chat,
    Context,
    Keeping,
    StreamingChat,
    Transport,
    adapter,
    asked,
    calls,
    keep,
    lines,
    noting,
    results,
    turns,
    untouched,
)
from kedi_compile import (
    HistoryConfigurationError,
    HistoryOrigin,
    HistoryPrefixWarning,
    HistoryProcessingError,
    HistoryProcessingValidationError,
    HistoryProcessingWarning,
    HistoryProcessorState,
    HistoryProtectedWarning,
)
from kedi_langchain import LangChainAdapter

EDITED = ["< question 3", "> answer 3", "< now"]
WHOLE = ["< question 1", "> answer 1", "< question 2", "> answer 2", *EDITED]
THOUGHT = AIMessage([{"type": "thinking", "thinking": "hm", "signature": "c2ln"}, {"type": "text", "text": "yes"}])


def sent(ours: LangChainAdapter, messages: list[BaseMessage] | None = None) -> list[str]:
    """Return what a wrapped model sends."""
    transport = Transport()
    ours.wrap(Chat(transport=transport)).invoke(asked() if messages is None else messages)
    return transport.sent[0]


def test_without_a_processor_a_wrapped_model_sends_what_it_is_given() -> None:
    """It is wrapped all the same, because a scope may name a processor or a conversation later."""
    ours = LangChainAdapter()

    assert sent(ours) == WHOLE
    assert not ours.is_active


def test_without_a_processor_what_cannot_be_looked_into_is_refused_too() -> None:
    """Its requests would go around any scope."""
    with pytest.raises(HistoryConfigurationError, match="cannot be looked into"):
        LangChainAdapter().wrap(RunnableLambda(lambda value: value))


def test_a_model_is_wrapped_once_also_without_a_processor() -> None:
    """Two adapters on one model would be two conversations in a scope."""
    model = Chat(transport=Transport())

    with pytest.raises(HistoryConfigurationError, match="wrapped already"):
        adapter(keep(1)).wrap(adapter().wrap(model))


def test_a_processor_warns_about_the_cached_prefix_where_it_is_given() -> None:
    """The warning points at the caller's own line; without a processor there is none."""
    with pytest.warns(HistoryPrefixWarning, match="prefix cache") as caught:
        LangChainAdapter(keep(1))

    assert [warning.filename for warning in caught] == [__file__]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"history_processor_condition": bool}, "without a `history_processor`"),
        ({"history_processor": "keep"}, "`history_processor` is 'keep'"),
        (
            {"history_processor": untouched, "history_processor_condition": True},
            "`history_processor_condition` is True",
        ),
        ({"history_processor": untouched, "token_counter": 1}, "`token_counter` is 1"),
        ({"history_processor": untouched, "reasoning_protection": "never"}, "`reasoning_protection` is 'never'"),
        ({"history_processor": untouched, "bound_reasoning": "drop"}, "`bound_reasoning` is 'drop'"),
    ],
    ids=["condition alone", "processor", "condition", "counter", "protection", "binding"],
)
def test_an_option_that_can_never_work_is_refused_at_construction(options: dict[str, Any], message: str) -> None:
    """The error names the option and what was given."""
    with pytest.raises(HistoryConfigurationError, match=message):
        LangChainAdapter(**options)


def test_it_declares_history_processing() -> None:
    """Hosts ask by the specification's name."""
    assert LangChainAdapter.capabilities == {"history_processing"}


def test_a_callback_is_shown_the_request() -> None:
    """Names, numbers and detached native messages, and groups that partition them."""
    seen: list[Any] = []
    given = asked(2)

    def note(ctx: Context) -> Sequence[BaseMessage]:
        seen.append((ctx.adapter_shortname, ctx.model_id, ctx.request_index, ctx.cache_epoch))
        seen.append([(group.entry_start, group.entry_end, group.closed) for group in ctx.groups])
        seen.append([message is mine for message, mine in zip(ctx.messages, given, strict=True)])
        return ctx.messages

    adapter(note).wrap(Chat(transport=Transport())).invoke(given)

    assert seen == [
        ("langchain", "scripted:scripted", 1, 0),
        [(0, 2, True), (2, 4, True), (4, 5, False)],
        [False] * 5,
    ]


def test_each_call_is_a_run_of_its_own() -> None:
    """A wrapped model keeps nothing between calls: requests count from one, generations from zero."""
    seen: list[tuple[int, int]] = []

    def note(ctx: Context) -> Sequence[BaseMessage]:
        seen.append((ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(1)

    model = adapter(note).wrap(Chat(transport=Transport()))
    model.invoke(asked())
    model.invoke(asked())

    assert seen == [(1, 0), (1, 0)]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize(("answer", "expected"), [(True, EDITED), (False, WHOLE)])
def test_the_condition_decides(answer: bool, expected: list[str], is_async: bool) -> None:
    """It is asked before each request, and sees facts only."""
    seen: list[tuple[str, int]] = []
    processor = Keeping(1)

    def decide(state: HistoryProcessorState) -> bool:
        seen.append((state.model_id, state.request_index))
        return answer

    async def adecide(state: HistoryProcessorState) -> bool:
        return decide(state)

    assert sent(adapter(processor, adecide if is_async else decide)) == expected
    assert processor.count == int(answer)
    assert seen == [("scripted:scripted", 1)]


@pytest.mark.parametrize("answer", [None, 1, "yes"])
def test_a_condition_that_says_neither_is_refused(answer: Any) -> None:
    """Only True and False count."""
    with pytest.raises(HistoryProcessingError, match="history_processor_condition"):
        sent(adapter(keep(1), lambda state: answer))


def test_a_condition_that_raises_stops_the_request() -> None:
    """Its error is wrapped as a processor's is."""

    def fail(state: HistoryProcessorState) -> bool:
        raise LookupError("gone")

    with pytest.raises(
        HistoryProcessingError, match="`history_processor_condition` raised LookupError: gone"
    ) as caught:
        sent(adapter(keep(1), fail))

    assert isinstance(caught.value.__cause__, LookupError)


def test_groups_may_be_replaced_by_a_summary() -> None:
    """The native form of a summary stands alone."""

    def summarize(ctx: Context) -> list[BaseMessage]:
        return ctx.replace_groups(ctx.groups[:2], *ctx.summary_messages("earlier talk"))

    assert sent(adapter(summarize)) == ["< earlier talk", "> Noted.", *EDITED]


def test_nothing_is_dropped_until_there_are_more_than_over() -> None:
    """`over` keeps a cached prefix alive between trims."""
    ours = adapter(lambda ctx: ctx.keep_recent_groups(1, over=3))

    assert sent(ours, asked(3)) == WHOLE
    assert sent(ours, asked(4)) == ["< question 4", "> answer 4", "< now"]


def _scribbled(ctx: Context) -> list[BaseMessage]:
    ctx.messages[0].content = "other"
    return list(ctx.messages)


RULES: dict[str, Callable[[Context], Any]] = {
    "empty_result": lambda ctx: [],
    "not_native": lambda ctx: [*ctx.messages, RemoveMessage(id="x")],
    "split_group": lambda ctx: list(ctx.messages)[1:],
    "duplicated_entry": lambda ctx: [*list(ctx.messages)[:2], *ctx.messages],
    "altered_entry": _scribbled,
    "current_request_altered": lambda ctx: [*list(ctx.messages)[:-1], HumanMessage("other")],
    "system_altered": lambda ctx: [SystemMessage("be bold"), *ctx.messages],
    "turn_order": lambda ctx: [ToolMessage("seen", tool_call_id="c1"), *ctx.messages],
    "fabricated_record": lambda ctx: [HumanMessage("new", id="mine"), AIMessage("ok"), *ctx.messages],
    "blank_text": lambda ctx: [HumanMessage(" "), AIMessage("ok"), *ctx.messages],
    "unencodable_text": lambda ctx: [HumanMessage("\ud800"), AIMessage("ok"), *ctx.messages],
}


@pytest.mark.parametrize(("rule", "edit"), RULES.items(), ids=RULES)
def test_an_edit_that_breaks_a_rule_is_refused_by_name(rule: str, edit: Callable[[Context], Any]) -> None:
    """The same words as on every host."""
    with pytest.raises(HistoryProcessingValidationError) as caught:
        sent(adapter(edit))

    assert rule in {violation.rule for violation in caught.value.violations}


def test_a_tool_exchange_goes_as_a_whole() -> None:
    """Calls and results are one group with the question they answer."""
    loop = [HumanMessage("look"), calls("c1", "c2"), *results("c1", "c2"), AIMessage("seen both")]

    assert sent(adapter(keep(1)), [*loop, *asked(1)]) == ["< question 1", "> answer 1", "< now"]
    assert sent(adapter(keep(2)), [*loop, *asked(1)])[:4] == ["< look", "> call c1 | call c2", *_RESULTS]


_RESULTS = ["< result c1", "< result c2"]


def test_the_running_tool_loop_is_the_current_request() -> None:
    """It stays whole however little is kept."""
    loop = [*asked(2), calls("c1"), *results("c1")]

    assert sent(adapter(keep(0)), loop) == ["< now", "> call c1", "< result c1"]


def test_system_messages_stay() -> None:
    """System text is protected, with the rest dropped behind it."""
    assert sent(adapter(keep(0)), [SystemMessage("be brief"), *asked()]) == ["< system be brief", "< now"]


def test_signed_reasoning_stays_and_the_caller_hears_of_it() -> None:
    """A processor that could free nothing warns and names the way out; with the option whole groups may go."""
    history = [HumanMessage("think"), THOUGHT, HumanMessage("now")]

    with pytest.warns(HistoryProtectedWarning, match="reasoning_protection='open_cycle'"):
        assert sent(adapter(keep(0)), history) == ["< think", "> yes", "< now"]
    assert sent(adapter(keep(0), reasoning_protection="open_cycle"), history) == ["< now"]


@pytest.mark.parametrize("policy", ["refuse", None])
def test_bound_reasoning_behind_an_edit_is_refused_where_the_model_binds_it(policy: Any) -> None:
    """An explicit policy holds for any model, none for those known to bind."""
    history = [*asked(2), THOUGHT, *asked(0)]
    ours = adapter(lambda ctx: list(ctx.messages)[2:], bound_reasoning=policy)
    name = "scripted" if policy else "claude-opus-5-5"
    transport = Transport()

    with pytest.raises(HistoryProcessingValidationError, match="bound to the messages before it"):
        ours.wrap(Chat(transport=transport, model_name=name)).invoke(history)
    assert transport.sent == []


def test_bound_reasoning_may_be_left_out_instead() -> None:
    """The kept answer goes without its thinking; the caller's message has it still."""
    transport = Transport()
    history = [*asked(2), THOUGHT, *asked(0)]

    edit = adapter(lambda ctx: list(ctx.messages)[2:], bound_reasoning="strip")
    edit.wrap(Chat(transport=transport)).invoke(history)

    assert transport.requests[0][3].content == [{"type": "text", "text": "yes"}]
    assert isinstance(THOUGHT.content, list)
    assert len(THOUGHT.content) == 2


def test_a_token_counter_replaces_the_estimate() -> None:
    """It counts one message at a time."""
    seen: list[int] = []

    sent(adapter(noting(seen, lambda ctx: ctx.estimated_tokens), token_counter=lambda message: 10))

    assert seen == [70]


def _origins(ctx: Context) -> list[set[str]]:
    return [{origin.kind for origin in group.origins} for group in ctx.groups]


MADE = {"user", "assistant", "tool-call", "tool-result"}


@pytest.mark.parametrize(
    ("way", "known"),
    [
        *[("invoke", MADE), ("ainvoke", MADE)],
        *[("stream", {"user", "tool-result"}), ("astream", {"user", "tool-result"})],
    ],
)
def test_origins_survive_into_the_next_request(way: str, known: set[str]) -> None:
    """What a run made is known by its objects; a streamed answer is put together by the caller, so it is not."""
    seen: list[list[set[str]]] = []
    model = adapter(noting(seen, _origins)).wrap(StreamingChat(transport=Transport([calls("c1"), "done"])))
    history = asked(1)

    history += [_answered(way, model, history), *results("c1")]
    history += [_answered(way, model, history), HumanMessage("and now")]
    _answered(way, model, history)

    assert seen[-1] == [set(), known, set()]


def test_an_origin_names_the_run() -> None:
    """The host's run id of the request is on what it made."""
    seen: list[tuple[HistoryOrigin, ...]] = []
    model = adapter(noting(seen, lambda ctx: ctx.groups[0].origins)).wrap(Chat(transport=Transport(["done"])))

    history = asked(0)
    reply = model.invoke(history)
    model.invoke([*history, reply, HumanMessage("and now")])

    run_id = str(reply.id).removeprefix("lc_run--").removesuffix("-0")
    assert seen[-1] == (HistoryOrigin("user", run_id), HistoryOrigin("assistant", run_id))


def test_a_wrapped_model_in_a_graph_warns_once_that_the_thread_is_not_edited() -> None:
    """The warning names the two ways that keep an edit, and what silences it."""
    transport = Transport()
    model = adapter(keep(1)).wrap(Chat(transport=transport))
    graph = StateGraph(MessagesState)
    graph.add_node("model", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.set_entry_point("model")
    app: Runnable[Any, Any] = graph.compile()

    with pytest.warns(HistoryProcessingWarning, match=r"\.middleware\(\).*\.model_node\(\).*category=") as caught:
        left = app.invoke({"messages": asked()})
    app.invoke({"messages": asked()})

    assert len(caught) == 1
    assert transport.sent == [EDITED, EDITED]
    assert lines(left["messages"]) == [*WHOLE, "> done"]


def test_one_adapter_serves_many_models() -> None:
    """Each wrapped model sends to its own transport."""
    one, two = Transport(), Transport()
    ours = adapter(keep(1))
    first, second = ours.wrap(Chat(transport=one)), ours.wrap(StreamingChat(transport=two))

    first.invoke(asked())
    second.invoke([*turns(1), *asked()])

    assert (one.sent, two.sent) == ([EDITED], [EDITED])


def _answered(way: str, model: Any, messages: list[BaseMessage]) -> Any:
    if way == "invoke":
        return model.invoke(messages)
    if way == "ainvoke":
        return asyncio.run(model.ainvoke(messages))
    if way == "stream":
        return reduce(add, model.stream(messages))
    return reduce(add, asyncio.run(_drained(model, messages)))


async def _drained(model: Any, messages: list[BaseMessage]) -> list[Any]:
    return [chunk async for chunk in model.astream(messages)]
