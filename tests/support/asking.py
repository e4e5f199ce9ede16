"""The ways to run a LangChain agent, and to ask a wrapped model, as two tables of small functions.

`shown` writes a request as short literal texts, with the blocks of a content apart.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from typing import Any, Final

from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage

from chats import lines


async def _drained(stream: Any) -> list[Any]:
    return [item async for item in stream]


def _async(way: Callable[[Any, Any, Any], Any]) -> Callable[..., Any]:
    async def main(runnable: Any, given: Any, config: Any) -> Any:
        return await way(runnable, given, config)

    def run(runnable: Any, given: Any, config: Any = None) -> Any:
        return asyncio.run(main(runnable, given, config))

    return run


RUNS: Final[dict[str, Callable[..., Any]]] = {
    "invoke": lambda graph, given, config=None: graph.invoke(given, config),
    "ainvoke": _async(lambda graph, given, config: graph.ainvoke(given, config)),
    "stream": lambda graph, given, config=None: list(
        graph.stream(given, config, stream_mode=["updates", "values", "messages", "custom"])
    ),
    "astream": _async(
        lambda graph, given, config: _drained(
            graph.astream(given, config, stream_mode=["updates", "values", "messages", "custom"])
        )
    ),
    "astream_events": _async(
        lambda graph, given, config: _drained(graph.astream_events(given, config, version="v2", include_types=["tool"]))
    ),
}
"""Runs a graph and returns all that comes out."""

ASKS: Final[dict[str, Callable[[Any, Any], Any]]] = {
    "invoke": lambda model, given: model.invoke(given),
    "ainvoke": lambda model, given: asyncio.run(model.ainvoke(given)),
    "stream": lambda model, given: list(model.stream(given)),
    "astream": lambda model, given: asyncio.run(_drained(model.astream(given))),
    "batch": lambda model, given: model.batch([given]),
}
"""Asks a model and returns what came back."""


def shown(messages: Iterable[BaseMessage]) -> list[str]:
    """Write each message as one line, as `lines` does, with the texts of a user's content divided by ` | `."""
    return [_shown(message) for message in messages]


def _shown(message: BaseMessage) -> str:
    if isinstance(message, ToolMessage) or not isinstance(message, HumanMessage) or isinstance(message.content, str):
        return lines([message])[0]
    blocks = [block if isinstance(block, str) else block.get("text", block["type"]) for block in message.content]
    return f"< {' | '.join(block.removeprefix(BREAK).removesuffix(BREAK) for block in blocks)}"


BREAK: Final = "\n\n"
"""What parts an assembled text from the user's, for servers that join the blocks of a message."""
