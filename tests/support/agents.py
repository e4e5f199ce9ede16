"""Agents for the tests of the Pydantic AI adapter: scripted models, quiet adapters, every entry point of the host.

A `Script` is the model side: it answers from a list and records each request. `run_through` runs an agent by any of
the host's entry points and gives back the same few facts. `lines` writes messages as short literal texts; `stored` is
everything a message list holds but the clock.
"""

from __future__ import annotations

import asyncio
import copy
import json
import warnings
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from pydantic_ai import Agent
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.models.function import AgentInfo, DeltaThinkingPart, DeltaToolCall, FunctionModel
from pydantic_ai.profiles import ModelProfile
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.settings import ModelSettings

from kedi_compile import (
    HistoryPrefixWarning,
    HistoryProcessorCallback,
    HistoryProcessorCondition,
    HistoryProcessorContext,
)
from kedi_pydantic_ai import PydanticAdapter

NoteT = TypeVar("NoteT")
Context = HistoryProcessorContext[ModelMessage]
ENTRY_POINTS: Final = ("run", "run_sync", "run_stream", "iter", "run_stream_events")
STREAMING: Final = frozenset({"run_stream", "run_stream_events"})


def adapter(
    processor: HistoryProcessorCallback[ModelMessage] | None = None,
    condition: HistoryProcessorCondition | None = None,
    **options: Any,
) -> PydanticAdapter[Any]:
    """Build an adapter without the warning about cached prefixes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HistoryPrefixWarning)
        return PydanticAdapter(processor, condition, **options)


def keep(n: int) -> HistoryProcessorCallback[ModelMessage]:
    """Return a processor that keeps the last `n` eligible groups."""
    return lambda ctx: ctx.keep_recent_groups(n)


def noting(log: list[NoteT], read: Callable[[Context], NoteT]) -> HistoryProcessorCallback[ModelMessage]:
    """Return a processor that changes nothing and appends what `read` reads off each context to `log`."""

    def note(ctx: Context) -> Sequence[ModelMessage]:
        log.append(read(ctx))
        return ctx.messages

    return note


def untouched(ctx: Context) -> Sequence[ModelMessage]:
    """Return the history as it was shown."""
    return ctx.messages


@dataclass(frozen=True)
class Partial:
    """An answer that breaks off: `text` is streamed, then `then` is awaited, which raises or never ends."""

    text: str
    then: Callable[[], Awaitable[object]]


Answer = str | ModelResponse | BaseException | Partial | Callable[[], Awaitable[object]]


class Script:
    """The model side of a test: one answer per request, the last one for good; `requests` is what it was asked.

    An exception is raised, a function is awaited and then the answer is `"done"`. `sent` holds each request as
    `lines`, taken when it came; `settings` the settings it came with, and `instructions` what stood in front of it.
    """

    def __init__(
        self,
        *answers: Answer,
        model_name: str = "scripted",
        settings: ModelSettings | None = None,
        profile: ModelProfile | None = None,
    ) -> None:
        self._answers: list[Answer] = list(answers) or ["done"]
        self.requests: list[list[ModelMessage]] = []
        self.sent: list[list[str]] = []
        self.settings: list[ModelSettings] = []
        self.instructions: list[str | None] = []
        self.model = FunctionModel(
            self._answer, stream_function=self._stream, model_name=model_name, settings=settings, profile=profile
        )

    async def _answer(self, messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        answer = await _opened(self._next(messages, info))
        if isinstance(answer, Partial):
            await answer.then()
            return says(answer.text)
        return answer

    async def _stream(self, messages: list[ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        answer = await _opened(self._next(messages, info))
        if isinstance(answer, Partial):
            yield answer.text
            await answer.then()
            return
        for index, part in enumerate(answer.parts):
            yield _chunk(index, part)

    def _next(self, messages: list[ModelMessage], info: AgentInfo) -> Answer:
        self.requests.append(list(messages))
        self.sent.append(lines(messages))
        self.settings.append(copy.copy(info.model_settings or ModelSettings()))
        self.instructions.append(info.instructions)
        return self._answers[min(len(self.requests), len(self._answers)) - 1]


async def _opened(answer: Answer) -> ModelResponse | Partial:
    """Turn an answer into a response nobody else holds, or raise it."""
    if isinstance(answer, BaseException):
        raise answer
    if isinstance(answer, Partial):
        return answer
    if isinstance(answer, ModelResponse):
        return copy.deepcopy(answer)
    if isinstance(answer, str):
        return says(answer)
    await answer()
    return says("done")


def _chunk(index: int, part: m.ModelResponsePart) -> Any:
    """What a streaming function model yields for one part."""
    if isinstance(part, m.TextPart):
        return part.content
    if isinstance(part, m.ThinkingPart):
        return {index: DeltaThinkingPart(content=part.content, signature=part.signature)}
    if isinstance(part, m.ToolCallPart):
        args = part.args_as_json_str()
        return {index: DeltaToolCall(name=part.tool_name, json_args=args, tool_call_id=part.tool_call_id)}
    return {index: part}


def says(text: str, **fields: Any) -> ModelResponse:
    """Return a response with one text."""
    return ModelResponse(parts=[m.TextPart(text)], **fields)


def asks(content: str | Sequence[m.UserContent]) -> ModelRequest:
    """Return a request with one user prompt."""
    return ModelRequest(parts=[m.UserPromptPart(content)])


def calls(*ids: str, tool: str = "look", thought: str | None = None, **arguments: Any) -> ModelResponse:
    """Return a response that calls `tool` once for each id, behind a signed thought if one is given."""
    parts: list[m.ModelResponsePart] = [signed(thought)] if thought else []
    parts += [m.ToolCallPart(tool, dict(arguments), tool_call_id=call_id) for call_id in ids]
    return ModelResponse(parts=parts)


def results(*ids: str, tool: str = "look", content: object = "seen") -> ModelRequest:
    """Return a request that answers each id with `content`."""
    return ModelRequest(parts=[m.ToolReturnPart(tool, content, tool_call_id=call_id) for call_id in ids])


def signed(thought: str) -> m.ThinkingPart:
    """Return a thinking part that a provider wants back."""
    return m.ThinkingPart(thought, signature=f"signature of {thought}", provider_name="function")


def turns(count: int) -> list[ModelMessage]:
    """Return `count` closed exchanges: "question 1", "answer 1" and so on."""
    out: list[ModelMessage] = []
    for number in range(1, count + 1):
        out += [asks(f"question {number}"), says(f"answer {number}")]
    return out


@dataclass(frozen=True)
class Finished:
    """What a run left: its output and the host's two lists."""

    output: Any
    all_messages: list[ModelMessage]
    new_messages: list[ModelMessage]


