"""What the README says of LangChain in sentences, measured on the host's public API.

Each test is one sentence: of the host's own ways, and of the limits of ours. A newer host that turns one red calls for
a correction of that sentence.
"""

from __future__ import annotations

import asyncio
import warnings
from threading import get_ident
from typing import Any, Final

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import (
    AgentMiddleware,
    ClearToolUsesEdit,
    ContextEditingMiddleware,
    SummarizationMiddleware,
)
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, trim_messages
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.prebuilt import create_react_agent

from chats import Chat, Context, Keeping, StreamingChat, Transport, adapter, asked, calls, keep, lines, results, turns
from emulator import ProviderEmulator
from kedi_compile import HistoryConfigurationError, HistoryProcessingWarning

EXCHANGE: Final[list[BaseMessage]] = [HumanMessage("question"), calls("c1"), *results("c1"), AIMessage("answer")]
SUMMARY: Final = "< Here is a summary of the conversation to date:\n\nSUMMARY"


@tool
def look() -> str:
    """Return what there is to see."""
    return "seen"


def thread() -> Any:
    """Return the address of a thread."""
    return {"configurable": {"thread_id": "t"}}


def summarizing(keep_last: int, at: int = 3) -> SummarizationMiddleware:
    """Summarize once there are `at` messages, and keep the last ones."""
    return SummarizationMiddleware(
        Chat(transport=Transport(["SUMMARY"])), trigger=("messages", at), keep=("messages", keep_last)
    )


def agent_of(model: Any, middleware: Any, *tools: Any, **options: Any) -> Any:
    """Return an agent with a thread in memory."""
    several = middleware if isinstance(middleware, list) else [middleware]
    return create_agent(model, list(tools), middleware=several, checkpointer=InMemorySaver(), **options)


def held(agent: Any) -> list[str]:
    """Return the lines of the durable history."""
    return lines(agent.get_state(thread()).values["messages"])


def test_an_edit_of_summarization_outlives_the_request_that_failed() -> None:
    """It is written by a node of its own, before the model is asked."""
    agent = agent_of(Chat(transport=Transport([ConnectionError()])), summarizing(1))

    with pytest.raises(ConnectionError):
        agent.invoke({"messages": asked(1)}, thread())

    assert held(agent) == [SUMMARY, "< now"]


def test_an_edit_of_the_middleware_does_not() -> None:
    """The thread is what it was without it."""
    agent = agent_of(Chat(transport=Transport([ConnectionError()])), adapter(keep(0)).middleware())

    with pytest.raises(ConnectionError):
        agent.invoke({"messages": asked(1)}, thread())

    assert held(agent) == ["< question 1", "> answer 1", "< now"]


def test_summarization_can_take_the_question_under_way() -> None:
    """In a loop of tool calls the newest messages are an exchange; the question goes into the summary."""
    transport = Transport([calls("c1"), "done"])
    agent = agent_of(Chat(transport=transport), summarizing(2), look)

    agent.invoke({"messages": [HumanMessage("now")]}, thread())

    assert transport.sent[1] == [SUMMARY, "> call c1", "< result c1"]


@pytest.mark.parametrize(
    ("middleware", "comes_back"), [(summarizing(3, at=5), True), (adapter(keep(1)).middleware(), False)]
)
def test_summarization_has_no_effect_on_the_wire_with_previous_response_ids(
    middleware: Any, *, comes_back: bool
) -> None:
    """A kept answer's id makes the server put the whole conversation before the question; with ours it does not."""
    with ProviderEmulator("Noted.", "Hello!", "Unknown.") as provider:
        model = ChatOpenAI(
            model="gpt-4.1-mini", api_key=lambda: "none", base_url=provider.openai_url, use_previous_response_id=True
        )
        agent = agent_of(model, middleware)
        for prompt in ("The word is saffron.", "Hello.", "Which word?"):
            agent.invoke({"messages": [HumanMessage(prompt)]}, thread())

        assert "saffron" not in repr(agent.get_state(thread()).values["messages"])
        assert ("saffron" in repr(provider.received[2].effective)) is comes_back
        assert ("previous_response_id" in provider.requests[2]) is comes_back


def test_context_editing_clears_old_results_for_the_request_alone() -> None:
    """What ours cannot do: shorten a tool result. The thread keeps it."""
    transport = Transport()
    edit = ClearToolUsesEdit(trigger=1, keep=0)
    agent = agent_of(Chat(transport=transport), ContextEditingMiddleware(edits=[edit]), look)

    agent.invoke({"messages": [*EXCHANGE, HumanMessage("now")]}, thread())

    assert [message.text for message in transport.requests[0] if message.type == "tool"] == ["[cleared]"]
    assert "seen" in repr(agent.get_state(thread()).values["messages"])


def test_trimming_by_count_can_cut_an_exchange() -> None:
    """Without `start_on` the list may begin with a result whose call is gone."""
    trimmed = trim_messages([*EXCHANGE, HumanMessage("now")], max_tokens=3, token_counter=len)

    assert lines(trimmed) == ["< result c1", "> answer", "< now"]


