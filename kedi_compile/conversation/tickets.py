"""Whose turn it is: one ticket a turn, served in the order they were taken, across tasks, threads and loops.

The rule: a ticket is taken where a call begins, and only the first in line may read and write the conversation. Waiting
never lasts for ever: a ticket whose run never begins is given back with the task that took it, one whose event loop was
closed is passed over, a cycle of waiting turns is refused, and so is a synchronous wait for a turn of the event loop
that it would block. Source: History specification, Stateful Conversation History.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextvars import ContextVar
from typing import Any

from kedi_compile.conversation.cleanup import Cleanups
from kedi_compile.errors import ConversationError

_lock = threading.RLock()
"""Guards every line: a cycle of waiting goes through several of them. Reentrant, for a finalizer may run anywhere."""


_around: ContextVar[tuple[Ticket, ...]] = ContextVar("kedi_tickets", default=())
"""The tickets of the turns that this context runs in, the innermost last."""


def around() -> tuple[Ticket, ...]:
    """Return the open tickets of the turns around the caller, the innermost last."""
    return tuple(one for one in _around.get() if one.is_open)


class Ticket:
    """A place in a conversation's line.

    `enclosing` are the tickets of the turns around it; `cleanups` what its own turn registers; `task` is the one whose
    call it is.
    """

    def __init__(self, line: Line, task: asyncio.Task[Any] | None = None) -> None:
        self.enclosing = around()
        self.cleanups = Cleanups()
        self.loop = _running_loop()
        self.task = task or current_task()
        self.taker = self.task or threading.get_ident()
        self.is_started = False
        self.inner: set[Ticket] = set()
        self._line = line
        self._served: Future[None] = Future()
        self._served.set_running_or_notify_cancel()  # a waiter that is cancelled must not cancel the place itself
        if self.task is not None:
            self.task.add_done_callback(self._give_back)

    @property
    def is_open(self) -> bool:
        """Whether it has not been given back yet."""
        return self in self._line.tickets

    @property
    def is_lost(self) -> bool:
        """Whether the loop it was taken on is closed, so that its run can neither go on nor end."""
        return self.loop is not None and self.loop.is_closed()

    def is_of(self, line: Line) -> bool:
        """Whether it belongs to this conversation."""
        return self._line is line

    def enter(self) -> None:
        """Show this context that it runs in the ticket's turn."""
        _around.set((*around(), self))

    def leave(self) -> None:
        """Take that back; in a context that has not entered, nothing happens.

        A stream may end in another context than it began in, so nothing is reset to what was before.
        """
        _around.set(tuple(one for one in around() if one is not self))

    async def wait(self) -> None:
        """Wait until every earlier ticket was given back.

        Raises:
            ConversationError: an earlier one waits, directly or not, for a turn around this one.
        """
        with _Waiting(self):
            await asyncio.wrap_future(self._served)

    def wait_sync(self) -> None:
        """Do what `wait` does on a synchronous path.

        Raises:
            ConversationError: as `wait`; also if an earlier turn belongs to the event loop this thread is running.
        """
        with _Waiting(self, _running_loop()):
            self._served.result()

    def release(self) -> None:
        """Give it back; the next in line is served. More than once is no harm."""
        with _lock:
            self._line.drop(self)

    def start(self) -> None:
        """Say that the run it was taken for has begun, so that it is given back by that run alone."""
        self.is_started = True
        if self.task is not None:
            self.task.remove_done_callback(self._give_back)

    def release_unstarted(self) -> None:
        """Give it back if the run it was taken for never began."""
        if not self.is_started:
            self.release()

    def _give_back(self, _: asyncio.Task[Any]) -> None:
        self.release_unstarted()

    def serve(self) -> None:
        """Say that it is first in line."""
        if not self._served.done():
            self._served.set_result(None)


class Line:
    """The tickets of one conversation, in the order they were taken."""

    def __init__(self) -> None:
        self.tickets: list[Ticket] = []

    def take(self, task: asyncio.Task[Any] | None = None) -> Ticket:
        """Take the next ticket, for the caller's task or the one that is given.

        A task takes one ticket at a time, so one that it took before and never began is dead and given back, as is one
        whose loop was closed.
        """
        ticket = Ticket(self, task)
        with _lock:
            for one in list(self.tickets):
                if one.is_lost or (one.taker == ticket.taker and not one.is_started):
                    self.drop(one)
            self.tickets.append(ticket)
            self.tickets[0].serve()
        return ticket

    def drop(self, ticket: Ticket) -> None:
        """Take a ticket out of the line."""
        if ticket in self.tickets:
            self.tickets.remove(ticket)
            while self.tickets and self.tickets[0].is_lost:
                self.tickets.pop(0)
            if self.tickets:
                self.tickets[0].serve()

    def before(self, ticket: Ticket) -> list[Ticket]:
        """Return the tickets that are served earlier."""
        return self.tickets[: self.tickets.index(ticket)] if ticket in self.tickets else []


class _Waiting:
    """Shows, while a ticket waits, that the turns around it wait with it; refuses what would never end."""

    def __init__(self, ticket: Ticket, blocked: asyncio.AbstractEventLoop | None = None) -> None:
        self._ticket = ticket
        self._blocked = blocked

    def __enter__(self) -> None:
        ticket = self._ticket
        ticket.start()
        with _lock:
            for outer in ticket.enclosing:
                outer.inner.add(ticket)
            try:
                self._refuse_endless()
            except ConversationError:
                self.__exit__()
                ticket.release()
                raise

    def __exit__(self, *_: object) -> None:
        with _lock:
            for outer in self._ticket.enclosing:
                outer.inner.discard(self._ticket)

    def _refuse_endless(self) -> None:
        earlier = list(_waited_for(self._ticket))
        if any(one in self._ticket.enclosing for one in earlier):
            msg = (
                "This turn would wait for a conversation whose own turn waits for one around it, so neither would ever "
                "end; nest conversations in one order only, or give the inner run a conversation of its own"
            )
            raise ConversationError(msg)
        if self._blocked is not None and any(one.loop is self._blocked for one in earlier):
            msg = (
                "This synchronous call would block the event loop that an earlier turn of the conversation needs to "
                "end; use the asynchronous method"
            )
            raise ConversationError(msg)


def _waited_for(ticket: Ticket) -> Iterator[Ticket]:
    """Yield every ticket that has to be given back before this one is served, each once."""
    seen: set[Ticket] = set()
    open_ends = list(_before(ticket))
    while open_ends:
        earlier = open_ends.pop()
        if earlier in seen:
            continue
        seen.add(earlier)
        yield earlier
        open_ends += [one for waiting in (earlier, *earlier.inner) for one in _before(waiting)]


def _before(ticket: Ticket) -> list[Ticket]:
    return ticket._line.before(ticket)  # noqa: SLF001  # the line is this file's own


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


def current_task() -> asyncio.Task[Any] | None:
    """Return the task of the caller, or None outside of any event loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None
