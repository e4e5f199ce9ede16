"""`ConversationState`: one conversation, as its user holds it: made, restored, read, checkpointed and closed.

Its turns work on its `Ledger`. Source: History specification, Stateful Conversation History, Persistence and
Continuation.
"""

from __future__ import annotations

from types import TracebackType
from typing import Any, Self

from kedi_compile.conversation.checkpoint import ConversationCheckpoint
from kedi_compile.conversation.cleanup import Release, raise_all
from kedi_compile.conversation.head import write_head
from kedi_compile.conversation.lanes import Lane, LaneKey
from kedi_compile.conversation.ledger import Ledger, latest_of
from kedi_compile.errors import HistoryConfigurationError
from kedi_compile.stores.names import is_utf8
from kedi_compile.stores.protocol import ConversationStore


class ConversationState:
    """One conversation: turns that were committed whole, lane by lane, and nothing of those that failed.

    It may be shared by tasks and threads, which take their turns in the order they ask. Messages are held as the host's
    own objects, as in its own results, so do not change them in place. `ledger` belongs to its turns.

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
        self.ledger = Ledger(session_id, store)

    def __repr__(self) -> str:
        return f"ConversationState(session_id={self.session_id!r}, turns={self.turns}, lanes={len(self.lanes)})"

    def __reduce__(self) -> tuple[Any, ...]:
        msg = "A `ConversationState` holds live objects; send its `checkpoint().to_json()` and restore that"
        raise TypeError(msg)

    @property
    def session_id(self) -> str | None:
        """The conversation's name, or None where it has none."""
        return self.ledger.session_id

    @property
    def turns(self) -> int:
        """How many turns were committed, in all lanes, as far as this object has seen: a store is read by turns."""
        return self.ledger.turns

    @property
    def lanes(self) -> tuple[LaneKey, ...]:
        """The keys of all lanes, the one that was used last at the end."""
        return tuple(self.ledger.lanes)

    def checkpoint(self) -> ConversationCheckpoint:
        """Return what was committed so far, with a store what is committed there now; no turn under way is part of it.

        Raises:
            ConversationError: a message holds what JSON cannot carry, or the store cannot be read.
        """
        lanes = tuple(self.ledger.current().values())
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
        state.ledger.adopt(checkpoint)
        return state

    def read(self, adapter: str, key: LaneKey | None = None) -> Lane[Any] | None:
        """Return a lane of an adapter as it is committed now: that of `key`, or the one it used last.

        The adapters' `messages_of` return its messages.

        Raises:
            ConversationError: the store cannot be read.
        """
        return latest_of(self.ledger.current(), adapter, key)

    def cleanup(self, release: Release) -> None:
        """Release something when the conversation is closed; within a turn, also if that turn fails.

        `release` is called once, without arguments, and awaited if it returns an awaitable.

        Raises:
            ConversationError: the conversation is closed.
        """
        self.ledger.register(release)

    def close(self) -> None:
        """Release what its turns have registered, last first; further turns are refused.

        Raises:
            ExceptionGroup: some callbacks raised; all were called.
        """
        raise_all(self.ledger.close().release_sync())

    async def aclose(self) -> None:
        """Do what `close` does, awaiting what is asynchronous.

        Raises:
            ExceptionGroup: some callbacks raised; all were called.
        """
        raise_all(await self.ledger.close().release())

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