def test_trimming_that_starts_on_a_question_can_leave_nothing() -> None:
    """With `start_on` the list is well formed, but a loop longer than the limit loses its question, and all of it."""
    loop = [HumanMessage("now"), calls("c1"), *results("c1"), calls("c2"), *results("c2")]

    assert trim_messages(loop, max_tokens=3, token_counter=len, start_on="human") == []


def test_an_old_checkpoint_still_holds_what_was_removed() -> None:
    """An edit changes what the thread holds from now on; it erases nothing from the store."""
    agent = agent_of(Chat(transport=Transport()), adapter(keep(0)).middleware())
    agent.invoke({"messages": [HumanMessage("secret")]}, thread())
    agent.invoke({"messages": [HumanMessage("now")]}, thread())

    older = [repr(state.values.get("messages")) for state in agent.get_state_history(thread())]

    assert held(agent) == ["< now", "> done"]
    assert any("secret" in state for state in older)


def test_create_react_agent_edits_requests_with_a_wrapped_model_but_not_the_thread() -> None:
    """It is the same in any graph that calls a wrapped model by itself, and a warning says so."""
    transport = Transport()
    model = adapter(keep(0)).wrap(Chat(transport=transport))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # the host's own: `create_agent` is newer
        agent = create_react_agent(model, [look], checkpointer=InMemorySaver())

    with pytest.warns(HistoryProcessingWarning, match="not its durable history"):
        agent.invoke({"messages": asked(1)}, thread())

    assert transport.sent == [["< now"]]
    assert held(agent) == ["< question 1", "> answer 1", "< now", "> done"]


def test_each_request_of_a_wrapped_model_is_a_run_of_its_own() -> None:
    """It has no thread to remember anything in: the index is 1, no edit has been accepted, nothing was measured."""
    seen: list[tuple[int, int, int | None]] = []

    def processor(ctx: Context) -> list[BaseMessage]:
        seen.append((ctx.request_index, ctx.cache_epoch, ctx.measured_tokens))
        return ctx.keep_recent_groups(0)

    model = adapter(processor).wrap(Chat(transport=Transport()))
    model.invoke(asked(1))
    model.invoke(asked(2))

    assert seen == [(1, 0, None), (1, 0, None)]


def test_a_system_message_in_a_list_is_a_group_of_its_own() -> None:
    """It is kept, and protects no question."""
    transport = Transport()

    adapter(keep(0)).wrap(Chat(transport=transport)).invoke([SystemMessage("Be brief."), *asked(1)])

    assert transport.sent == [["< system Be brief.", "< now"]]


@pytest.mark.parametrize(("tags", "leaks"), [([], True), (["nostream"], False)])
async def test_a_model_asked_by_a_processor_streams_into_the_graph_unless_tagged(
    tags: list[str], *, leaks: bool
) -> None:
    """A processor runs in the graph's context, so the host sees its model's tokens as the graph's."""
    small = StreamingChat(transport=Transport(["SUMMARY"])).with_config(tags=tags)

    async def processor(ctx: Context) -> list[BaseMessage]:
        await small.ainvoke("Sum up.")
        return list(ctx.messages)

    agent = agent_of(StreamingChat(transport=Transport(["done"])), adapter(processor).middleware())

    streamed = [
        chunk.text async for chunk, _ in agent.astream({"messages": asked(0)}, thread(), stream_mode="messages")
    ]

    assert ("SUMMARY" in "".join(streamed)) is leaks


def test_a_streamed_request_is_not_retried() -> None:
    """The host's `with_retry` leaves streams alone."""
    processor, transport = Keeping(), Transport([ConnectionError(), "done"])
    model = adapter(processor).wrap(StreamingChat(transport=transport)).with_retry(stop_after_attempt=2)

    with pytest.raises(ConnectionError):
        list(model.stream(asked()))

    assert (processor.count, len(transport.sent)) == (1, 1)


def test_a_streamed_request_falls_back_with_the_edit_of_its_first_attempt() -> None:
    """The processor runs once, and both models are sent the same."""
    processor, broken, whole = Keeping(), Transport([ConnectionError()]), Transport()
    model = adapter(processor).wrap(StreamingChat(transport=broken))

    list(model.with_fallbacks([StreamingChat(transport=whole)]).stream(asked()))

    assert processor.count == 1
    assert broken.sent == whole.sent == [["< question 3", "> answer 3", "< now"]]


class Behind(AgentMiddleware[Any, Any]):
    """Sends the last message alone."""

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return handler(request.override(messages=request.messages[-1:]))


def test_a_middleware_behind_ours_is_not_seen() -> None:
    """It sends what nobody proved, so ours is put last: there it sees what the other has made."""
    transport, processor = Transport(), Keeping(1)
    ours = adapter(processor).middleware()

    agent_of(Chat(transport=transport), [ours, Behind()]).invoke({"messages": asked(3)}, thread())
    agent_of(Chat(transport=transport), [Behind(), ours]).invoke({"messages": asked(3)}, thread())

    assert transport.sent == [["< now"], ["< now"]]
    assert [len(shown) for shown in processor.shown] == [7, 1]