def run_through(entry: str, agent: Agent[Any, Any], prompt: str | None, **options: Any) -> Finished:
    """Run `agent` to its end by one of `ENTRY_POINTS`; must be called where no event loop runs."""
    if entry == "run_sync":
        with asyncio.Runner() as runner:
            asyncio.set_event_loop(runner.get_loop())
            result = agent.run_sync(prompt, **options)
            return Finished(result.output, result.all_messages(), result.new_messages())
    return asyncio.run(run_async(entry, agent, prompt, **options))


async def run_async(entry: str, agent: Agent[Any, Any], prompt: str | None, **options: Any) -> Finished:
    """Run `agent` to its end by one of `ENTRY_POINTS` other than `run_sync`."""
    if entry == "run":
        result = await agent.run(prompt, **options)
    elif entry == "run_stream":
        async with agent.run_stream(prompt, **options) as stream:
            output = await stream.get_output()
        return Finished(output, stream.all_messages(), stream.new_messages())
    elif entry == "iter":
        async with agent.iter(prompt, **options) as run:
            async for _ in run:
                pass
        assert run.result is not None
        result = run.result
    else:
        async with agent.run_stream_events(prompt, **options) as events:
            (result,) = [event.result async for event in events if isinstance(event, AgentRunResultEvent)]
    return Finished(result.output, result.all_messages(), result.new_messages())


def lines(messages: Iterable[ModelMessage]) -> list[str]:
    """Write each message as one line: `<` to the model, `>` from it, parts divided by ` | `."""
    return [
        ("< " if isinstance(message, ModelRequest) else "> ") + " | ".join(map(_line, message.parts))
        for message in messages
    ]


def _line(part: Any) -> str:
    if isinstance(part, m.BaseToolCallPart):
        return f"call {part.tool_call_id}"
    if isinstance(part, m.BaseToolReturnPart):
        return f"result {part.tool_call_id}"
    if isinstance(part, m.RetryPromptPart):
        return f"retry {part.tool_call_id}" if part.tool_name else "retry"
    content = part.content if isinstance(getattr(part, "content", None), str) else type(part).__name__
    prefix = {m.SystemPromptPart: "system ", m.ThinkingPart: "thought "}.get(type(part), "")
    return f"{prefix}{content}"


def stored(messages: Sequence[ModelMessage]) -> list[Any]:
    """Return all that `messages` hold but timestamps and ids of the run, to compare what two runs left behind."""
    return [_timeless(message) for message in json.loads(ModelMessagesTypeAdapter.dump_json(list(messages)))]


_CLOCK: Final = frozenset({"timestamp", "run_id", "conversation_id"})


def _timeless(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _timeless(item) for key, item in value.items() if key not in _CLOCK}
    return [_timeless(item) for item in value] if isinstance(value, list) else value
