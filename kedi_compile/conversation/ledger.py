"""`Ledger`: what the turns of one conversation share: their line, the committed lanes, and where these are stored.

With a store, the store is the truth: a turn begins by looking whether another process has committed meanwhile, and ends
with compare-and-swap. What a turn asks (`refresh`, `lane`, `latest`, `commit`) only the one that is first in line may.
Source: History specification, Stateful Conversation History, Persistence and Continuation.
"""

from __future__ import annotations

import warnings
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any, Final

from kedi_compile.conversation.checkpoint import ConversationCheckpoint
from kedi_compile.conversation.cleanup import Cleanups, Release
from kedi_compile.conversation.head import lanes_of, read_head, write_head, write_json
from kedi_compile.conversation.lanes import Lane, LaneKey
from kedi_compile.conversation.records import History, check_records
from kedi_compile.conversation.tickets import Line, around
from kedi_compile.errors import ConversationConflict, ConversationError, HistoryLaneWarning
from kedi_compile.stores.protocol import Change, ConversationStore, Head

Lanes = dict[LaneKey, Lane[Any]]

_ATTEMPTS: Final = 10
"""How often a conversation is read again that another process changes while it is read."""

_STALE: Final = -1
"""The revision of a conversation that another process has changed: none, so that it is read again."""