def test_a_wrapped_model_is_refused_under_the_middleware() -> None:
    """Two edits of one request would follow each other."""
    editing = adapter(keep(0))
    agent = agent_of(editing.wrap(Chat(transport=Transport())), editing.middleware())

    with pytest.raises(HistoryConfigurationError, match="wrapped already"):
        agent.invoke({"messages": asked(1)}, thread())


def test_appending_to_the_callers_own_list_keeps_what_was_removed() -> None:
    """A wrapped model leaves the list alone, so its processor sees the whole of it each time."""
    processor, transport = Keeping(0), Transport()
    model = adapter(processor).wrap(Chat(transport=transport))
    history = asked(1)

    history += [model.invoke(history), HumanMessage("more")]
    model.invoke(history)

    assert transport.sent == [["< now"], ["< more"]]
    assert processor.shown[1] == ["< question 1", "> answer 1", "< now", "> done", "< more"]
    assert lines(turns(1)) == processor.shown[1][:2]


def test_an_epoch_counts_the_edits_of_the_thread_and_an_index_the_requests_of_a_run() -> None:
    """The middleware remembers the one between runs, and begins the other anew."""
    seen: list[tuple[int, int]] = []

    def processor(ctx: Context) -> list[BaseMessage]:
        seen.append((ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(0)

    agent = agent_of(Chat(transport=Transport([calls("c1"), "done"])), adapter(processor).middleware(), look)
    agent.invoke({"messages": asked(1)}, thread())
    agent.invoke({"messages": [HumanMessage("more")]}, thread())

    assert seen == [(1, 0), (2, 1), (1, 1)]


def test_an_old_conversation_is_left_out_for_the_rest_of_the_thread() -> None:
    """A later run whose processor changes nothing does not name it either."""
    transport = Transport()
    once = adapter(lambda ctx: ctx.keep_recent_groups(0, over=1))
    agent = agent_of(Named(transport=transport), once.middleware())
    for prompts in (asked(0), asked(2), asked(0)):
        agent.invoke({"messages": prompts}, thread())

    assert [kwargs.get("conversation") for kwargs in transport.kwargs] == ["conv_1", None, None]


class Named(Chat):
    """A model whose own arguments name a conversation."""

    model_kwargs: dict[str, Any] = {"conversation": "conv_1"}  # noqa: RUF012  # a field: each model has its own

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        return super()._generate(messages, stop, run_manager, **self.model_kwargs, **kwargs)


def test_a_system_prompt_of_an_agent_is_not_part_of_its_history() -> None:
    """It goes out with every request, and no group holds it."""
    transport, processor = Transport(), Keeping(0)
    agent = agent_of(Chat(transport=transport), adapter(processor).middleware(), system_prompt="Be brief.")

    agent.invoke({"messages": asked(1)}, thread())

    assert processor.shown == [["< question 1", "> answer 1", "< now"]]
    assert transport.sent == [["< system Be brief.", "< now"]]


def test_what_context_editing_clears_stays_whole_in_the_thread_that_ours_edits() -> None:
    """It stands in front of the middleware and changes the request alone; the edit makes none of it durable."""
    transport = Transport()
    cleared = ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=0)])
    agent = agent_of(Chat(transport=transport), [cleared, adapter(keep(1)).middleware()], look)

    agent.invoke({"messages": [*turns(1), *EXCHANGE, HumanMessage("now")]}, thread())

    kept = agent.get_state(thread()).values["messages"]
    assert [message.text for message in transport.requests[0] if message.type == "tool"] == ["[cleared]"]
    assert [message.text for message in kept if message.type == "tool"] == ["seen"]
    assert held(agent) == ["< question", "> call c1", "< result c1", "> answer", "< now", "> done"]


def test_a_model_that_a_function_hides_is_not_seen_in_a_chain_with_another_one() -> None:
    """A function is a step like any other; alone it is refused."""
    inner, outer = Transport(), Transport()
    hidden = RunnableLambda(Chat(transport=inner).invoke)
    chain = adapter(keep(0)).wrap(hidden | (lambda _: asked(1)) | Chat(transport=outer))

    chain.invoke(asked(1))

    assert (inner.sent, outer.sent) == ([["< question 1", "> answer 1", "< now"]], [["< now"]])
    with pytest.raises(HistoryConfigurationError, match="RunnableLambda cannot be looked into"):
        adapter(keep(0)).wrap(hidden)


def test_a_synchronous_processor_runs_in_the_callers_thread_on_synchronous_paths() -> None:
    """On asynchronous ones it runs in a worker thread."""
    threads: list[int] = []

    def processor(ctx: Context) -> list[BaseMessage]:
        threads.append(get_ident())
        return list(ctx.messages)

    model = adapter(processor).wrap(Chat(transport=Transport()))
    model.invoke(asked())
    asyncio.run(model.ainvoke(asked()))

    assert [one == get_ident() for one in threads] == [True, False]
