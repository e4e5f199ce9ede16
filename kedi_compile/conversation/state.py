"""`ConversationState`: the committed turns of one conversation, and the line of those who want to add one.

A state is changed by committing a turn and by nothing else. With a store, the store is the truth: a turn begins by
looking whether another process has committed meanwhile, and ends with compare-and-swap. What a turn asks (`refresh`,
`lane`, `latest`, `commit`) only the one that is first in line may. Source: History specification, Stateful Conversation
History, Persistence and Continuation.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from types import TracebackType
from typing import Any, Final, Self

from kedi_compile.conversation.checkpoint import ConversationCheckpoint
from kedi_compile.conversation.cleanup import Cleanups, Release, raise_all
from kedi_compile.conversation.head import lanes_of, read_head, write_head, write_json
from kedi_compile.conversation.lanes import Lane, LaneKey
from kedi_compile.conversation.records import History, check_records
from kedi_compile.conversation.tickets import Line, around
from kedi_compile.errors import (
    ConversationConflict,
    ConversationError,
    HistoryConfigurationError,
    HistoryLaneWarning,
)
from kedi_compile.stores.names import is_utf8
from kedi_compile.stores.protocol import Change, ConversationStore, Head

Lanes = dict[LaneKey, Lane[Any]]

_ATTEMPTS: Final = 10
"""How often a conversation is read again that another process changes while it is read."""

_STALE: Final = -1
"""The revision of a conversation that another process has changed: none, so that it is read again."""


class ConversationState:
    """One conversation: turns that were committed whole, lane by lane, and nothing of those that failed.

    It may be shared by tasks and threads, which take their turns in the order they ask. Messages are held as the host's
    own objects, as in its own results, so do not change them in place.

    Args:
        session_id: The conversation's name; needed with a store, and given to Pydantic AI as its conversation id.
        store: Where turns are kept, beside this object. None keeps them in this object alone.

    Raises:
        HistoryConfigurationError: a store without a `session_id`, or one that is no text.

    Source: History specification, Stateful Conversation History.
    """

    def __init__(self, session_id: str | None = None, store: ConversationStore | None = None) -> None:
        _check_store(store)
        if store is not None and not session_id:
            msg = "A `ConversationState` with a `store` needs a `session_id`, the name it is stored under"
            raise HistoryConfigurationError(msg)
        if session_id is not None and not _is_text(session_id):
            msg = f"`session_id` is {session_id!r}; it must be text that can be written as UTF-8"
            raise HistoryConfigurationError(msg)
        self.session_id = session_id
        self.line = Line()
        self._store = store
        self._lanes: Lanes = {}
        self._revision = 0
        self._cleanups = Cleanups()
        self._is_closed = False
        self._may_warn = True

    def __repr__(self) -> str:
        return f"ConversationState(session_id={self.session_id!r}, turns={self.turns}, lanes={len(self._lanes)})"

    def __reduce__(self) -> tuple[Any, ...]:
        msg = "A `ConversationState` holds live objects; send its `checkpoint().to_json()` and restore that"
        raise TypeError(msg)

    @property
    def turns(self) -> int:
        """How many turns were committed, in all lanes, as far as this object has seen: a store is read by turns."""
        return sum(lane.turns for lane in self._lanes.values())

    @property
    def lanes(self) -> tuple[LaneKey, ...]:
        """The keys of all lanes, the one that was used last at the end."""
        return tuple(self._lanes)

    @property
    def is_stored(self) -> bool:
        """Whether reading and committing may block on a store."""
        return self._store is not None

    def checkpoint(self) -> ConversationCheckpoint:
        """Return what was committed so far, with a store what is committed there now; no turn under way is part of it.

        Raises:
            ConversationError: a message holds what JSON cannot carry, or the store cannot be read.
        """
        lanes = tuple(self._current()[0].values())
        written = [lane.history.records() for lane in lanes]
        entries = {name: record for _, records in written for name, record in records.items()}
        head = write_head(zip(lanes, (names for names, _ in written), strict=True))
        return ConversationCheckpoint(self.session_id, head, entries)

    @classmethod
    def restore(
        cls,
        checkpoint: ConversationCheckpoint,
        *,
        session_id: str | None = None,
        store: ConversationStore | None = None,
    ) -> ConversationState:
        """Return a new conversation that goes on from a checkpoint, under its own name or another.

        With a store it is written there first.

        Raises:
            ConversationConflict: the store has a conversation of that name already.
            ConversationError: the store cannot be used.
            HistoryConfigurationError: it is no checkpoint, or there is a store and no name to keep it under.
        """
        _check_checkpoint(checkpoint)
        state = cls(session_id if session_id is not None else checkpoint.session_id, store)
        state._lanes = lanes_of(checkpoint.head, checkpoint.entries)
        if store is not None and state.session_id is not None:
            change = Change(0, write_json(checkpoint.head), checkpoint.entries)
            with _saying_what_is_there():
                state._revision = store.commit(state.session_id, change)
        return state

    def read(self, adapter: str, key: LaneKey | None = None) -> Lane[Any] | None:
        """Return a lane of an adapter as it is committed now: that of `key`, or the one it used last.

        The adapters' `messages_of` return its messages.

        Raises:
            ConversationError: the store cannot be read.
        """
        lanes = [lane for lane in self._current()[0].values() if lane.key.adapter == adapter]
        return next((lane for lane in reversed(lanes) if key in (None, lane.key)), None)

    def cleanup(self, release: Release) -> None:
        """Release something when the conversation is closed; within a turn, also if that turn fails.

        `release` is called once, without arguments, and awaited if it returns an awaitable.

        Raises:
            ConversationError: the conversation is closed.
        """
        self.check_open()
        turn = next((one for one in reversed(around()) if one.is_of(self.line)), None)
        (turn.cleanups if turn else self._cleanups).register(release)

    def close(self) -> None:
        """Release what its turns have registered, last first; further turns are refused.

        Raises:
            ExceptionGroup: some callbacks raised; all were called.
        """
        self._is_closed = True
        raise_all(self._cleanups.release_sync())

    async def aclose(self) -> None:
        """Do what `close` does, awaiting what is asynchronous.

        Raises:
            ExceptionGroup: some callbacks raised; all were called.
        """
        self._is_closed = True
        raise_all(await self._cleanups.release())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    def check_open(self) -> None:
        """Refuse a conversation that was closed.

        Raises:
            ConversationError: it was.
        """
        if self._is_closed:
            msg = "The conversation is closed; restore it from a checkpoint or its store to go on"
            raise ConversationError(msg, session_id=self.session_id)

    def refresh(self) -> None:
        """Take over what another process has committed since.

        Raises:
            ConversationError: it is closed, or what is stored is damaged or of a newer version.
        """
        self.check_open()
        self._lanes, self._revision = self._current()

    def _current(self) -> tuple[Lanes, int]:
        """The lanes as they are committed now, and their revision; what this object has seen already stays its own."""
        if self._store is None:
            return self._lanes, self._revision
        assert self.session_id is not None  # looked at when it was made
        for _ in range(_ATTEMPTS):
            head = self._store.head(self.session_id)
            if (head.revision if head else 0) == self._revision:
                return self._lanes, self._revision
            if (lanes := _read(self._store, self.session_id, head)) is not None:
                return lanes, head.revision if head else 0
        msg = f"Conversation {self.session_id!r} changed faster than it could be read; try again"
        raise ConversationError(msg, session_id=self.session_id)

    def lane(self, key: LaneKey) -> Lane[Any]:
        """Return the lane of a key; a fresh one in a conversation that has turns is worth a warning."""
        found = self._lanes.get(key)
        if found is None:
            self._warn_about_fresh_lane(key)
            return Lane(key, History.empty())
        return found

    def latest(self, adapter: str) -> Lane[Any] | None:
        """Return the lane this adapter used last, which the next turn most likely continues."""
        return next((lane for lane in reversed(self._lanes.values()) if lane.key.adapter == adapter), None)

    def commit(self, lane: Lane[Any], cleanups: Cleanups) -> None:
        """Make a turn part of the conversation: the lane as it leaves it, and what it registered.

        Raises:
            ConversationConflict: another process committed first.
            ConversationError: the conversation was closed, or a message cannot be stored.
        """
        self.check_open()
        others = {key: one for key, one in self._lanes.items() if key != lane.key}
        lanes = {**others, lane.key: lane}
        if self._store is not None:
            self._revision = self._swap(self._store, lanes)
        self._lanes = lanes
        cleanups.hand_over(self._cleanups)

    def _swap(self, store: ConversationStore, lanes: Lanes) -> int:
        """Commit the lanes to the store: what is new of the one that changed, and the head."""
        assert self.session_id is not None  # looked at when it was made
        changed = next(reversed(lanes.values()))
        known = self._lanes.get(changed.key)
        _, added = changed.history.write(known.history if known else None)
        head = write_head((one, one.history.names) for one in lanes.values())
        dropped = set(known.history.names if known else ()).difference(*(one.history.names for one in lanes.values()))
        change = Change(self._revision, write_json(head), added, frozenset(dropped))
        try:
            return store.commit(self.session_id, change)
        except ConversationConflict:
            self._revision = _STALE
            raise

    def _warn_about_fresh_lane(self, key: LaneKey) -> None:
        if not self._may_warn or not self.turns:
            return
        self._may_warn = False
        nearest = min(self._lanes, key=lambda one: len(one.differences(key)))
        warnings.warn(
            f"This turn starts a fresh lane, so the model {_unseen(self.turns)}: "
            f"{', '.join(nearest.differences(key))} changed. To take the history along, begin a new conversation with "
            "it (`messages_of`). Silence with warnings.filterwarnings('ignore', category=HistoryLaneWarning)",
            HistoryLaneWarning,
            stacklevel=2,
        )


def _read(store: ConversationStore, session_id: str, head: Head | None) -> Lanes | None:
    """Read a head's lanes; None if another commit dropped some of their records in between."""
    if head is None:
        return {}
    model = read_head(head.body)
    names = {name for lane in model.lanes for name in lane.entries}
    records = store.entries(session_id, names)
    if len(records) < len(names) and store.head(session_id) != head:
        return None
    check_records(names, records)
    return lanes_of(model, records)


@contextmanager
def _saying_what_is_there() -> Generator[None]:
    try:
        yield
    except ConversationConflict as error:
        msg = (
            f"The store has a conversation {error.session_id!r} already, at revision {error.found}; give `restore` "
            "another `session_id=`, or delete that one first"
        )
        error.args = (msg,)
        raise


def _unseen(turns: int) -> str:
    return "does not see the turn before it" if turns == 1 else f"sees none of the {turns} earlier turns"


def _check_store(store: object) -> None:
    if store is not None and not isinstance(store, ConversationStore):
        # By its type alone: an address may hold a password.
        msg = f"`store` is a {type(store).__name__}; pass a store, such as `SQLConversationStore(address)`, or None"
        raise HistoryConfigurationError(msg)


def _check_checkpoint(checkpoint: object) -> None:
    if not isinstance(checkpoint, ConversationCheckpoint):
        kind = type(checkpoint).__name__
        msg = f"`restore` was given a {kind}, no checkpoint; read text with `ConversationCheckpoint.from_json`"
        raise HistoryConfigurationError(msg)


def _is_text(value: object) -> bool:
    return isinstance(value, str) and is_utf8(value)
