"""A node of a raw LangGraph graph that calls a model and keeps an edit together with the answer it led to.

The node returns the durable replacement and the response in one update, so a failing or cancelled call leaves the state
as it was. A raw graph has no private state for the adapter, so each call counts as a run of one request.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from kedi_langchain.editing import EditedRequest
from kedi_langchain.middleware import replacement

Update = dict[str, list[BaseMessage | dict[str, Any]]]

edits_of_node: ContextVar[list[EditedRequest] | None] = ContextVar("kedi_edits_of_node", default=None)
"""Where wrapped models note the edits they make inside a node."""


def model_node(model: Runnable[Any, Any], key: str) -> Runnable[Mapping[str, Any], Update]:
    """Return a node that calls the wrapped `model` over `state[key]` and returns the update of that key."""

    def call(state: Mapping[str, Any], config: RunnableConfig) -> Update:
        with _noting() as edits:
            response = model.invoke(list(state[key]), config)
        return {key: _update(edits, response)}

    async def acall(state: Mapping[str, Any], config: RunnableConfig) -> Update:
        with _noting() as edits:
            response = await model.ainvoke(list(state[key]), config)
        return {key: _update(edits, response)}

    return RunnableLambda(call, acall, name="model_node")


@contextmanager
def _noting() -> Generator[list[EditedRequest]]:
    edits: list[EditedRequest] = []
    token = edits_of_node.set(edits)
    try:
        yield edits
    finally:
        edits_of_node.reset(token)


def _update(edits: list[EditedRequest], response: object) -> list[BaseMessage | dict[str, Any]]:
    """The response, behind the history as the last request of the node had it."""
    if not isinstance(response, BaseMessage):
        msg = f"The model of a node returned {type(response).__name__}, not a message; leave output parsers out of it"
        raise TypeError(msg)
    last = edits[-1] if edits else None
    return replacement(last.history, last.shown, [response]) if last and last.is_rewritten else [response]
