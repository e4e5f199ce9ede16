"""Threads, loops and contexts around a wrapped model's callbacks, and what it keeps of the caller's model."""

from __future__ import annotations

import asyncio
import copy
import threading
from collections.abc import Callable, Sequence
from contextvars import ContextVar
from typing import Any
from uuid import UUID, uuid4

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.language_models import BaseChatModel
from langchain_core.load import dumpd
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableLambda
from langchain_openai import ChatOpenAI

from chats import Chat, Context, StreamingChat, Transport, adapter, asked, keep, lines, turns
from kedi_compile import HistoryProcessingError
from ways_in import ONCE, WAYS

pytestmark = [
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning"),
    pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainDeprecationWarning"),
]
EDITED = ["< question 3", "> answer 3", "< now"]
SYNC = ("invoke", "stream", "stream_events v3", "generate_prompt", "bind_tools", "batch", "generate")
ASYNC = ("ainvoke", "astream", "astream_events v2", "astream_events v3", "agenerate_prompt", "abatch", "agenerate")
VISITOR: ContextVar[str] = ContextVar("visitor", default="nobody")


async def _keep_one(ctx: Context) -> list[BaseMessage]:
    await asyncio.sleep(0)
    return ctx.keep_recent_groups(1)


@pytest.mark.parametrize("way", [*SYNC, *ASYNC])
def test_an_async_callback_works_on_every_path(way: str) -> None:
    """On a synchronous path it runs in a loop of its own."""
    transport = Transport()

    WAYS[way](adapter(_keep_one).wrap(StreamingChat(transport=transport)), asked())

    assert EDITED in transport.sent


@pytest.mark.parametrize("processor", [_keep_one, keep(1)], ids=["async callback", "sync callback"])
@pytest.mark.parametrize("way", SYNC)
def test_a_sync_path_works_inside_a_running_loop(way: str, processor: Any) -> None:
    """A synchronous call from a coroutine edits too."""
    transport = Transport()
    model = adapter(processor).wrap(StreamingChat(transport=transport))

    async def main() -> None:
        WAYS[way](model, asked())

    asyncio.run(main())

    assert EDITED in transport.sent


@pytest.mark.parametrize("way", [*SYNC, *ASYNC])
@pytest.mark.parametrize("is_async", [False, True])
def test_callbacks_see_the_callers_context_variables(way: str, is_async: bool) -> None:
    """Worker threads and loops of the host and of the adapter carry them along."""
    seen: list[str] = []

    def note(ctx: Context) -> Sequence[BaseMessage]:
        seen.append(VISITOR.get())
        return ctx.messages

    async def anote(ctx: Context) -> Sequence[BaseMessage]:
        return note(ctx)

    model = adapter(anote if is_async else note).wrap(StreamingChat(transport=Transport()))
    token = VISITOR.set("ann")
    WAYS[way](model, asked())
    VISITOR.reset(token)

    assert set(seen) == {"ann"}


@pytest.mark.parametrize("way", ["ainvoke", "astream", "astream_events v3", "agenerate"])
def test_a_sync_callback_on_an_async_path_does_not_block_the_loop(way: str) -> None:
    """It runs in a worker thread."""
    threads: list[int] = []

    def note(ctx: Context) -> Sequence[BaseMessage]:
        threads.append(threading.get_ident())
        return ctx.messages

    WAYS[way](adapter(note).wrap(StreamingChat(transport=Transport())), asked())

    assert threading.get_ident() not in threads
    assert threads


