"""A node of a raw LangGraph graph that calls a model and keeps an edit together with the answer it led to.

The node returns the durable replacement and the response in one update, so a failing or cancelled call leaves the state
as it was. A raw graph has no private state for the adapter, so each call counts as a run of one request, and a fixed
response id or conversation in the model's own arguments is left out of rewritten requests alone.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

from langchain_core.messages import BaseMessage, convert_to_messages
from langchain_core.runnables import Runnable, RunnableConfig, RunnableLambda

from kedi_compile import HistoryConfigurationError
from kedi_compile.history.lifecycle import RequestState
from kedi_langchain.durable import replacement, shows
from kedi_langchain.editing import EditedRequest

Update = dict[str, list[BaseMessage | dict[str, Any]]]

edits_of_node: ContextVar[list[EditedRequest] | None] = ContextVar("kedi_edits_of_node", default=None)
"""Where wrapped models note the edits they make inside a node."""


def model_node(model: Runnable[Any, Any], key: str) -> Runnable[Any, Update]:
    """Return a node that calls the wrapped `model` over a graph's `key` and returns the update of that key."""

    def call(state: Any, config: RunnableConfig) -> Update:
        thread = _thread(state, key)
        with _noting() as edits:
            response = model.invoke(list(thread), config)
        return {key: _update(edits, thread, response)}

    async def acall(state: Any, config: RunnableConfig) -> Update:
        thread = _thread(state, key)
        with _noting() as edits:
            response = await model.ainvoke(list(thread), config)
        return {key: _update(edits, thread, response)}

    return RunnableLambda(call, acall, name="model_node")


def _thread(state: Any, key: str) -> list[BaseMessage]:
    """The thread's messages: a state is a mapping, or an object with attributes."""
    try:
        found = state[key] if isinstance(state, Mapping) else getattr(state, key)
    except (KeyError, AttributeError) as error:
        msg = f"The graph's state has no {key!r}; give `model_node` the key its messages are under: `key=...`"
        raise HistoryConfigurationError(msg) from error
    return convert_to_messages(found)


@contextmanager
def _noting() -> Generator[list[EditedRequest]]:
    edits: list[EditedRequest] = []
    token = edits_of_node.set(edits)
    try:
        yield edits
    finally:
        edits_of_node.reset(token)


def _update(
    edits: list[EditedRequest], thread: list[BaseMessage], response: object
) -> list[BaseMessage | dict[str, Any]]:
    """The response, behind the thread as the last request that showed it left it."""
    if not isinstance(response, BaseMessage):
        msg = f"The model of a node returned {type(response).__name__}, not a message; leave output parsers out of it"
        raise TypeError(msg)
    answered = (one for one in reversed(edits) if one.session.state is RequestState.ANSWERED)
    last = next((one for one in answered if shows(one, thread)), None)
    return replacement(last, thread, [response]) if last and last.is_rewritten else [response]
