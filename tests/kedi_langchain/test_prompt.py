"""`user_prompt_submit`: what it returns is sent, traced, counted and stored, and it is asked once for each prompt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents.middleware import ModelFallbackMiddleware, ModelRetryMiddleware
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from chats import Chat, Context, StreamingChat, Transport, adapter, calls, keep, lines, results, turns
from kedi_compile import HistoryProcessingError
from kedi_compile.conversation import history_scope
from threads import THREAD, agent, answering, asks, says

OVERLOADED = LookupError("overloaded")


class Hook:
    """A prompt hook that marks prompts and remembers what it was asked about."""

    def __init__(self) -> None:
        self.asked: list[Any] = []

    def __call__(self, prompt: Any) -> Any:
        self.asked.append(prompt)
        return f"{prompt}!" if isinstance(prompt, str) else [*prompt, {"type": "text", "text": "!"}]

    async def awaited(self, prompt: Any) -> Any:
        """Do the same, asynchronously."""
        return self(prompt)


@pytest.fixture(params=["sync", "async"])
def hook(request: pytest.FixtureRequest) -> tuple[Hook, Any]:
    """Give a hook, and the function to configure: the hook itself, or its asynchronous form."""
    own = Hook()
    return own, own if request.param == "sync" else own.awaited


def wrapped(transport: Transport, **options: Any) -> Any:
    """Return a wrapped model."""
    return adapter(**options).wrap(StreamingChat(transport=transport))


SENDS: dict[str, Callable[[Any, Any], object]] = {
    "invoke": lambda model, given: model.invoke(given),
    "ainvoke": lambda model, given: asyncio.run(model.ainvoke(given)),
    "stream": lambda model, given: list(model.stream(given)),
    "astream": lambda model, given: asyncio.run(_drained(model.astream(given))),
    "batch": lambda model, given: model.batch([given]),
}


async def _drained(stream: Any) -> list[Any]:
    return [item async for item in stream]


@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
def test_the_edited_prompt_of_a_model_is_sent_and_stored(send: Any, hook: tuple[Hook, Any]) -> None:
    """The next turn sees it; the caller's own message is left alone."""
    own, function = hook
    transport, given = answering("done"), HumanMessage("two")
    model = wrapped(transport, user_prompt_submit=function)

    with history_scope(True):
        send(model, "one")
        send(model, [given])

    assert transport.sent == [["< one!"], ["< one!", "> done", "< two!"]]
    assert own.asked == ["one", "two"]
    assert given.content == "two"


@pytest.mark.parametrize("is_async", [False, True])
def test_the_edited_prompt_of_an_agent_is_sent_stored_and_returned(is_async: bool, hook: tuple[Hook, Any]) -> None:
    """It is asked about once for a run, and not in its tool loop."""
    own, function = hook
    transport = answering(calls("c1"), "done", "over")
    subject = agent(transport, adapter(user_prompt_submit=function))

    with history_scope(True):
        returned = asyncio.run(subject.ainvoke(says("one"))) if is_async else subject.invoke(says("one"))
        subject.invoke(says("two"))

    loop = ["< one!", "> call c1", "< result c1", "> done"]
    assert lines(returned["messages"]) == loop
    assert transport.sent == [loop[:1], loop[:3], [*loop, "< two!"]]
    assert own.asked == ["one", "two"]


def test_a_prompt_of_blocks_comes_as_blocks() -> None:
    """And goes as blocks, whatever is in them."""
    hook, transport = Hook(), answering("done")
    picture = {"type": "image_url", "image_url": {"url": "http://a/b.png"}}

    wrapped(transport, user_prompt_submit=hook).invoke([HumanMessage([picture])])

    assert transport.requests[0][0].content == [picture, {"type": "text", "text": "!"}]
    assert hook.asked == [[picture]]


@pytest.mark.parametrize("returned", [None, 3, b"x", ["x"], {"type": "text"}, HumanMessage("x")], ids=str)
def test_another_kind_of_prompt_is_refused_before_anything_is_sent(returned: Any) -> None:
    """Text for text; the turn commits nothing, and the next call is served."""
    transport = answering("done")
    answers = iter([returned, "two", returned])
    ours = adapter(user_prompt_submit=lambda prompt: next(answers))
    model = ours.wrap(Chat(transport=transport))

    with history_scope(True) as state:
        with pytest.raises(HistoryProcessingError, match="must return str"):
            model.invoke("one")
        model.invoke("two")
        with pytest.raises(HistoryProcessingError, match="must return str"):
            agent(transport, ours, tools=[], model=Chat(transport=transport)).invoke(says("three"))

    assert transport.sent == [["< two"]]
    assert state.turns == 1


