"""Chat models for the tests of the LangChain adapter: scripted answers, recorded requests, quiet adapters.

A `Transport` is the provider's side: it answers from a list and records what each request brought, whichever of the
model's own methods it came through. `Chat` cannot stream, `StreamingChat` can, `EventChat` also makes the host's newest
events itself. `lines` writes messages as short literal texts.
"""

from __future__ import annotations

import copy
import inspect
import json
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.language_models._compat_bridge import message_to_events
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from langchain_core.messages.tool import tool_call_chunk
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.runnables import Runnable
from langchain_core.utils.function_calling import convert_to_openai_tool

from kedi_compile import (
    HistoryPrefixWarning,
    HistoryProcessorCallback,
    HistoryProcessorCondition,
    HistoryProcessorContext,
)
from kedi_langchain import LangChainAdapter

NoteT = TypeVar("NoteT")
Context = HistoryProcessorContext[BaseMessage]


@dataclass(frozen=True)
class Partial:
    """An answer that breaks off: `text` is streamed, then `then` is called (and awaited), which raises or waits."""

    text: str
    then: Callable[[], object]


Answer = str | AIMessage | BaseException | Partial | Callable[[], object]


@dataclass
class Transport:
    """One answer per request, the last one for good; the lists hold what each request brought, taken when it came.

    An exception is raised; a function is called (and awaited on async paths), and then the answer is `"done"`.
    `through` holds the name of the model's method a request came through.
    """

    answers: Sequence[Answer] = ("done",)
    requests: list[list[BaseMessage]] = field(default_factory=list)
    sent: list[list[str]] = field(default_factory=list)
    kwargs: list[dict[str, Any]] = field(default_factory=list)
    through: list[str] = field(default_factory=list)

    def arrive(self, method: str, messages: Sequence[BaseMessage], kwargs: dict[str, Any]) -> Answer:
        """Record a request and return its answer."""
        self.requests.append(list(messages))
        self.sent.append(lines(messages))
        self.kwargs.append(dict(kwargs))
        self.through.append(method)
        return self.answers[min(len(self.requests), len(self.answers)) - 1]


class Chat(BaseChatModel):
    """A scripted chat model that cannot stream."""

    transport: Transport
    model_name: str = "scripted"

    @property
    def _llm_type(self) -> str:
        return "scripted"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model_name": self.model_name}

    def bind_tools(self, tools: Sequence[Any], *, tool_choice: str | None = None, **kwargs: Any) -> Runnable[Any, Any]:
        return self.bind(tools=[convert_to_openai_tool(tool) for tool in tools], **kwargs)

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> Any:
        return _result(_whole(self.transport.arrive("_generate", messages, kwargs)))

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Any:
        return _result(await _awaited(self.transport.arrive("_agenerate", messages, kwargs)))


class StreamingChat(Chat):
    """A scripted chat model that streams each word of a text, and each tool call, as a chunk."""

    def _stream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        answer = self.transport.arrive("_stream", messages, kwargs)
        if isinstance(answer, Partial):
            yield ChatGenerationChunk(message=AIMessageChunk(content=answer.text))
            answer.then()
            return
        yield from _chunks(_whole(answer))

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        answer = self.transport.arrive("_astream", messages, kwargs)
        if isinstance(answer, Partial):
            yield ChatGenerationChunk(message=AIMessageChunk(content=answer.text))
            await _finished(answer.then())
            return
        for chunk in _chunks(await _awaited(answer)):
            yield chunk


class EventChat(StreamingChat):
    """A scripted chat model that makes the events of the host's third version itself."""

    def _stream_chat_model_events(self, messages: list[BaseMessage], **kwargs: Any) -> Iterator[Any]:
        kwargs = _without_manager(kwargs)
        yield from message_to_events(_whole(self.transport.arrive("_stream_chat_model_events", messages, kwargs)))

    async def _astream_chat_model_events(self, messages: list[BaseMessage], **kwargs: Any) -> AsyncIterator[Any]:
        kwargs = _without_manager(kwargs)
        answer = await _awaited(self.transport.arrive("_astream_chat_model_events", messages, kwargs))
        for event in message_to_events(answer):
            yield event


def _without_manager(kwargs: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in kwargs.items() if name not in ("stop", "run_manager")}


def _whole(answer: Answer) -> AIMessage:
    """Turn an answer into a message nobody else holds, or raise it."""
    if isinstance(answer, BaseException):
        raise answer
    if isinstance(answer, Partial):
        answer.then()
        return AIMessage(answer.text)
    if isinstance(answer, str):
        return AIMessage(answer)
    if isinstance(answer, AIMessage):
        return copy.deepcopy(answer)
    answer()
    return AIMessage("done")


