"""The story of `harbour.py` told through LangChain, in its two ways in that a loop of tool calls goes through.

`Office` is an agent of `create_agent` with a thread of its own, so its history is what the checkpointer holds. `Clerk`
is a loop written by hand around a wrapped model, which keeps the whole history itself and is edited anew each time.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from pathlib import Path
from typing import Any, Final

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.checkpoint.memory import InMemorySaver

import harbour
from chats import Context
from emulator import Step
from kedi_langchain import LangChainAdapter
from recording import Recall
from recording_langchain import ChatProvider

CASSETTES: Final = Path(__file__).parents[2] / "cassettes" / "langchain"

TOOLS: Final[Sequence[BaseTool]] = tuple(StructuredTool.from_function(tool) for tool in (harbour.tide, harbour.berths))


class Office:
    """An agent over one provider; each question goes on with the thread, under the middleware of that question."""

    def __init__(self, provider: ChatProvider) -> None:
        self._provider = provider
        self._saver = InMemorySaver()
        self._config: Any = {"configurable": {"thread_id": "harbour"}}
        self.history: list[BaseMessage] = []

    async def ask(
        self,
        prompt: str,
        steps: Sequence[Step | Recall],
        adapter: LangChainAdapter | None = None,
        *,
        model: BaseChatModel | None = None,
    ) -> str:
        """Ask, with what a recording emulator answers, and return the answer's text."""
        self._provider.script(*steps)
        agent = create_agent(
            model or self._provider.chat(),
            tools=list(TOOLS),
            middleware=[adapter.middleware()] if adapter else [],
            checkpointer=self._saver,
        )
        question: Any = {"messages": [HumanMessage(prompt)]}
        try:
            if self._provider.lane.streams:
                async for _ in agent.astream(question, self._config, stream_mode="messages"):
                    pass
            else:
                await agent.ainvoke(question, self._config)
        finally:
            self.history = (await agent.aget_state(self._config)).values.get("messages", [])
        return self.history[-1].text

    async def talk(self) -> None:
        """Tell the secret, then compare two tides: three requests by the host alone."""
        await self.ask(harbour.SECRET, harbour.NOTED)
        await self.ask(harbour.COMPARE, harbour.COMPARED)


class Clerk:
    """A loop by hand over one provider: `history` holds all that was said, edited or not."""

    def __init__(self, provider: ChatProvider) -> None:
        self._provider = provider
        self.history: list[BaseMessage] = []

    async def ask(
        self, prompt: str, adapter: LangChainAdapter | None = None, *, model: BaseChatModel | None = None
    ) -> str:
        """Ask a model that is wrapped where an adapter is given, and answer its calls, until it has said something."""
        chat = model or self._provider.chat()
        runnable = (adapter.wrap(chat) if adapter else chat).bind_tools(list(TOOLS))
        self.history.append(HumanMessage(prompt))
        while not isinstance(self.history[-1], AIMessage) or self.history[-1].tool_calls:
            answer = await self._answer(runnable)
            self.history += [answer, *map(_result, answer.tool_calls)]
        return self.history[-1].text

    async def _answer(self, runnable: Any) -> AIMessage:
        if not self._provider.lane.streams:
            answer: AIMessage = await runnable.ainvoke(self.history)
            return answer
        stream: AsyncIterator[Any] = runnable.astream(self.history)
        total = await anext(stream)
        async for chunk in stream:
            total += chunk
        assert isinstance(total, AIMessage)
        return total


def _result(call: Any) -> ToolMessage:
    tools: dict[str, Callable[..., str]] = {"tide": harbour.tide, "berths": harbour.berths}
    return ToolMessage(tools[call["name"]](**call["args"]), name=call["name"], tool_call_id=call["id"])


def redact(ctx: Context) -> list[BaseMessage]:
    """Put a summary in the place of the turn that holds the code word, once."""
    secret = [group for group in ctx.groups if "saffron" in repr(ctx.messages[group.entry_start : group.entry_end])]
    if not secret:
        return list(ctx.messages)
    return ctx.replace_groups(secret, *ctx.summary_messages("The skipper gave a code word."))


def thoughtful(provider: ChatProvider) -> BaseChatModel:
    """Return a model that reasons."""
    if provider.lane.dialect == "anthropic":
        return provider.chat(thinking={"type": "enabled", "budget_tokens": 1024})
    return provider.chat(
        "gpt-5-mini", reasoning={"effort": "low", "summary": "auto"}, include=["reasoning.encrypted_content"]
    )
