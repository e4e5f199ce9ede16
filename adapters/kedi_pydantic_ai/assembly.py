"""The assembled parts of a request as Pydantic AI sends them: instruction parts, and ephemeral parts of requests.

Places 1 to 4 become one instruction part, 5 to 8 user parts of the request they were assembled for: in front of the
user's text and behind it, or behind tool results. They are put into the request of one attempt alone, so nothing of
them is in `all_messages()`. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

import copy
from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import (
    BaseToolCallPart,
    BaseToolReturnPart,
    InstructionPart,
    ModelMessage,
    ModelRequest,
    ModelRequestPart,
    ModelResponse,
    TextContent,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.tools import ToolDefinition

from kedi_compile import AssemblyError
from kedi_compile.assembly import LiveRequest, ToolSchema
from kedi_compile.assembly.run import AssembledStep, Standing, Tail
from kedi_compile.assembly.ui_tokens import UiTokens
from kedi_compile.history.context import RequestInfo
from kedi_compile.session import RunSession
from kedi_pydantic_ai.continuation import without_old_state
from kedi_pydantic_ai.prompt import shown_prompt


class RunTails:
    """The tails of one run as parts, and the messages they stand by."""

    def __init__(self, tokens: UiTokens) -> None:
        self._tokens = tokens
        self._clean: dict[int, tuple[UserPromptPart, UserPromptPart]] = {}  # by `id()` of the part, which it holds
        self._parts: dict[int, tuple[UserPromptPart, ...]] = {}  # by the tail's number: the same objects every time
        self._anchors: list[object] = []  # holds the parts that are anchors, so that no `id()` is used twice

    def standing(self, messages: Sequence[ModelMessage]) -> Standing:
        """Say where a request stands; a message goes by its last part, which the host keeps when it rebuilds it."""
        self._anchors.extend(messages[-1].parts)
        return Standing(_anchors(messages[-1])[-1], frozenset(one for message in messages for one in _anchors(message)))

    def put(self, messages: Sequence[ModelMessage], tails: Iterable[Tail]) -> list[ModelMessage]:
        """Return the messages with the tails at their places, and without what is meant for an interface.

        Messages with neither stay the same objects.
        """
        by_anchor = {tail.anchor: tail for tail in tails}
        return [self._with_tails(message, by_anchor) for message in messages]

    def _with_tails(self, message: ModelMessage, by_anchor: dict[Any, Tail]) -> ModelMessage:
        if not isinstance(message, ModelRequest):
            return message
        found = [by_anchor[one] for one in _anchors(message) if one in by_anchor]
        parts = list(map(self._cleaned, message.parts))
        if not found and all(new is old for new, old in zip(parts, message.parts, strict=True)):
            return message
        whole = copy.copy(message)
        whole.parts = parts
        for tail in found:
            whole.parts = _placed(whole.parts, self._shown(tail))
        return whole

    def _cleaned(self, part: ModelRequestPart) -> ModelRequestPart:
        """A part of the user's without tokens of an interface: the same new object every time."""
        if not isinstance(part, UserPromptPart):
            return part
        if id(part) not in self._clean:
            content = shown_prompt(part.content, self._tokens)
            self._clean[id(part)] = (part, part if content is part.content else replace(part, content=content))
        return self._clean[id(part)][1]

    def _shown(self, tail: Tail) -> tuple[UserPromptPart, ...]:
        if tail.number not in self._parts:
            texts = (tail.before, *([tail.slot] if tail.slot else []))
            self._parts[tail.number] = tuple(UserPromptPart(text) for text in texts)
        return self._parts[tail.number]


def _anchors(message: ModelMessage) -> list[Hashable]:
    """What a message may go by: its parts; one of an agent that has instructions alone has none, but a time."""
    return [id(part) for part in message.parts] or [(message.run_id, message.timestamp)]


def _placed(parts: Sequence[ModelRequestPart], shown: tuple[UserPromptPart, ...]) -> list[ModelRequestPart]:
    """In front of the first text of the user and behind everything, or all behind where there is none."""
    first = next((place for place, part in enumerate(parts) if isinstance(part, UserPromptPart)), len(parts))
    return [*parts[:first], shown[0], *parts[first:], *shown[1:]]


