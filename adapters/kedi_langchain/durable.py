"""What a thread keeps after an edit: its own messages, as the edit left them.

A request may show other messages than the thread holds: a prompt or another middleware adds, trims or rewrites for one
request. Only the edit becomes durable, so kept entries are the thread's own messages by id, what was added for the
request goes, and what the request never showed stays where it was. Measured on langgraph 1.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import BaseMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from kedi_langchain.continuation import without_response_ids
from kedi_langchain.editing import EditedRequest

Update = list[BaseMessage | dict[str, Any]]


def shows(edited: EditedRequest, thread: Sequence[BaseMessage]) -> bool:
    """Whether the request showed anything of the thread."""
    own = _Own(thread)
    return any(own.find(message) is not None for message in edited.shown)


def replacement(edited: EditedRequest, thread: Sequence[BaseMessage], answer: Sequence[BaseMessage]) -> Update:
    """List a thread anew: the order to remove all, its messages as the edit left them, and the answer.

    The order and new texts are dictionaries, which a thread takes like messages and which do not appear in a
    `stream_mode="messages"` stream. Where the model chains to response ids, none from before the edit is left.
    """
    kept = _in_thread_order(edited, thread)
    listed = [one if isinstance(one, dict) else without_response_ids([one], edited.model)[0] for one in kept]
    return [{"role": "remove", "content": "", "id": REMOVE_ALL_MESSAGES}, *listed, *answer]


class _Own:
    """The thread's own messages by id and by object, and its tool calls that nothing answers."""

    def __init__(self, thread: Iterable[BaseMessage]) -> None:
        self._by_object = {id(message): message for message in thread}
        self._by_id = {message.id: message for message in thread if message.id}
        self._answered = {message.tool_call_id for message in thread if isinstance(message, ToolMessage)}

    def find(self, message: BaseMessage) -> BaseMessage | None:
        """Return the thread's form of a message, or None where it holds none.

        A result for a call that nothing in the thread answers is the host's repair, which it stores.
        """
        found = self._by_object.get(id(message)) or (self._by_id.get(message.id) if message.id else None)
        if found is None and isinstance(message, ToolMessage) and message.tool_call_id not in self._answered:
            return message
        return found


def _in_thread_order(edited: EditedRequest, thread: Sequence[BaseMessage]) -> Iterator[BaseMessage | dict[str, Any]]:
    own = _Own(thread)
    shown = [own.find(message) for message in edited.shown]
    survivors = list(_survivors(edited, own))
    hidden = _hidden(thread, set(map(id, shown)), {id(old) for old, _ in survivors})
    yield from hidden[None]
    for old, new in survivors:
        yield new
        yield from hidden[id(old)] if old is not None else ()


def _survivors(edited: EditedRequest, own: _Own) -> Iterator[tuple[BaseMessage | None, BaseMessage | dict[str, Any]]]:
    """Each message the edit left: the thread's own (None for a new text), and what becomes of it."""
    shown = set(map(id, edited.shown))
    for message in edited.history:
        old = own.find(message)
        if id(message) not in shown:  # a new text, or a message whose bound reasoning was stripped
            yield old, _as_plain(message) if old is None else message
        elif old is not None:
            yield old, old


def _hidden(
    thread: Sequence[BaseMessage], shown: set[int], survivors: set[int]
) -> defaultdict[int | None, list[BaseMessage]]:
    """What the request never showed, by the survivor it stands behind (None: in front)."""
    behind: defaultdict[int | None, list[BaseMessage]] = defaultdict(list)
    anchor: int | None = None
    for message in thread:
        if id(message) in survivors:
            anchor = id(message)
        elif id(message) not in shown:
            behind[anchor].append(message)
    return behind


def _as_plain(message: BaseMessage) -> dict[str, Any]:
    role = "user" if message.type == "human" else "assistant"
    return {"role": role, "content": message.content, "id": message.id or str(uuid4())}
