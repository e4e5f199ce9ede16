"""A store in a dictionary, and what else the tests of conversations need: short ways to make and read toy turns.

Before each call the store asks `meddle`, with the call's name, so that a test can be the other process, or hold a call.
`added` says which entries each commit brought.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from typing import Any, Final

from kedi_compile import ConversationConflict
from kedi_compile.conversation import ConversationState, LaneKey
from kedi_compile.conversation.records import History
from kedi_compile.conversation.tickets import Ticket
from kedi_compile.conversation.turns import Turn
from kedi_compile.dialect import Dialect
from kedi_compile.history.carried import Carried
from kedi_compile.stores.protocol import Change, Head
from toy import Message, ToyDialect, talk

KEY: Final = LaneKey("toy", "toy:small")
OTHER: Final = LaneKey("toy", "toy:large")


class Shelf:
    """Keeps conversations for one test."""

    def __init__(self) -> None:
        self.heads: dict[str, Head] = {}
        self.kept: dict[str, bytes] = {}
        self.added: list[int] = []
        self.meddle: Callable[[str], Any] = lambda call: None

    def head(self, session_id: str) -> Head | None:
        self.meddle("head")
        return self.heads.get(session_id)

    def entries(self, session_id: str, digests: Collection[str]) -> dict[str, bytes]:
        self.meddle("entries")
        return {name: self.kept[name] for name in digests if name in self.kept}

    def commit(self, session_id: str, change: Change) -> int:
        self.meddle("commit")
        found = self.heads.get(session_id)
        revision = found.revision if found else 0
        if revision != change.revision:
            raise ConversationConflict(session_id, expected=change.revision, found=revision if found else None)
        self.kept = {name: one for name, one in self.kept.items() if name not in change.dropped} | dict(change.added)
        self.heads[session_id] = Head(revision + 1, change.head)
        self.added.append(len(change.added))
        return revision + 1

    def delete(self, session_id: str) -> None:
        self.heads.pop(session_id, None)


def extended(
    turn: Turn, topic: str, key: LaneKey = KEY, dialect: Dialect[Message] | None = None, **carried: Any
) -> Any:
    """Return the lane of a turn with one more closed exchange about `topic`."""
    dialect = dialect or ToyDialect()
    lane = turn.ledger.lane(key)
    messages = [*lane.history.messages(dialect), *talk(topic)]
    return lane.after_turn(History(messages, dialect), Carried(**carried))


def converse(
    state: ConversationState, *topics: str, key: LaneKey = KEY, dialect: Dialect[Message] | None = None, **carried: Any
) -> ConversationState:
    """Commit one turn for each topic, and return the conversation."""
    for topic in topics:
        turn = Turn(state)
        turn.enter_sync()
        turn.commit_sync(extended(turn, topic, key, dialect, **carried))
    return state


def topics(state: ConversationState, key: LaneKey = KEY) -> list[str]:
    """Return what the turns of a lane were about."""
    messages = state.ledger.lane(key).history.messages(ToyDialect())
    return [message.text.removeprefix("About ").removesuffix("?") for message in messages if message.role == "user"]


def opened(store: Shelf) -> ConversationState:
    """Open the conversation, as one more process."""
    return ConversationState("talk", store)


def looked_at(store: Shelf) -> list[str]:
    """Return what a process that comes now finds."""
    state = opened(store)
    state.ledger.refresh()
    return topics(state)


@contextmanager
def inside(ticket: Ticket) -> Iterator[None]:
    """Run in a ticket's turn."""
    ticket.enter()
    try:
        yield
    finally:
        ticket.leave()