async def assemble(
    session: RunSession[ModelMessage], tails: RunTails, request: ModelRequestContext, info: RequestInfo
) -> AssembledStep | None:
    """Assemble one request step; what resumes a suspended answer is the request that was assembled before.

    Raises:
        AssemblyError: it cannot be assembled.
    """
    if isinstance(request.messages[-1], ModelResponse):
        return None
    live = live_request(request, request.messages, info)
    return await session.assemble(request.messages, info, live, tails.standing(request.messages))


def put_assembled(request: ModelRequestContext, step: AssembledStep, tails: RunTails) -> None:
    """Put what was assembled into the request of one attempt, which no server-side chain may go on from."""
    request.messages = tails.put(request.messages, step.tails)
    request.model_request_parameters = with_system(request.model_request_parameters, step.system)
    request.model_settings = without_old_state(request.model_settings, request.model, may_chain=False)


def with_system(parameters: ModelRequestParameters, system: str) -> ModelRequestParameters:
    """Return the parameters with the stable text in front of the agent's own instructions."""
    return replace(parameters, instruction_parts=[InstructionPart(system), *(parameters.instruction_parts or [])])


def sent_system(parameters: ModelRequestParameters) -> str:
    """Return the instructions that a model is handed."""
    return "\n\n".join(part.content for part in parameters.instruction_parts or [])


def check_sent(step: AssembledStep, messages: Sequence[ModelMessage], parameters: ModelRequestParameters) -> None:
    """Prove that what was assembled is in what a model is handed.

    Raises:
        AssemblyError: a text is not there any more.
    """
    there = {part.content for part in _user_parts(messages) if isinstance(part.content, str)}
    texts = (text for tail in step.tails for text in (tail.before, tail.slot) if text)
    if step.system not in sent_system(parameters) or any(text not in there for text in texts):
        msg = (
            "What was assembled is not in the request any more, so nothing was sent; let no capability or hook behind "
            "the adapter change instructions or messages"
        )
        raise AssemblyError(msg)


def live_request(request: ModelRequestContext, messages: Sequence[ModelMessage], info: RequestInfo) -> LiveRequest:
    """Describe a request to the callback that gives its inputs; its tokens are filled in by the session."""
    start = _turn_start(messages)
    return LiveRequest(
        request_index=info.request_index,
        model_id=info.model_id,
        calls=tuple(_calls(messages[start:])),
        earlier_calls=tuple(_calls(messages[:start])),
        tools=tuple(map(_schema, _offered(request.model_request_parameters))),
        user_text="\n\n".join(_texts(messages[start].parts)),
        run_id=info.run_id,
        conversation_id=info.conversation_id,
        context=info.context,
    )


def _turn_start(messages: Sequence[ModelMessage]) -> int:
    """The index of the request that the user's current message is in; 0 where none is."""
    for place in range(len(messages) - 1, -1, -1):
        parts = messages[place].parts
        is_asked = any(isinstance(part, UserPromptPart) for part in parts)
        if is_asked and not any(isinstance(part, BaseToolReturnPart) for part in parts):
            return place
    return 0


def _calls(messages: Iterable[ModelMessage]) -> Iterator[str]:
    answers = (message for message in messages if isinstance(message, ModelResponse))
    return (part.tool_name for answer in answers for part in answer.parts if isinstance(part, BaseToolCallPart))


def _texts(parts: Iterable[object]) -> Iterator[str]:
    for part in parts:
        if isinstance(part, UserPromptPart):
            content: Sequence[UserContent] = [part.content] if isinstance(part.content, str) else part.content
            yield from (
                one if isinstance(one, str) else one.content for one in content if isinstance(one, (str, TextContent))
            )


def _user_parts(messages: Iterable[ModelMessage]) -> Iterator[UserPromptPart]:
    return (part for message in messages for part in message.parts if isinstance(part, UserPromptPart))


def _offered(parameters: ModelRequestParameters) -> list[ToolDefinition]:
    return [*parameters.function_tools, *parameters.output_tools]


def _schema(tool: ToolDefinition) -> ToolSchema:
    return ToolSchema(tool.name, tool.description or "", tool.parameters_json_schema)