def test_text_for_blocks_is_refused() -> None:
    """A sequence for a sequence."""
    with pytest.raises(HistoryProcessingError, match="must return list"):
        wrapped(answering("done"), user_prompt_submit=lambda prompt: "x").invoke([HumanMessage([{"type": "text"}])])


@pytest.mark.parametrize("is_async", [False, True])
def test_a_hook_that_raises_stops_the_turn(is_async: bool) -> None:
    """With its own error as the cause; nothing is sent."""
    transport = answering("done")

    def refuse(prompt: Any) -> Any:
        raise LookupError("not allowed")

    async def arefuse(prompt: Any) -> Any:
        refuse(prompt)

    model = wrapped(transport, user_prompt_submit=arefuse if is_async else refuse)
    with history_scope(True) as state, pytest.raises(HistoryProcessingError, match="not allowed") as caught:
        model.invoke("one")

    assert isinstance(caught.value.__cause__, LookupError)
    assert transport.sent == []
    assert state.turns == 0


@pytest.mark.parametrize(
    "newest",
    [AIMessage("so far"), results("c1")[0]],
    ids=["answer", "result"],
)
def test_only_a_users_newest_message_is_a_prompt(newest: BaseMessage) -> None:
    """A result, or an answer that is to go on, is none; nor is an earlier message of the user's."""
    hook, transport = Hook(), answering("done")
    given = [HumanMessage("one"), calls("c1"), newest]

    wrapped(transport, user_prompt_submit=hook).invoke(given)

    assert hook.asked == []
    assert transport.requests[0] == given


def test_earlier_messages_of_the_user_are_left_alone() -> None:
    """Only the newest enters with this call."""
    hook, transport = Hook(), answering("done")

    wrapped(transport, user_prompt_submit=hook).invoke([*turns(1), HumanMessage("now")])

    assert transport.sent == [["< question 1", "> answer 1", "< now!"]]


class Tracing(BaseCallbackHandler):
    """A handler that notes what each request is traced with."""

    def __init__(self) -> None:
        self.started: list[list[str]] = []

    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        self.started += map(lines, messages)


@pytest.mark.parametrize("is_agent", [False, True])
def test_the_edited_prompt_is_traced_and_counted(is_agent: bool) -> None:
    """Tracing and budget see what is sent, and nothing else of it."""
    tracing, transport = Tracing(), answering("done")
    counted: list[str] = []

    def count(message: BaseMessage) -> int:
        counted.append(message.text)
        return 1

    def estimate(ctx: Context) -> Any:
        assert ctx.estimated_tokens
        return ctx.messages

    ours = adapter(estimate, user_prompt_submit=Hook(), token_counter=count)
    config: Any = {"callbacks": [tracing]}
    with history_scope(True):
        if is_agent:
            agent(transport, ours).invoke(says("one"), config)
        else:
            ours.wrap(Chat(transport=transport)).invoke("one", config)

    assert tracing.started == [["< one!"]]
    assert set(counted) == {"one!"}


def test_the_processor_sees_the_edited_prompt() -> None:
    """The hook comes first, so the edit is made of what is sent."""
    shown: list[list[str]] = []

    def edit(ctx: Context) -> Any:
        shown.append(lines(ctx.messages))
        return ctx.keep_recent_groups(0)

    transport = answering("done")
    adapter(edit, user_prompt_submit=Hook()).wrap(Chat(transport=transport)).invoke([*turns(1), HumanMessage("now")])

    assert shown == [["< question 1", "> answer 1", "< now!"]]
    assert transport.sent == [["< now!"]]


def test_a_disabled_scope_and_none_at_all_ask_the_hook_too() -> None:
    """It is about the prompt, not about the conversation."""
    hook, transport = Hook(), answering("done")
    model = wrapped(transport, user_prompt_submit=hook)

    model.invoke("one")
    with history_scope(True), history_scope(enabled=False):
        model.invoke("two")

    assert transport.sent == [["< one!"], ["< two!"]]


