"""One turn as a transaction: ticket, read, run, and commit of all it changed, or of nothing.

`begin` decides, where a call begins, whether it is a turn of the conversation in scope; the adapter then enters, runs
its host, and commits or abandons. Every way out gives the ticket back. Each step has an awaiting and a blocking form
over the same work. Source: History specification, Stateful Conversation History.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, TypeVar

import anyio

from kedi_compile.conversation.cleanup import Release, raise_all
from kedi_compile.conversation.lanes import Lane
from kedi_compile.conversation.scope import Scope
from kedi_compile.conversation.state import ConversationState
from kedi_compile.conversation.tickets import Ticket, around
from kedi_compile.errors import ConversationError
from kedi_compile.history.drive import in_thread

ResultT = TypeVar("ResultT")


def begin(scope: Scope, *, is_callers_task: bool = True) -> Turn | None:
    """Take a ticket for a call that begins now; None where the call is no turn of a conversation.

    Unless `is_callers_task` is False, the ticket is given back when the current task ends and the call never began.

    A call within a turn of the same conversation, as of a sub-agent that a tool runs, is none if it merely inherited
    the conversation.

    Raises:
        ConversationError: it was given the conversation of its own turn, or the conversation is closed.
    """
    state = scope.state
    if not scope.enabled or state is None:
        return None
    inside = [one for one in around() if one.is_of(state.ledger.line)]
    if any(one in scope.given_within for one in inside):
        msg = (
            "This run was given the conversation of the turn it runs in, so it would wait for itself; give it another "
            "`state`, or leave `state` out to run it without conversation"
        )
        raise ConversationError(msg, session_id=state.session_id)
    if inside:
        return None
    state.ledger.check_open()
    return Turn(state, is_callers_task=is_callers_task)


class Turn:
    """One turn of a conversation, from its ticket to its end."""

    def __init__(self, state: ConversationState, *, is_callers_task: bool = True) -> None:
        self.state = state
        self.ledger = state.ledger
        self._ticket = self.ledger.line.take(is_callers_task=is_callers_task)
        self._is_committed = False

    def on_failure(self, undo: Release) -> None:
        """Call `undo` if the turn is not committed."""
        self._ticket.cleanups.register_undo(undo)

    @property
    def ticket(self) -> Ticket:
        """Its place in the conversation's line."""
        return self._ticket

    def release_unstarted(self) -> None:
        """Give the ticket back if the turn was never entered."""
        self._ticket.release_unstarted()

    @property
    def is_open(self) -> bool:
        """Whether it has neither been committed nor abandoned."""
        return self._ticket.is_open

    def read(self) -> AbstractContextManager[None]:
        """Let the caller of a stream do what it likes between two items: it is not in the turn."""
        return self._ticket.read()

    async def enter(self, *, detach: bool = True) -> None:
        """Wait for its turn, and see what was committed until then.

        From then on only the run itself gives the ticket back; with `detach=False` it still goes back when the task
        that took it ends, until `detach` is called.

        Raises:
            ConversationError: it would never be served, or the conversation cannot be read.
        """
        self._queue_again()
        try:
            await self._ticket.wait()
            await self._off_loop(self.ledger.refresh)
        except BaseException:
            self._ticket.release()
            raise
        self._ticket.enter()
        if detach:
            self.detach()

    def enter_sync(self) -> None:
        """Do what `enter` does on a synchronous path."""
        self._queue_again()
        try:
            self._ticket.wait_sync()
            self.ledger.refresh()
        except BaseException:
            self._ticket.release()
            raise
        self._ticket.enter()
        self.detach()

    def detach(self) -> None:
        """Let only the run itself give the ticket back."""
        self._ticket.detach()

    async def end(self, lane: Lane[Any] | None) -> None:
        """Commit what the turn leaves; one that leaves nothing is abandoned. Raises as these do."""
        await (self.abandon() if lane is None else self.commit(lane))

    def end_sync(self, lane: Lane[Any] | None) -> None:
        """Do what `end` does on a synchronous path."""
        if lane is None:
            self.abandon_sync()
        else:
            self.commit_sync(lane)

    async def commit(self, lane: Lane[Any]) -> None:
        """Commit, and give the ticket back.

        A cancel that comes while the store is writing is raised when that has ended: the turn is committed or not.

        Raises:
            ConversationConflict: another process committed first; the turn is abandoned.
            ConversationError: it was ended already, or cannot be stored; the turn is abandoned.
        """
        try:
            await self._off_loop(lambda: self._commit(lane))
        except BaseException as error:
            if self._is_committed:
                self._end()
            else:
                await self.abandon(error)
            raise
        self._end()

    def commit_sync(self, lane: Lane[Any]) -> None:
        """Do what `commit` does on a synchronous path."""
        try:
            self._commit(lane)
        except BaseException as error:
            self.abandon_sync(error)
            raise
        self._end()

    async def abandon(self, error: BaseException | None = None) -> None:
        """Commit nothing: release what the turn has registered, then give the ticket back.

        What a callback raises is added to `error` as a note, and never takes its place.

        Raises:
            BaseExceptionGroup: there is no `error`, and some callbacks raised; all were called.
        """
        try:
            _note(error, await self._ticket.cleanups.release())
        finally:
            self._end()

    def abandon_sync(self, error: BaseException | None = None) -> None:
        """Do what `abandon` does on a synchronous path."""
        try:
            _note(error, self._ticket.cleanups.release_sync())
        finally:
            self._end()

    def _commit(self, lane: Lane[Any]) -> None:
        if not self.is_open:
            msg = "This turn has ended already, so nothing more is committed"
            raise ConversationError(msg, session_id=self.state.session_id)
        self.ledger.commit(lane, self._ticket.cleanups)
        self._is_committed = True

    def _end(self) -> None:
        self._ticket.leave()
        self._ticket.release()

    def _queue_again(self) -> None:
        """A ticket that was given back, because its run seemed never to begin, is taken anew."""
        if not self._ticket.is_open:
            self._ticket = self.ledger.line.take()

    async def _off_loop(self, work: Callable[[], ResultT]) -> ResultT:
        """Run what may block on a store in a worker thread, to its end; a cancel meanwhile is raised then."""
        if not self.ledger.is_stored:
            return work()
        running = asyncio.wrap_future(in_thread(work))
        cancelled: asyncio.CancelledError | None = None
        with anyio.CancelScope(shield=True):
            while not running.done():
                try:
                    await asyncio.wait([running])
                except asyncio.CancelledError as error:
                    cancelled = error
        if cancelled is not None:
            raise cancelled from running.exception()
        return running.result()


def _note(error: BaseException | None, failed: Sequence[BaseException]) -> None:
    if error is None:
        raise_all(failed)
        return
    for one in failed:
        error.add_note(f"Releasing a resource of the turn failed too: {type(one).__name__}: {one}")
