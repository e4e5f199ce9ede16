"""LangGraph threads for the tests: agents and graphs over scripted models, and what their durable state holds.

`built` makes a graph by one of `WAYS`: `create_agent` with the middleware, or a raw graph with the node. `kept` writes
the durable history as one line per message, with its id; `Gate` holds an asynchronous function until its task is
cancelled.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any, Final

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

from chats import Answer, StreamingChat, Transport, lines, turns
from kedi_langchain import LangChainAdapter

WAYS: Final = ("middleware", "node")
THREAD: Final[Any] = {"configurable": {"thread_id": "thread"}}

Graph = Any
"""A compiled graph; its four type parameters say nothing here."""


def look() -> str:
    """Look around."""
    return "seen"


def agent(
    transport: Transport,
    adapter: LangChainAdapter | None,
    saver: Any = None,
    *,
    outside: Sequence[Any] = (),
    inside: Sequence[Any] = (),
    model: BaseChatModel | None = None,
    **options: Any,
) -> Graph:
    """Build an agent with one tool, the adapter's middleware, and others outside and inside of it."""
    ours = [adapter.middleware()] if adapter else []
    middleware = [*outside, *ours, *inside]
    chosen = model or StreamingChat(transport=transport)
    return create_agent(chosen, middleware=middleware, checkpointer=saver, **{"tools": [look], **options})


def graph(
    transport: Transport, adapter: LangChainAdapter, saver: Any = None, *, model: BaseChatModel | None = None
) -> Graph:
    """Build a raw graph of one node."""
    builder: Any = StateGraph(MessagesState)
    builder.add_node("model", adapter.model_node(model or StreamingChat(transport=transport)))
    builder.add_edge(START, "model")
    return builder.compile(checkpointer=saver)


def built(way: str, transport: Transport, adapter: LangChainAdapter, saver: Any) -> Graph:
    """Build a graph by one of `WAYS`."""
    return agent(transport, adapter, saver) if way == "middleware" else graph(transport, adapter, saver)


def answering(*answers: Answer) -> Transport:
    """Return the provider's side with these answers."""
    return Transport(answers)


def asks(prompt: str = "now", count: int = 3) -> dict[str, list[BaseMessage]]:
    """Return the input of a run: `count` closed exchanges with ids, and a new question whose id is its text."""
    return {"messages": [*turns(count, ids=True), HumanMessage(prompt, id=prompt)]}


def says(prompt: str) -> dict[str, list[BaseMessage]]:
    """Return the input of a later run: one question, whose id is its text."""
    return {"messages": [HumanMessage(prompt, id=prompt)]}


def kept(messages: Iterable[BaseMessage]) -> list[str]:
    """Write each message as its id and its line."""
    listed = list(messages)
    return [f"{message.id} {line}" for message, line in zip(listed, lines(listed), strict=True)]


class Gate:
    """Waits until its task is cancelled; `entered` tells that somebody waits."""

    def __init__(self) -> None:
        self.entered = asyncio.Event()

    async def wait(self) -> None:
        """Wait for good."""
        self.entered.set()
        await asyncio.Event().wait()