class Runs(BaseCallbackHandler):
    """Notes how each model run starts."""

    def __init__(self) -> None:
        self.started: list[dict[str, Any]] = []
        self.chains: list[UUID] = []

    def on_chain_start(self, serialized: Any, inputs: Any, *, run_id: UUID, **kwargs: Any) -> None:
        self.chains.append(run_id)

    def on_chat_model_start(self, serialized: Any, messages: list[list[BaseMessage]], **kwargs: Any) -> None:
        self.started.append({**kwargs, "lines": lines(messages[0])})


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream"])
def test_the_config_reaches_the_run(way: str) -> None:
    """Callbacks, tags, metadata, name and id of a call are those of the edited request's run."""
    runs, run_id = Runs(), uuid4()
    model = adapter(keep(1)).wrap(StreamingChat(transport=Transport(), tags=["own"]))
    config = {"callbacks": [runs], "tags": ["t"], "metadata": {"k": 1}, "run_name": "named", "run_id": run_id}

    WAYS[way](model.with_config(config), asked())  # type: ignore[arg-type]  # a binding stands in for the model

    (run,) = runs.started
    assert (run["run_id"], run["name"], run["lines"]) == (run_id, "named", EDITED)
    assert set(run["tags"]) == {"t", "own"}
    assert run["metadata"]["k"] == 1


@pytest.mark.parametrize("is_async", [False, True])
def test_a_model_called_by_the_processor_belongs_to_the_callers_run(is_async: bool) -> None:
    """What the host keeps in a context variable reaches the processor, so its calls are traced where they belong."""
    runs, summary = Runs(), Chat(transport=Transport(["short"]))

    def shorten(ctx: Context) -> list[BaseMessage]:
        summary.invoke("sum up")
        return ctx.keep_recent_groups(1)

    model = adapter(shorten).wrap(Chat(transport=Transport()))
    chain = RunnableLambda(model.invoke, model.ainvoke)
    if is_async:
        asyncio.run(chain.ainvoke(asked(), {"callbacks": [runs]}))
    else:
        chain.invoke(asked(), {"callbacks": [runs]})

    assert [run["lines"] for run in runs.started] == [["< sum up"], EDITED]
    assert [run["parent_run_id"] for run in runs.started] == [runs.chains[0]] * 2


@pytest.mark.parametrize("way", ["invoke", "ainvoke", "stream", "astream", "batch", "abatch"])
def test_a_processor_may_not_call_its_own_model(way: str) -> None:
    """It would edit for ever; the error says what to use instead, and nothing is sent."""
    transport = Transport()
    model: BaseChatModel = StreamingChat(transport=transport)

    def again(ctx: Context) -> Sequence[BaseMessage]:
        model.invoke("again")
        return ctx.messages

    model = adapter(again).wrap(model)

    with pytest.raises(HistoryProcessingError, match="called the adapter it belongs to"):
        WAYS[way](model, asked())
    assert transport.sent == []


def test_a_processor_may_call_a_model_of_another_adapter() -> None:
    """Only the same configured adapter is closed to its own callbacks."""
    inner, outer = Transport(["short"]), Transport()
    helper = adapter(keep(0)).wrap(Chat(transport=inner))

    def shorten(ctx: Context) -> list[BaseMessage]:
        helper.invoke(list(ctx.messages))
        return ctx.keep_recent_groups(1)

    adapter(shorten).wrap(Chat(transport=outer)).invoke(asked())

    assert (inner.sent, outer.sent) == ([["< now"]], [EDITED])


def test_concurrent_requests_do_not_mix() -> None:
    """Many requests of one wrapped model at once each get their own edit, as a run of their own."""
    transport, indexes = Transport(), list[int]()

    async def edit(ctx: Context) -> list[BaseMessage]:
        indexes.append(ctx.request_index)
        await asyncio.sleep(0)
        return ctx.keep_recent_groups(1)

    model = adapter(edit).wrap(Chat(transport=transport))

    async def main() -> None:
        await asyncio.gather(*(model.ainvoke([*turns(2), HumanMessage(f"now {n}")]) for n in range(20)))

    asyncio.run(main())

    assert sorted(transport.sent) == sorted([["< question 2", "> answer 2", f"< now {n}"] for n in range(20)])
    assert indexes == [1] * 20


def test_requests_in_threads_do_not_mix() -> None:
    """A batch runs in threads of the host."""
    transport = Transport()

    adapter(keep(1)).wrap(Chat(transport=transport)).batch([[*turns(2), HumanMessage(f"now {n}")] for n in range(20)])

    assert sorted(transport.sent) == sorted([["< question 2", "> answer 2", f"< now {n}"] for n in range(20)])


