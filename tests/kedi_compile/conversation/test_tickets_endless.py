"""A wait that could never end is refused: crosswise, in a ring, for oneself, or for the loop that would be blocked."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import Any

import pytest

from kedi_compile import ConversationError
from kedi_compile.conversation import tickets
from kedi_compile.conversation.tickets import Line, Ticket
from shelf import inside

ENDLESS = (
    "This turn would wait for a conversation whose own turn waits for one around it, so neither would ever end; nest "
    "conversations in one order only, or give the inner run a conversation of its own"
)
BLOCKED = (
    "This synchronous call would block the event loop that an earlier turn of the conversation needs to end; use the "
    "asynchronous method"
)


def test_two_conversations_nested_crosswise_are_refused() -> None:
    """B inside A and A inside B would wait for each other; the one that comes second is told so."""
    one, two = Line(), Line()
    reached = asyncio.Barrier(2)

    async def nested(outer: Line, inner: Line) -> None:
        first = outer.take()
        await first.wait()
        second: Ticket | None = None
        try:
            with inside(first):
                await reached.wait()
                second = inner.take()
                await second.wait()
        finally:
            for ticket in (second, first):
                if ticket is not None:
                    ticket.release()

    async def main() -> list[Any]:
        return list(await asyncio.gather(nested(one, two), nested(two, one), return_exceptions=True))

    outcomes = asyncio.run(asyncio.wait_for(main(), 10))

    assert [str(one) for one in outcomes if one is not None] == [ENDLESS]
    assert all(one is None or isinstance(one, ConversationError) for one in outcomes)
    assert one.tickets == two.tickets == []


def test_a_longer_ring_of_conversations_is_refused() -> None:
    """Three conversations in a ring are no better than two."""
    lines = [Line(), Line(), Line()]
    reached = asyncio.Barrier(3)

    async def nested(number: int) -> None:
        first = lines[number].take()
        await first.wait()
        with inside(first):
            await reached.wait()
            second = lines[(number + 1) % 3].take()
            try:
                await second.wait()
            finally:
                second.release()
                first.release()

    async def main() -> list[Any]:
        return await asyncio.gather(*map(nested, range(3)), return_exceptions=True)

    outcomes = asyncio.run(asyncio.wait_for(main(), 10))

    assert [str(one) for one in outcomes if one is not None] == [ENDLESS]


@pytest.mark.parametrize("nesting", [1, 2])
def test_a_turn_that_would_wait_for_itself_is_refused(nesting: int) -> None:
    """A conversation's own turn is the one that its inner turn would wait for, also through another conversation."""
    line = Line()
    first = line.take()
    first.wait_sync()

    with inside(first):
        between = [Line().take() for _ in range(nesting - 1)]
        for ticket in between:
            ticket.wait_sync()
            ticket.enter()
        inner = line.take()
        with pytest.raises(ConversationError) as caught:
            inner.wait_sync()
        for ticket in between:
            ticket.leave()

    assert str(caught.value) == ENDLESS
    assert line.tickets == [first]
    assert first.inner == set()


def test_a_synchronous_wait_for_the_running_loop_is_refused() -> None:
    """A turn of this very loop could not end while the loop is blocked."""
    line = Line()

    async def main() -> str:
        first = line.take()
        await first.wait()
        second = line.take()
        with pytest.raises(ConversationError) as caught:
            second.wait_sync()
        return str(caught.value)

    assert asyncio.run(main()) == BLOCKED


def test_a_synchronous_wait_for_another_thread_is_no_deadlock() -> None:
    """A turn of another thread ends by itself, also while this loop is blocked."""
    line = Line()
    release = threading.Event()
    taken = threading.Event()

    def hold() -> None:
        ticket = line.take()
        ticket.wait_sync()
        taken.set()
        release.wait()
        ticket.release()

    async def main() -> bool:
        thread = threading.Thread(target=hold)
        thread.start()
        taken.wait()
        ticket = line.take()
        threading.Timer(0.01, release.set).start()
        ticket.wait_sync()
        thread.join()
        return ticket.is_open

    assert asyncio.run(main())


class Releasing(logging.Handler):
    """Gives a ticket back as soon as something is logged, and keeps what was."""

    def __init__(self, ticket: Ticket) -> None:
        super().__init__()
        self.ticket = ticket
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Take a line."""
        self.lines.append(record.getMessage())
        self.ticket.release()


async def waiting(ticket: Ticket) -> None:
    """Wait on a loop of its own."""
    await ticket.wait()


@pytest.mark.parametrize("is_async", [True, False], ids=["async", "sync"])
def test_a_long_wait_is_told_once_and_goes_on(monkeypatch: pytest.MonkeyPatch, is_async: bool) -> None:
    """Whoever looks for what hangs finds it in the log; the turn is served all the same."""
    monkeypatch.setattr(tickets, "_LONG", 0.001)
    line = Line()
    handler = Releasing(line.take(is_callers_task=False))
    monkeypatch.setattr(logging.getLogger(tickets.__name__), "handlers", [handler])
    ticket = line.take(is_callers_task=False)

    if is_async:
        asyncio.run(waiting(ticket))
    else:
        ticket.wait_sync()

    (line_told,) = handler.lines
    assert line_told == (
        "A turn has waited 0.001 seconds behind 1 others, and goes on waiting. If it was called while "
        "a stream of its conversation is read, read or close that first, or make the call inside "
        "`history_scope(enabled=False)`"
    )
    assert ticket.is_open
