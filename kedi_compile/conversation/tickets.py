"""Whose turn it is: one ticket a turn, served in the order they were taken, across tasks, threads and loops.

The rule: a ticket is taken where a call begins, and only the first in line may read and write the conversation. Waiting
never lasts for ever: a ticket whose run never begins is given back with the task that took it, one whose event loop was
closed is passed over; a cycle of waiting turns is refused, and so is a wait for what the waiter itself holds up: a turn
of the event loop that it would block, or a stream that it has to read on. Source: History specification, Stateful
Conversation History.
"""

from __future__ import annotations

import asyncio
import logging
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final, Self

from kedi_compile.conversation.callers import Caller, caller, current_task, running_loop
from kedi_compile.conversation.cleanup import Cleanups
from kedi_compile.errors import ConversationError

_lock = threading.RLock()
"""Guards every line: a cycle of waiting goes through several of them. Reentrant, for a finalizer may run anywhere."""

_PATIENCE: Final = (*[0.0] * 100, *[0.01] * 100)
"""The pauses, in seconds, that a stream has which was dropped, until it is taken for one that is still read.

The loop closes a dropped stream in a task of its own; one of a chain hands that down from step to step, and one of an
agent waits for threads.
"""

_LONG: Final = 60.0
"""The seconds that a turn waits until its log tells so."""

_log: Final = logging.getLogger(__name__)

_around: ContextVar[tuple[Ticket, ...]] = ContextVar("kedi_tickets", default=())
"""The tickets of the turns that this context runs in, the innermost last."""

_reading: ContextVar[tuple[Ticket, ...]] = ContextVar("kedi_reading", default=())
"""The tickets of the streams that this context reads and has not read to the end."""

Finder = Callable[[], Iterable["Ticket"]]
"""What a host knows of the caller's turns that no context variable tells."""

_around_finders: list[Finder] = []
_read_finders: list[Finder] = []


def find_around(find: Finder) -> None:
    """Let `find` tell of turns around a caller, for a host whose steps do not run in the context of their turn."""
    _around_finders.append(find)


def find_read(find: Finder) -> None:
    """Let `find` tell of streams that a caller reads, for a host that makes the stream itself."""
    _read_finders.append(find)


def around() -> tuple[Ticket, ...]:
    """Return the open tickets of the turns around the caller, the innermost last."""
    found = (*(one for find in _around_finders for one in find()), *_around.get())
    return tuple(dict.fromkeys(one for one in found if one.is_open and not one.is_dead))


class Ticket:
    """A place in a conversation's line.

    `enclosing` are the tickets of the turns around it, `inner` those of turns inside it that wait; `cleanups` is what
    its own turn registers. `task` is the one whose end gives it back, `taker` who took it, `reader` who has to read it
    on where it is that of a stream, `stands_for` who makes the outermost call that it is a part of.
    """

    def __init__(self, line: Line, *, is_callers_task: bool = True) -> None:
        self.enclosing = around()
        self.cleanups = Cleanups()
        self.loop = running_loop()
        self.task = current_task() if is_callers_task else None
        self.taker: object = caller() if is_callers_task else self
        self.reader: Caller | None = None
        self.stands_for: Caller | None = None
        self.is_open = True
        self.is_started = False
        self.inner: set[Ticket] = set()
        self._line = line
        self._served: Future[None] = Future()
        self._served.set_running_or_notify_cancel()  # a waiter that is cancelled must not cancel the place itself
        if self.task is not None:
            self.task.add_done_callback(self._give_back)

    @property
    def is_dead(self) -> bool:
        """Whether the caller, in the task that took it, is past the call it was taken for, which never began."""
        return not self.is_started and self.taker == caller()

    @property
    def is_lost(self) -> bool:
        """Whether the loop it was taken on is closed, so that its run can neither go on nor end."""
        return self.loop is not None and self.loop.is_closed()

    def is_of(self, line: Line) -> bool:
        """Whether it belongs to this conversation."""
        return self._line is line

    def enter(self) -> None:
        """Show this context that it runs in the ticket's turn; more than once is no harm."""
        _around.set((*(one for one in _around.get() if one.is_open and one is not self), self))

    def leave(self) -> None:
        """Take back what `enter` did; in a context that has not entered, nothing happens.

        A stream may end in another context than it began in, so nothing is reset to what was before.
        """
        _around.set(tuple(one for one in _around.get() if one is not self and one.is_open))

    @contextmanager
    def read(self) -> Generator[None]:
        """Let the caller of a stream do what it likes between two items: it is not in the turn."""
        self.leave()
        self.reader = self.stands_for or caller()
        _reading.set((*(one for one in _reading.get() if one.is_open), self))
        try:
            yield
        finally:
            self.reader = None
            _reading.set(tuple(one for one in _reading.get() if one is not self))
            self.enter()

    async def wait(self) -> None:
        """Wait until every earlier ticket was given back.

        Raises:
            ConversationError: an earlier one waits, directly or not, for a turn around this one, or is that of a
                stream which the caller itself reads.
        """
        with _Waiting(self) as waiting:
            for pause in _PATIENCE:
                if not waiting.is_for_own_stream():
                    break
                await asyncio.sleep(pause)
            waiting.refuse_own_stream()
            later = asyncio.get_running_loop().call_later(_LONG, self._tell_long)
            try:
                await asyncio.wrap_future(self._served)
            finally:
                later.cancel()

    def wait_sync(self) -> None:
        """Do what `wait` does on a synchronous path.

        Raises:
            ConversationError: as `wait`; also if an earlier turn belongs to the event loop this thread is running.
        """
        with _Waiting(self, running_loop()) as waiting:
            waiting.refuse_own_stream()
            try:
                self._served.result(_LONG)
            except TimeoutError:
                self._tell_long()
                self._served.result()

    def _tell_long(self) -> None:
        """Tell whoever looks for what hangs: not every stream that its own caller does not read on can be seen."""
        with _lock:
            before = len(self.earlier())
        _log.warning(
            "A turn has waited %g seconds behind %d others, and goes on waiting. If it was called while "
            "a stream of its conversation is read, read or close that first, or make the call inside "
            "`history_scope(enabled=False)`",
            _LONG,
            before,
        )

    def release(self) -> None:
        """Give it back; the next in line is served. More than once is no harm."""
        self.detach()
        with _lock:
            self._line.drop(self)

    def start(self) -> None:
        """Say that its run has begun to wait for it."""
        self.is_started = True

    def release_unstarted(self) -> None:
        """Give it back if its run never began to wait for it."""
        if not self.is_started:
            self.release()

    def detach(self) -> None:
        """Let only its own run give it back; until then it also goes back when the task that took it ends."""
        if self.task is not None:
            self.task.remove_done_callback(self._give_back)
            self.task = None

    def _give_back(self, _: asyncio.Task[object]) -> None:
        self.release()

    def serve(self) -> None:
        """Say that it is first in line."""
        if not self._served.done():
            self._served.set_result(None)

    def earlier(self) -> list[Ticket]:
        """Return the tickets of its line that are served earlier."""
        return self._line.before(self)


