"""Pydantic AI agents in conversations: short ways to make one, to run its turns, and to read what a state holds."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability

from agents import Script, adapter, lines, run_through
from kedi_compile.conversation import ConversationState, history_scope
from kedi_pydantic_ai import messages_of

AnyAgent = Agent[Any, Any]
AnyCapability = AbstractCapability[Any]


def talking(script: Script, *capabilities: AnyCapability, **options: Any) -> AnyAgent:
    """Return an agent with a plain adapter, or with the capabilities that are given."""
    return Agent(script.model, capabilities=capabilities or (adapter(),), **options)


def talk(agent: AnyAgent, state: ConversationState, *prompts: str | None, entry: str = "run", **options: Any) -> None:
    """Run one turn for each prompt."""
    with history_scope(True, state):
        for prompt in prompts:
            run_through(entry, agent, prompt, **options)


def held(state: ConversationState) -> list[str]:
    """Return the messages of the lane that was used last, as lines."""
    return lines(messages_of(state))


def is_free(state: ConversationState) -> bool:
    """Tell whether nobody holds a ticket, and the next turn is served at once."""
    return state.ledger.line.tickets == []


def begun(*tools: Callable[..., Any]) -> ConversationState:
    """Return a conversation of one turn, of an agent with these tools."""
    state = ConversationState()
    talk(talking(Script("one"), tools=tools), state, "first")
    return state


def is_as_before(state: ConversationState, *tools: Callable[..., Any]) -> bool:
    """Tell whether such a conversation holds its first turn alone, is free, and takes a next turn."""
    before = (state.turns, held(state), is_free(state)) == (1, ["< first", "> one"], True)
    talk(talking(Script("next"), tools=tools), state, "next")
    return before and (state.turns, held(state)[2:3]) == (2, ["< next"])


async def soon(awaitable: Any) -> Any:
    """Await something that must not wait for ever."""
    return await asyncio.wait_for(awaitable, 20)


def look() -> str:
    """Look around."""
    return "seen"