class Ledger:
    """The committed lanes of one conversation, changed by committing a turn and by nothing else.

    `session_id` is there wherever `store` is. `lanes` are in the order of their last use, as this object has seen them.
    """

    def __init__(self, session_id: str | None, store: ConversationStore | None) -> None:
        self.session_id = session_id
        self.line = Line()
        self.lanes: Lanes = {}
        self._store = store
        self._revision = 0
        self._cleanups = Cleanups()
        self._is_closed = False
        self._may_warn = True

    @property
    def turns(self) -> int:
        """How many turns were committed, in all lanes, as far as this object has seen."""
        return sum(lane.turns for lane in self.lanes.values())

    @property
    def is_stored(self) -> bool:
        """Whether reading and committing may block on a store."""
        return self._store is not None

    def adopt(self, checkpoint: ConversationCheckpoint) -> None:
        """Begin with a checkpoint's lanes, which are written to the store first.

        Raises:
            ConversationConflict: the store has a conversation of that name already.
            ConversationError: the store cannot be used.
        """
        lanes = lanes_of(checkpoint.head, checkpoint.entries)
        if self._store is not None:
            change = Change(0, write_json(checkpoint.head), checkpoint.entries)
            with _saying_what_is_there():
                self._revision = self._store.commit(self._name, change)
        self.lanes = lanes

    def check_open(self) -> None:
        """Refuse a conversation that was closed.

        Raises:
            ConversationError: it was.
        """
        if self._is_closed:
            msg = "The conversation is closed; restore it from a checkpoint or its store to go on"
            raise ConversationError(msg, session_id=self.session_id)

    def close(self) -> Cleanups:
        """Refuse further turns, and return what those until now have registered."""
        self._is_closed = True
        return self._cleanups

    def register(self, release: Release) -> None:
        """Register a callback with the turn the caller is in, or with the conversation outside of its turns.

        Raises:
            ConversationError: the conversation is closed.
            HistoryConfigurationError: it is not callable.
        """
        self.check_open()
        turn = next((one for one in reversed(around()) if one.is_of(self.line)), None)
        (turn.cleanups if turn else self._cleanups).register(release)

    def refresh(self) -> None:
        """Take over what another process has committed since.

        Raises:
            ConversationError: it is closed, or what is stored is damaged or of a newer version.
        """
        self.check_open()
        self.lanes, self._revision = self._current()

    def current(self) -> Lanes:
        """Return the lanes as they are committed now; what this object has seen already stays its own.

        Raises:
            ConversationError: what is stored is damaged or of a newer version.
        """
        return self._current()[0]

    def lane(self, key: LaneKey) -> Lane[Any]:
        """Return the lane of a key; a fresh one in a conversation that has turns is worth a warning."""
        found = self.lanes.get(key)
        if found is None:
            self._warn_about_fresh_lane(key)
            return Lane(key, History.empty())
        return found

    def latest(self, adapter: str) -> Lane[Any] | None:
        """Return the lane this adapter used last, which the next turn most likely continues."""
        return latest_of(self.lanes, adapter)

    def commit(self, lane: Lane[Any], cleanups: Cleanups) -> None:
        """Make a turn part of the conversation: the lane as it leaves it, and what it registered.

        Raises:
            ConversationConflict: another process committed first.
            ConversationError: the conversation was closed, or a message cannot be stored.
        """
        self.check_open()
        others = {key: one for key, one in self.lanes.items() if key != lane.key}
        lanes = {**others, lane.key: lane}
        if self._store is not None:
            self._revision = self._swap(self._store, lanes)
        self._may_warn = self._may_warn and (lane.key in self.lanes or not self.turns)  # told once it holds
        self.lanes = lanes
        cleanups.hand_over(self._cleanups)

    @property
    def _name(self) -> str:
        assert self.session_id is not None  # looked at when the conversation was made
        return self.session_id

    def _current(self) -> tuple[Lanes, int]:
        if self._store is None:
            return self.lanes, self._revision
        for _ in range(_ATTEMPTS):
            head = self._store.head(self._name)
            if (head.revision if head else 0) == self._revision:
                return self.lanes, self._revision
            if (lanes := _read(self._store, self._name, head)) is not None:
                return lanes, head.revision if head else 0
        msg = f"Conversation {self.session_id!r} changed faster than it could be read; try again"
        raise ConversationError(msg, session_id=self.session_id)

    def _swap(self, store: ConversationStore, lanes: Lanes) -> int:
        """Commit the lanes to the store: what is new of the one that changed, and the head."""
        changed = next(reversed(lanes.values()))
        known = self.lanes.get(changed.key)
        _, added = changed.history.write(known.history if known else None)
        head = write_head((one, one.history.names) for one in lanes.values())
        dropped = set(known.history.names if known else ()).difference(*(one.history.names for one in lanes.values()))
        change = Change(self._revision, write_json(head), added, frozenset(dropped))
        try:
            return store.commit(self._name, change)
        except ConversationConflict:
            self._revision = _STALE
            raise

    def lane_note(self, key: LaneKey) -> str:
        """Say which lane a turn of `key` goes on in, for whoever asks what the model saw."""
        if (lane := self.lanes.get(key)) is not None:
            return f"goes on with {lane.turns} turn{'s' if lane.turns != 1 else ''}"
        return f"fresh: the model {_unseen(self.turns)}, {self._changed(key)} changed" if self.turns else "the first"

    def _changed(self, key: LaneKey) -> str:
        nearest = min(self.lanes, key=lambda one: len(one.differences(key)))
        return ", ".join(nearest.differences(key))

    def _warn_about_fresh_lane(self, key: LaneKey) -> None:
        if not self._may_warn or not self.turns:
            return
        warnings.warn(
            f"This turn starts a fresh lane, so the model {_unseen(self.turns)}: {self._changed(key)} changed. To take "
            "the history along, begin a new conversation with it (`messages_of`). Silence with "
            "warnings.filterwarnings('ignore', category=HistoryLaneWarning)",
            HistoryLaneWarning,
            stacklevel=2,
        )


def latest_of(lanes: Lanes, adapter: str, key: LaneKey | None = None) -> Lane[Any] | None:
    """Return that one of an adapter's lanes which was used last, or the one of `key`; None where there is none."""
    fitting = (lane for lane in reversed(lanes.values()) if lane.key.adapter == adapter)
    return next((lane for lane in fitting if key in (None, lane.key)), None)


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