class Line:
    """The tickets of one conversation, in the order they were taken."""

    def __init__(self) -> None:
        self.tickets: list[Ticket] = []

    def take(self, *, is_callers_task: bool = True) -> Ticket:
        """Take the next ticket; it is bound to the current task, unless that is not the one that makes the call.

        A task takes one ticket at a time, so one that it took before and never began is dead and given back, as is one
        whose loop was closed.
        """
        ticket = Ticket(self, is_callers_task=is_callers_task)
        with _lock:
            for one in list(self.tickets):
                if one.is_lost or (one.taker == ticket.taker and not one.is_started):
                    self.drop(one)
            self.tickets.append(ticket)
            self.tickets[0].serve()
        return ticket

    def drop(self, ticket: Ticket) -> None:
        """Take a ticket out of the line."""
        if ticket.is_open:
            ticket.is_open = False
            self.tickets.remove(ticket)
            while self.tickets and self.tickets[0].is_lost:
                self.tickets.pop(0).is_open = False
            if self.tickets:
                self.tickets[0].serve()

    def before(self, ticket: Ticket) -> list[Ticket]:
        """Return the tickets that are served earlier."""
        return self.tickets[: self.tickets.index(ticket)] if ticket.is_open else []


class _Waiting:
    """Shows, while a ticket waits, that the turns around it wait with it; refuses what would never end."""

    def __init__(self, ticket: Ticket, blocked: asyncio.AbstractEventLoop | None = None) -> None:
        self._ticket = ticket
        self._blocked = blocked

    def __enter__(self) -> Self:
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
        return self

    def __exit__(self, *_: object) -> None:
        with _lock:
            for outer in self._ticket.enclosing:
                outer.inner.discard(self._ticket)

    def is_for_own_stream(self) -> bool:
        """Whether an earlier ticket is that of a stream which the caller itself would have to read on."""
        # By context too: a server may read one stream in many threads, and serve others in them meanwhile.
        reader = self._ticket.reader or self._ticket.stands_for or caller()
        own = {*_reading.get(), *(one for find in _read_finders for one in find())}
        with _lock:
            return any(one.reader == reader for one in _waited_for(self._ticket) if one in own)

    def refuse_own_stream(self) -> None:
        """Refuse to wait for a stream of the caller's own.

        Raises:
            ConversationError: it would.
        """
        if self.is_for_own_stream():
            self._ticket.release()
            msg = (
                "This call would wait for a stream that its own caller has not read to the end; read or close the "
                "stream first, or make the call inside `history_scope(enabled=False)`"
            )
            raise ConversationError(msg)

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
    open_ends = [ticket]
    while open_ends:
        for earlier in open_ends.pop().earlier():
            if earlier not in seen:
                seen.add(earlier)
                yield earlier
                open_ends += earlier.inner  # what stands before it in its own line is before this one too
