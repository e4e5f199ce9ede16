"""What a thread keeps after an edit: its own messages, as the edit left them.

A request may show other messages than the thread holds: a prompt or another middleware adds, trims or rewrites for one
request. Only the edit becomes durable, so kept entries are the thread's own messages by id, what was added for the
request goes, and what the request never showed stays where it was. An edit that only drops is written as removals, so
that what others write in the same step stays; any other edit lists the thread anew. Measured on langgraph 1.2.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Any
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langgraph.graph.message import REMOVE_ALL_MESSAGES

from kedi_compile.history.flow import Staged
from kedi_langchain.continuation import without_response_id
from kedi_langchain.editing import EditedRequest

Update = list[BaseMessage | dict[str, Any]]

Left = tuple[BaseMessage | None, BaseMessage]
"""A message of the thread (None for a new text), and what the edit made of it."""


def shows(edited: EditedRequest, thread: Sequence[BaseMessage]) -> bool:
    """Whether the request showed anything of the thread."""
    own = _Own(thread)
    return any(own.find(message) is not None for message in edited.shown)


def replacement(
    edited: EditedRequest, thread: Sequence[BaseMessage], answer: Sequence[BaseMessage], *, is_written: bool = False
) -> Update:
    """Return what turns the thread into its edited form with the answer behind it, for the `add_messages` reducer.

    `is_written` says that the host writes the answer itself, before this: where changes in place do, it is left to
    the host, because others may have put another in its place.
    """
    own = _Own(thread)
    shown = [*(None for _ in edited.shown[: edited.front]), *map(own.find, edited.shown[edited.front :])]
    left = list(_left(edited, thread, shown))
    changes = None if own.is_repaired(shown) else _changes(thread, left)
    if changes is not None:
        return changes if is_written else [*changes, *answer]
    # Dictionaries, because these would appear in a `stream_mode="messages"` stream as messages.
    listed = [_as_plain(new) if old is None else new for old, new in left]
    return [{"role": "remove", "content": "", "id": REMOVE_ALL_MESSAGES}, *listed, *answer]


def _changes(thread: Sequence[BaseMessage], left: Sequence[Left]) -> Update | None:
    """The changes in place and removals that make `left` of the thread, or None where they cannot.

    Each message stands before its own removal, because a removal of what somebody else removed already is an error.
    """
    kept = {id(old) for old, _ in left}
    is_in_order = [id(old) for old in thread if id(old) in kept] == [id(old) for old, _ in left]
    if not is_in_order or any(old is not None and new.id != old.id for old, new in left):
        return None
    gone = [message for message in thread if id(message) not in kept and message.id]
    removals = [one for message in gone for one in (message, RemoveMessage(id=str(message.id)))]
    return [*(new for old, new in left if new is not old), *removals]


class _Own:
    """The thread's own messages by id and by object, and its tool calls that nothing answers."""

    def __init__(self, thread: Sequence[BaseMessage]) -> None:
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

    def is_repaired(self, found: Iterable[BaseMessage | None]) -> bool:
        """Whether the host writes results of its own in this step, which no list of changes could name."""
        return any(message is not None and id(message) not in self._by_object for message in found)


def _left(edited: EditedRequest, thread: Sequence[BaseMessage], shown: Sequence[BaseMessage | None]) -> Iterator[Left]:
    """What the thread is left with, what the request never showed included; `shown` is the thread's form of it."""
    survivors = list(_survivors(edited, shown))
    kept, calls = {id(old) for old, _ in survivors}, _calls(new for _, new in survivors)
    hidden = _hidden(thread, set(map(id, shown)), kept, calls)
    yield from _untouched(hidden[None])
    for old, new in survivors:
        yield old, new
        yield from _untouched(hidden[id(old)] if old is not None else [])


def _untouched(messages: Sequence[BaseMessage]) -> Iterator[Left]:
    return ((message, message) for message in messages)


def _survivors(edited: EditedRequest, shown: Sequence[BaseMessage | None]) -> Iterator[Left]:
    """What the edit left of the request; each message of the thread once, what is not the thread's not at all."""
    entries = edited.outcome.entries if isinstance(edited.outcome, Staged) else range(len(edited.shown))
    seen: set[int] = set()
    for entry, message in list(zip(entries, edited.history, strict=True))[edited.cut :]:
        if entry is None:
            yield None, message
            continue
        old = shown[entry]
        if old is None or id(old) in seen:
            continue
        seen.add(id(old))
        is_whole = message is edited.shown[entry]  # it is not where bound reasoning was stripped
        yield old, without_response_id(old if is_whole else message)


def _hidden(
    thread: Sequence[BaseMessage], shown: set[int], survivors: set[int], calls: set[str | None]
) -> defaultdict[int | None, list[BaseMessage]]:
    """What the request never showed, by the survivor it stands behind (None: in front); no result without its call."""
    behind: defaultdict[int | None, list[BaseMessage]] = defaultdict(list)
    anchor: int | None = None
    for message in thread:
        if id(message) in survivors:
            anchor = id(message)
        elif id(message) not in shown and not (isinstance(message, ToolMessage) and message.tool_call_id not in calls):
            behind[anchor].append(message)
            calls |= _calls([message])
    return behind


def _calls(messages: Iterable[BaseMessage]) -> set[str | None]:
    answers = [message for message in messages if isinstance(message, AIMessage)]
    return {call["id"] for message in answers for call in (*message.tool_calls, *message.invalid_tool_calls)}


def _as_plain(message: BaseMessage) -> dict[str, Any]:
    role = "user" if message.type == "human" else "assistant"
    plain = {"role": role, "content": message.content, "id": message.id or str(uuid4())}
    return {**plain, "response_metadata": message.response_metadata} if message.response_metadata else plain