@pytest.mark.parametrize("way", [way for way in ONCE if "retry" not in way and "fallbacks" not in way])
def test_the_request_after_a_failed_one_is_edited(way: str) -> None:
    """A transport that fails leaves the model usable."""
    transport = Transport([RuntimeError("overloaded"), "done"])
    model = adapter(keep(1)).wrap(StreamingChat(transport=transport))

    with pytest.raises(RuntimeError, match="overloaded"):
        WAYS[way](model, asked())
    model.invoke(asked())

    assert transport.sent == [EDITED, EDITED]


@pytest.mark.parametrize("way", ["ainvoke", "astream"])
@pytest.mark.parametrize("moment", ["callback", "request"])
def test_the_request_after_a_cancelled_one_is_edited(way: str, moment: str) -> None:
    """A cancel propagates as itself, and the next request goes out as any other."""
    reached = asyncio.Event()

    async def hang() -> None:
        reached.set()
        await asyncio.get_running_loop().create_future()

    async def edit(ctx: Context) -> list[BaseMessage]:
        if moment == "callback" and not reached.is_set():
            await hang()
        return ctx.keep_recent_groups(1)

    transport = Transport([hang, "done"] if moment == "request" else ["done"])
    model = adapter(edit).wrap(StreamingChat(transport=transport))

    async def main() -> None:
        first = asyncio.create_task(_send(way, model))
        await reached.wait()
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        await _send(way, model)

    asyncio.run(main())

    assert transport.sent == [EDITED] * (2 if moment == "request" else 1)


async def _send(way: str, model: BaseChatModel) -> None:
    if way == "ainvoke":
        await model.ainvoke(asked())
    else:
        _ = [chunk async for chunk in model.astream(asked())]


PROVIDERS: dict[str, Callable[[], BaseChatModel]] = {
    "scripted": lambda: StreamingChat(transport=Transport(), profile={"max_input_tokens": 1000}, metadata={"k": 1}),
    "openai": lambda: ChatOpenAI(model="gpt-5", api_key="none", temperature=0.5),  # type: ignore[arg-type]  # a str will do
    "anthropic": lambda: ChatAnthropic(model="claude-opus-5-5", api_key="none"),  # type: ignore[call-arg,arg-type]  # by alias
}
each_provider = pytest.mark.parametrize("build", PROVIDERS.values(), ids=PROVIDERS)


@each_provider
def test_a_wrapped_model_is_what_it_was(build: Callable[[], BaseChatModel]) -> None:
    """Type checks, profile, serialized form and what hosts detect a provider by survive."""
    model = build()
    wrapped = adapter(keep(1)).wrap(model)

    assert isinstance(wrapped, type(model))
    assert type(wrapped).__name__ == type(model).__name__
    assert wrapped.profile == model.profile
    assert wrapped.lc_id() == model.lc_id()
    assert wrapped.get_name() == model.get_name()
    assert wrapped._get_ls_params() == model._get_ls_params()  # noqa: SLF001  # how tracing names a provider
    assert wrapped.model_dump(exclude={"transport"}) == model.model_dump(exclude={"transport"})
    assert dumpd(wrapped) == dumpd(model)


@each_provider
def test_the_given_model_is_left_alone(build: Callable[[], BaseChatModel]) -> None:
    """Wrapping makes a copy: the caller's model has its class and fields as before."""
    model = build()
    kind, fields = type(model), dict(vars(model))

    wrapped = adapter(keep(1)).wrap(model)

    assert wrapped is not model
    assert type(model) is kind
    assert vars(model) == fields


def test_a_copy_of_a_wrapped_model_edits_too() -> None:
    """Hosts copy models to change a field; the edit stays."""
    transport = Transport()
    wrapped = adapter(keep(1)).wrap(Chat(transport=transport))

    wrapped.model_copy(update={"model_name": "other"}).invoke(asked())
    copy.copy(wrapped).invoke(asked())

    assert transport.sent == [EDITED, EDITED]


def test_the_given_model_still_sends_everything() -> None:
    """It is not the wrapped one."""
    transport = Transport()
    model = Chat(transport=transport)

    adapter(keep(1)).wrap(model)
    model.invoke(asked())

    assert len(transport.sent[0]) == 7