RETRIES: dict[str, Any] = {
    "retry outside": {"outside": [ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)]},
    "retry inside": {"inside": [ModelRetryMiddleware(max_retries=1, initial_delay=0, jitter=False)]},
}


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("others", RETRIES.values(), ids=RETRIES)
def test_a_retry_in_an_agent_does_not_ask_again(others: Any, is_async: bool) -> None:
    """All attempts at one step send the prompt that was returned first."""
    hook, transport = Hook(), answering("done", OVERLOADED, "again")
    subject = agent(transport, adapter(keep(0), user_prompt_submit=hook), **others)

    with history_scope(True):
        subject.invoke(says("one"))
        _ = asyncio.run(subject.ainvoke(says("two"))) if is_async else subject.invoke(says("two"))

    assert transport.sent == [["< one!"], ["< two!"], ["< two!"]]
    assert hook.asked == ["one", "two"]


def test_a_fallback_in_an_agent_does_not_ask_again() -> None:
    """The spare model gets the same prompt."""
    hook, spare = Hook(), answering("spare")
    fallback = ModelFallbackMiddleware(Chat(transport=spare))
    subject = agent(answering(OVERLOADED), adapter(user_prompt_submit=hook), outside=[fallback])

    with history_scope(True):
        subject.invoke(says("one"))

    assert spare.sent == [["< one!"]]
    assert hook.asked == ["one"]


@pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)
def test_a_retry_or_fallback_of_a_model_does_not_ask_again(send: Any) -> None:
    """Later attempts take over what the first one was given."""
    hook, broken, working = Hook(), answering(OVERLOADED, OVERLOADED), answering("done")
    ours = adapter(user_prompt_submit=hook)
    retried = StreamingChat(transport=broken).with_retry(stop_after_attempt=2, wait_exponential_jitter=False)
    model = ours.wrap(retried.with_fallbacks([StreamingChat(transport=working)]))

    with history_scope(True):
        send(model, "one")
        send(model, "two")

    assert working.sent == [["< one!"], ["< one!", "> done", "< two!"]]
    assert {tuple(sent[-1:]) for sent in broken.sent} == {("< one!",), ("< two!",)}
    assert hook.asked == ["one", "two"]


def test_equal_prompts_of_one_batch_are_asked_about_each() -> None:
    """Two prompts are two prompts, whatever they say."""
    hook = Hook()

    wrapped(answering("done"), user_prompt_submit=hook).batch(["one", "one"])

    assert hook.asked == ["one", "one"]


def test_a_failed_run_leaves_the_threads_prompt_and_a_resume_asks_again() -> None:
    """With a checkpointer, outside of a scope: the thread holds what was written, and then what was sent."""
    hook, transport = Hook(), answering(OVERLOADED, "done")
    subject = agent(transport, adapter(user_prompt_submit=hook), InMemorySaver())

    with pytest.raises(LookupError):
        subject.invoke(says("one"), THREAD)
    failed = subject.get_state(THREAD).values["messages"]
    resumed = subject.invoke(None, THREAD)["messages"]

    assert lines(failed) == ["< one"]
    assert lines(resumed) == ["< one!", "> done"]
    assert resumed[0].id == "one"
    assert hook.asked == ["one", "one"]


def test_a_thread_keeps_an_edited_prompt_together_with_an_edit_of_its_history() -> None:
    """Both land in one write with the answer; the prompt keeps its id."""
    transport = answering("done")
    subject = agent(transport, adapter(keep(1), user_prompt_submit=Hook()), InMemorySaver())

    subject.invoke(asks("now"), THREAD)

    left = subject.get_state(THREAD).values["messages"]
    assert lines(left) == ["< question 3", "> answer 3", "< now!", "> done"]
    assert left[2].id == "now"


def test_a_hook_that_asks_the_adapters_own_model_is_refused() -> None:
    """It would be asked about its own prompt, and so on."""
    transport = answering("done")
    models: list[Any] = []
    models.append(wrapped(transport, user_prompt_submit=lambda prompt: models[0].invoke(prompt).text))

    with history_scope(True), pytest.raises(HistoryProcessingError, match="called the adapter it belongs to"):
        models[0].invoke("one")

    assert transport.sent == []


def test_a_hook_may_ask_a_model_of_another_adapter() -> None:
    """Inside the turn it runs without the conversation."""
    transport, helper = answering("done"), answering("better")
    helping = wrapped(helper)
    model = wrapped(transport, user_prompt_submit=lambda prompt: helping.invoke(prompt).text)

    with history_scope(True) as state:
        model.invoke("one")
        model.invoke("two")

    assert helper.sent == [["< one"], ["< two"]]
    assert transport.sent[1] == ["< better", "> done", "< better"]
    assert state.turns == 2