async def _awaited(answer: Answer) -> AIMessage:
    if isinstance(answer, Partial):
        await _finished(answer.then())
        return AIMessage(answer.text)
    if callable(answer):
        await _finished(answer())
        return AIMessage("done")
    return _whole(answer)


async def _finished(value: Awaitable[object] | object) -> None:
    if inspect.isawaitable(value):
        await value


def _result(message: AIMessage) -> ChatResult:
    return ChatResult(generations=[ChatGeneration(message=message)])


def _chunks(message: AIMessage) -> Iterator[ChatGenerationChunk]:
    """Cut an answer into what a stream brings: words, then tool calls, usage with the last."""
    words = message.content.split(" ") if isinstance(message.content, str) else [message.content]
    pieces: list[dict[str, Any]] = [
        {"content": f" {word}" if index and isinstance(word, str) else word} for index, word in enumerate(words)
    ]
    for index, call in enumerate(message.tool_calls):
        pieces.append({"content": "", "tool_call_chunks": [_call_chunk(call, index)]})
    pieces[-1]["usage_metadata"] = message.usage_metadata
    pieces[-1]["response_metadata"] = message.response_metadata
    for piece in pieces:
        yield ChatGenerationChunk(message=AIMessageChunk(id=message.id, **piece))


def _call_chunk(call: Any, index: int) -> Any:
    return tool_call_chunk(name=call["name"], args=json.dumps(call["args"]), id=call["id"], index=index)


def adapter(
    processor: HistoryProcessorCallback[BaseMessage] | None = None,
    condition: HistoryProcessorCondition | None = None,
    **options: Any,
) -> LangChainAdapter:
    """Build an adapter without the warning about cached prefixes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HistoryPrefixWarning)
        return LangChainAdapter(processor, condition, **options)


def keep(n: int) -> HistoryProcessorCallback[BaseMessage]:
    """Return a processor that keeps the last `n` eligible groups."""
    return lambda ctx: ctx.keep_recent_groups(n)


def noting(log: list[NoteT], read: Callable[[Context], NoteT]) -> HistoryProcessorCallback[BaseMessage]:
    """Return a processor that changes nothing and appends what `read` reads off each context to `log`."""

    def note(ctx: Context) -> Sequence[BaseMessage]:
        log.append(read(ctx))
        return ctx.messages

    return note


def untouched(ctx: Context) -> Sequence[BaseMessage]:
    """Return the history as it was shown."""
    return ctx.messages


class Keeping:
    """A processor that keeps the last `n` eligible groups and counts how often it ran."""

    def __init__(self, n: int = 1) -> None:
        self.n = n
        self.shown: list[list[str]] = []

    @property
    def count(self) -> int:
        """How often it ran."""
        return len(self.shown)

    def __call__(self, ctx: Context) -> Sequence[BaseMessage]:
        self.shown.append(lines(ctx.messages))
        return ctx.keep_recent_groups(self.n)


def turns(count: int, *, ids: bool = False) -> list[BaseMessage]:
    """Return `count` closed exchanges: "question 1", "answer 1" and so on, with ids "q1", "a1" if asked for."""
    out: list[BaseMessage] = []
    for number in range(1, count + 1):
        out.append(HumanMessage(f"question {number}", id=f"q{number}" if ids else None))
        out.append(AIMessage(f"answer {number}", id=f"a{number}" if ids else None))
    return out


def asked(count: int = 3, prompt: str = "now") -> list[BaseMessage]:
    """Return `count` closed exchanges and a new question."""
    return [*turns(count), HumanMessage(prompt)]


def calls(*ids: str, tool: str = "look", **fields: Any) -> AIMessage:
    """Return an answer that calls `tool` once for each id."""
    return AIMessage("", tool_calls=[{"name": tool, "args": {}, "id": call_id} for call_id in ids], **fields)


def results(*ids: str, tool: str = "look", content: str = "seen") -> list[BaseMessage]:
    """Return one result for each id."""
    return [ToolMessage(content, tool_call_id=call_id, name=tool) for call_id in ids]


def lines(messages: Iterable[BaseMessage]) -> list[str]:
    """Write each message as one line: `<` to the model, `>` from it."""
    return [_line(message) for message in messages]


def _line(message: BaseMessage) -> str:
    if isinstance(message, ToolMessage):
        return f"< result {message.tool_call_id}"
    if isinstance(message, AIMessage):
        called = [f"call {call['id']}" for call in message.tool_calls]
        return "> " + " | ".join([text for text in (str(message.text),) if text] + called)
    prefix = "system " if message.type == "system" else ""
    return f"< {prefix}{message.text}"
