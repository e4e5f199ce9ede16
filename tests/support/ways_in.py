"""Every way to send a request through a chat model of LangChain, as one table of small functions.

A way takes a model and a list of messages, sends them once (batches: twice, with different last messages) and returns
what came back. `ONCE` and `TWICE` tell them apart; `NEEDS_STREAM` are those a model that cannot stream has not got.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any, Final

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompt_values import ChatPromptValue
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import ConfigurableField, RunnableParallel
from pydantic import BaseModel

Messages = list[BaseMessage]
Way = Callable[[BaseChatModel, Messages], object]


class Look(BaseModel):
    """Look at something."""

    what: str = "nothing"


def two(messages: Sequence[BaseMessage]) -> list[Any]:
    """Return the messages, and once more with another last one."""
    return [list(messages), [*messages[:-1], HumanMessage("now too")]]


def _run(way: Callable[[BaseChatModel, Messages], Awaitable[object]]) -> Way:
    async def main(model: BaseChatModel, messages: Messages) -> object:
        return await way(model, messages)

    return lambda model, messages: asyncio.run(main(model, messages))


def _drain(way: Callable[[Any, Messages], AsyncIterator[object]]) -> Way:
    async def main(model: BaseChatModel, messages: Messages) -> object:
        return [item async for item in way(model, messages)]

    return lambda model, messages: asyncio.run(main(model, messages))


async def _one(messages: Messages) -> AsyncIterator[Messages]:
    yield messages


async def _events_v3(runnable: Any, messages: Messages) -> AsyncIterator[object]:
    async for event in await runnable.astream_events(messages, version="v3"):
        yield event


def _piped(model: BaseChatModel) -> Any:
    prompt = ChatPromptTemplate.from_messages([MessagesPlaceholder("history")])
    return prompt | model | StrOutputParser()


def _configured(model: BaseChatModel) -> Any:
    field = ConfigurableField(id="model_name")
    return model.configurable_fields(model_name=field).with_config(configurable={"model_name": "other"})


ONCE: Final[dict[str, Way]] = {
    "invoke": lambda model, messages: model.invoke(messages),
    "ainvoke": _run(lambda model, messages: model.ainvoke(messages)),
    "stream": lambda model, messages: list(model.stream(messages)),
    "astream": _drain(lambda model, messages: model.astream(messages)),
    "transform": lambda model, messages: list(model.transform(iter([messages]))),
    "atransform": _drain(lambda model, messages: model.atransform(_one(messages))),
    "stream_events v3": lambda model, messages: list(model.stream_events(messages, version="v3")),
    "astream_events v1": _drain(lambda model, messages: model.astream_events(messages, version="v1")),
    "astream_events v2": _drain(lambda model, messages: model.astream_events(messages, version="v2")),
    "astream_events v3": _drain(_events_v3),
    "astream_log": _drain(lambda model, messages: model.astream_log(messages)),
    "generate_prompt": lambda model, messages: model.generate_prompt([ChatPromptValue(messages=messages)]),
    "agenerate_prompt": _run(lambda model, messages: model.agenerate_prompt([ChatPromptValue(messages=messages)])),
    "bind": lambda model, messages: model.bind(stop=["x"]).invoke(messages),
    "bind, streamed": lambda model, messages: list(model.bind(stop=["x"]).stream(messages)),
    "bind_tools": lambda model, messages: model.bind_tools([Look]).invoke(messages),
    "bind_tools, streamed": _drain(lambda model, messages: model.bind_tools([Look]).astream(messages)),
    "bind_tools, events v3": _drain(lambda model, messages: _events_v3(model.bind_tools([Look]), messages)),
    "with_structured_output": lambda model, messages: model.with_structured_output(Look).invoke(messages),
    "with_structured_output, raw": (
        lambda model, messages: model.with_structured_output(Look, include_raw=True).invoke(messages)
    ),
    "with_retry": lambda model, messages: model.with_retry(wait_exponential_jitter=False).invoke(messages),
    "with_retry, async": _run(
        lambda model, messages: model.with_retry(wait_exponential_jitter=False).ainvoke(messages)
    ),
    "with_retry, streamed": lambda model, messages: list(
        model.with_retry(wait_exponential_jitter=False).stream(messages)
    ),
    "with_fallbacks": lambda model, messages: model.with_fallbacks([model]).invoke(messages),
    "with_fallbacks, async": _run(lambda model, messages: model.with_fallbacks([model]).ainvoke(messages)),
    "with_fallbacks, streamed": lambda model, messages: list(model.with_fallbacks([model]).stream(messages)),
    "with_fallbacks, bind_tools": (
        lambda model, messages: model.with_fallbacks([model]).bind_tools([Look]).invoke(messages)
    ),
    "with_config": lambda model, messages: model.with_config(tags=["mine"]).invoke(messages),
    "with_listeners": lambda model, messages: model.with_listeners(on_start=lambda run: None).invoke(messages),
    "with_types": lambda model, messages: model.with_types().invoke(messages),
    "configurable_fields": lambda model, messages: _configured(model).invoke(messages),
    "prompt | model | parser": lambda model, messages: _piped(model).invoke({"history": messages}),
    "prompt | model | parser, streamed": lambda model, messages: list(_piped(model).stream({"history": messages})),
    "RunnableParallel": lambda model, messages: RunnableParallel(answer=model).invoke(messages),
}
"""Ways that send one request."""

TWICE: Final[dict[str, Way]] = {
    "batch": lambda model, messages: model.batch(two(messages)),
    "abatch": _run(lambda model, messages: model.abatch(two(messages))),
    "batch_as_completed": lambda model, messages: list(model.batch_as_completed(two(messages))),
    "abatch_as_completed": _drain(lambda model, messages: model.abatch_as_completed(two(messages))),
    "generate": lambda model, messages: model.generate(two(messages)),
    "agenerate": _run(lambda model, messages: model.agenerate(two(messages))),
    "map": lambda model, messages: model.map().invoke(two(messages)),
    "with_retry, batch": lambda model, messages: model.with_retry(wait_exponential_jitter=False).batch(two(messages)),
    "with_retry, abatch": _run(
        lambda model, messages: model.with_retry(wait_exponential_jitter=False).abatch(two(messages))
    ),
    "with_fallbacks, batch": lambda model, messages: model.with_fallbacks([model]).batch(two(messages)),
    "with_fallbacks, abatch": _run(lambda model, messages: model.with_fallbacks([model]).abatch(two(messages))),
}
"""Ways that send two."""

WAYS: Final[dict[str, Way]] = {**ONCE, **TWICE}
NEEDS_STREAM: Final = frozenset({"stream_events v3", "astream_events v3", "bind_tools, events v3"})
