"""One turn of a stress run on either framework, and how it is made to end.

A turn asks for a tool, waits in it, and answers. Its prompt says how it ends, so that what should be left can be told
from the prompts alone.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from enum import StrEnum
from typing import Any

from langchain.agents import create_agent
from langchain_core.callbacks import CallbackManagerForLLMRun
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.models.function import FunctionModel

from kedi_langchain import LangChainAdapter
from kedi_pydantic_ai import PydanticAdapter


class End(StrEnum):
    """How a turn ends."""

    ANSWERED = "answered"
    PROVIDER_FAILS = "provider-fails"
    TOOL_FAILS = "tool-fails"
    CANCELLED = "cancelled"


class StressError(Exception):
    """What a provider or a tool of a stress run raises."""


Turn = Callable[[str], Awaitable[object]]


def prompt_of(number: int, end: End) -> str:
    """Return a turn's prompt."""
    return f"{number} {end}"


def texts_of(prompt: str) -> list[str]:
    """Return what a whole turn leaves: its prompt, its call, the result and the answer."""
    return [prompt, f"call of {prompt}", f"result of {prompt}", f"answer to {prompt}"]


async def work(prompt: str) -> str:
    """Wait as long as the turn's number says, and end as it says."""
    number, _, end = prompt.partition(" ")
    for _ in range(int(number) % 7):
        await asyncio.sleep(0.001)
    if end == End.TOOL_FAILS:
        raise StressError(prompt)
    if end == End.CANCELLED:
        await asyncio.Event().wait()
    return f"result of {prompt}"


def _checked(prompt: str) -> None:
    if prompt.endswith(End.PROVIDER_FAILS):
        raise StressError(prompt)


async def _answer(messages: list[ModelMessage], info: object) -> ModelResponse:  # noqa: ARG001  # a model's signature
    last = messages[-1].parts[-1]
    if isinstance(last, ToolReturnPart):
        prompt = str(last.content).removeprefix("result of ")
        _checked(prompt)
        return ModelResponse(parts=[TextPart(f"answer to {prompt}")])
    assert isinstance(last, UserPromptPart)
    return ModelResponse(parts=[ToolCallPart("work", {"prompt": last.content}, tool_call_id=f"c{last.content}")])


def pydantic_ai() -> Turn:
    """Return a way to make a turn on Pydantic AI."""
    agent: Agent = Agent(FunctionModel(_answer), tools=[work], capabilities=[PydanticAdapter()])
    return agent.run


class _Chat(BaseChatModel):
    @property
    def _llm_type(self) -> str:
        return "stress"

    def bind_tools(self, *_: Any, **__: Any) -> Any:
        return self

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,  # noqa: ARG002  # the host's signature
        run_manager: CallbackManagerForLLMRun | None = None,  # noqa: ARG002  # as above
        **_: Any,
    ) -> ChatResult:
        last = messages[-1]
        if isinstance(last, ToolMessage):
            prompt = str(last.content).removeprefix("result of ")
            _checked(prompt)
            answer = AIMessage(f"answer to {prompt}")
        else:
            call = {"name": "work", "args": {"prompt": last.content}, "id": f"c{last.content}"}
            answer = AIMessage("", tool_calls=[call])
        return ChatResult(generations=[ChatGeneration(message=answer)])


def langchain() -> Turn:
    """Return a way to make a turn on LangChain."""
    agent: Any = create_agent(_Chat(), [work], middleware=[LangChainAdapter().middleware()])
    return lambda prompt: agent.ainvoke({"messages": [HumanMessage(prompt)]})


STACKS: dict[str, Callable[[], Turn]] = {"pydantic": pydantic_ai, "langchain": langchain}


def texts(messages: Sequence[Any]) -> list[str]:
    """Return what stored messages of either framework say, one text each."""
    return [text for message in messages for text in _texts(message)]


def _texts(message: Any) -> list[str]:
    if isinstance(message, BaseMessage):
        if isinstance(message, AIMessage) and message.tool_calls:
            return [f"call of {message.tool_calls[0]['args']['prompt']}"]
        return [str(message.content)]
    return [_part_text(part) for part in message.parts]


def _part_text(part: Any) -> str:
    return f"call of {part.args_as_dict()['prompt']}" if isinstance(part, ToolCallPart) else str(part.content)
