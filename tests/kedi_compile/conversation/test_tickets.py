"""One ticket a turn, served in the order they were taken; no wait that could never end."""

from __future__ import annotations

import asyncio
import contextvars
import random
import threading
from collections.abc import Coroutine
from contextlib import suppress
from typing import Any

import pytest

from kedi_compile.conversation.tickets import Line, Ticket, around
from shelf import inside


async def passing(line: Line, log: list[Any], name: Any) -> None:
    """Take a ticket, wait, write the name twice with others' chances between, and give the ticket back."""
    ticket = line.take()
    try:
        await ticket.wait()
        log.append(name)
        await asyncio.sleep(0)
        log.append(name)
    finally:
        ticket.release()


def test_tasks_are_served_in_the_order_they_asked() -> None:
    """First come, first served, one at a time."""
    line, log = Line(), list[int]()

    async def main() -> None:
        await asyncio.gather(*(passing(line, log, number) for number in range(5)))

    asyncio.run(main())

    assert log == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert line.tickets == []


def test_threads_are_served_in_the_order_they_asked() -> None:
    """The order holds across threads and event loops."""
    line, log = Line(), list[str]()
    first = line.take()
    threads = []
    for name, run in (("sync", blocking), ("async", looping), ("sync again", blocking)):
        taken = threading.Event()
        threads.append(threading.Thread(target=run, args=(line, log, name, taken)))
        threads[-1].start()
        taken.wait()

    first.release()
    for thread in threads:
        thread.join()

    assert log == ["sync", "async", "sync again"]


def blocking(line: Line, log: list[str], name: str, taken: threading.Event) -> None:
    """Pass on a synchronous path."""
    ticket = line.take()
    taken.set()
    ticket.wait_sync()
    log.append(name)
    ticket.release()


def looping(line: Line, log: list[str], name: str, taken: threading.Event) -> None:
    """Pass on a loop of its own."""

    async def main() -> None:
        ticket = line.take()
        taken.set()
        await ticket.wait()
        log.append(name)
        ticket.release()

    asyncio.run(main())


def test_a_released_ticket_serves_the_next_once() -> None:
    """Giving a ticket back again does no harm."""
    line = Line()
    first = line.take()
    first.start()
    second = line.take()
    second.start()
    third = line.take()

    first.release()
    first.release()

    assert line.before(third) == [second]
    assert line.before(first) == []


def test_a_waiter_that_is_cancelled_leaves_the_line() -> None:
    """Those behind it are served as if it had never asked."""
    line, log = Line(), list[int]()

    async def main() -> None:
        first = line.take()
        first.start()
        waiting = [asyncio.create_task(passing(line, log, number)) for number in range(3)]
        await asyncio.sleep(0)
        waiting[1].cancel()
        with suppress(asyncio.CancelledError):
            await waiting[1]
        first.release()
        await asyncio.gather(waiting[0], waiting[2])

    asyncio.run(main())

    assert log == [0, 0, 2, 2]
    assert line.tickets == []


def test_a_ticket_that_was_served_and_cancelled_at_once_is_given_back() -> None:
    """A cancel that comes between being served and going on loses no place."""
    line, log = Line(), list[str]()

    async def main() -> None:
        first = line.take()
        first.start()
        waiting = asyncio.create_task(passing(line, log, "cancelled"))
        last = asyncio.create_task(passing(line, log, "last"))
        await asyncio.sleep(0)
        first.release()
        waiting.cancel()
        await asyncio.gather(waiting, last, return_exceptions=True)

    asyncio.run(main())

    assert log == ["last", "last"]


def test_an_unstarted_ticket_goes_with_its_task() -> None:
    """A task that ends without having begun its run gives its ticket back."""
    line = Line()

    async def take() -> None:
        line.take()

    async def main() -> None:
        await asyncio.create_task(take())
        await asyncio.wait_for(line.take().wait(), 5)

    asyncio.run(main())


def test_an_unstarted_ticket_outlives_a_task_that_only_prepares_the_call() -> None:
    """A host may prepare a call in a task of its own, whose end means nothing."""
    line = Line()

    async def prepare() -> Ticket:
        return line.take(is_callers_task=False)

    async def main() -> list[Ticket]:
        ticket = await asyncio.create_task(prepare())
        await asyncio.sleep(0)
        kept = list(line.tickets)
        ticket.release_unstarted()
        return [ticket, *kept]

    ticket, *kept = asyncio.run(main())

    assert kept == [ticket]
    assert line.tickets == []


def test_an_unstarted_ticket_goes_when_its_task_takes_another() -> None:
    """A task runs one call at a time, so the one it took before was never begun."""
    line = Line()

    async def main() -> list[Ticket]:
        line.take()
        second = line.take()
        return [second, *line.tickets]

    second, *kept = asyncio.run(main())

    assert kept == [second]


def test_an_unstarted_ticket_goes_when_its_thread_takes_another() -> None:
    """The same outside of any task."""
    line = Line()
    line.take()

    second = line.take()

    assert line.tickets == [second]


def test_a_started_ticket_stays_when_its_task_takes_another() -> None:
    """A run that has begun holds its place until it ends."""
    line = Line()
    first = line.take()
    first.wait_sync()

    second = line.take()

    assert line.tickets == [first, second]


@pytest.mark.parametrize("detached", [True, False])
def test_a_detached_ticket_outlives_the_task_that_took_it(detached: bool) -> None:
    """A stream may be read on by another task; a call that never got so far goes with its task, served or not."""
    line = Line()

    async def start() -> Ticket:
        ticket = line.take()
        await ticket.wait()
        if detached:
            ticket.detach()
        return ticket

    async def main() -> bool:
        ticket = await asyncio.create_task(start())
        await asyncio.sleep(0)
        return ticket.is_open

    assert asyncio.run(main()) is detached


def test_a_ticket_is_released_as_unstarted_only_if_it_is() -> None:
    """What finalises a call may not end a run that has begun."""
    line = Line()
    started = line.take()
    started.wait_sync()

    started.release_unstarted()
    assert started.is_open

    started.release()
    unstarted = line.take()
    unstarted.release_unstarted()
    assert line.tickets == []


def test_a_waiter_of_a_closed_loop_blocks_nobody() -> None:
    """A loop that is closed with a call under way never goes on with it, so those behind it are served."""
    line = Line()
    first = line.take()
    first.start()
    closed, call = closed_loop(passing(line, [], "closed"))
    last = line.take()
    last.start()

    first.release()

    assert line.before(last) == []
    call.close()
    assert closed.is_closed()


def test_a_turn_of_a_closed_loop_is_given_back_to_the_next() -> None:
    """The same if that call was the one whose turn it was."""
    line = Line()

    async def hold() -> None:
        await line.take().wait()
        await asyncio.Event().wait()

    _, call = closed_loop(hold())

    last = line.take()

    assert line.tickets == [last]
    call.close()


def closed_loop(call: Coroutine[Any, Any, None]) -> tuple[asyncio.AbstractEventLoop, Coroutine[Any, Any, None]]:
    """Close an event loop on which `call` has got as far as it can alone."""
    loop = asyncio.new_event_loop()
    task = loop.create_task(call)
    loop.run_until_complete(asyncio.sleep(0))
    loop.set_exception_handler(lambda *_: None)  # the loop says that a task was destroyed while it was pending
    loop.close()
    assert not task.done()
    return loop, call


def test_a_ticket_shows_where_it_is_entered_and_nowhere_else() -> None:
    """A context is inside a turn from `enter` to `leave`; what it starts meanwhile is inside too."""
    ticket, other = Line().take(), Line().take()
    ticket.start()
    other.start()

    with inside(ticket):
        started = contextvars.copy_context()
        with inside(other):
            assert around() == (ticket, other)
        ticket.leave()
        assert around() == ()

    assert started.run(around) == (ticket,)
    assert around() == ()


def test_a_ticket_that_was_given_back_is_around_nobody() -> None:
    """What a turn has started and left running is no part of it any more."""
    ticket = Line().take()
    ticket.enter()

    ticket.release()

    assert around() == ()
    ticket.leave()


def test_hundreds_of_calls_and_cancels_leave_nothing_behind() -> None:
    """Whatever is cancelled when, the rest is served in order, and no callback or ticket stays."""
    line, outer_line = Line(), Line()
    chance = random.Random(0)  # noqa: S311  # which tasks are cancelled means nothing
    log: list[int] = []

    async def main() -> Ticket:
        outer = outer_line.take()
        await outer.wait()
        outer.detach()
        with inside(outer):
            tasks = [asyncio.create_task(passing(line, log, number)) for number in range(400)]
            while not all(task.done() for task in tasks):
                chance.choice(tasks).cancel()
                await asyncio.sleep(0)
            await asyncio.gather(*tasks, return_exceptions=True)
        return outer

    outer = asyncio.run(asyncio.wait_for(main(), 60))

    assert list(dict.fromkeys(log)) == sorted(set(log))
    assert 0 < len(set(log)) < 400
    assert line.tickets == []
    assert outer.inner == set()
    assert len(outer_line.tickets) == 1


def test_a_ticket_that_was_given_back_leaves_no_callback_on_its_task() -> None:
    """A long task that runs many turns does not gather callbacks."""
    line = Line()

    async def main() -> list[int]:
        task = asyncio.current_task()
        assert task is not None
        left: list[int] = []
        for _ in range(3):
            ticket = line.take()
            await ticket.wait()
            ticket.release()
            left.append(task.remove_done_callback(ticket._give_back))  # noqa: SLF001  # counts
        return left

    assert asyncio.run(main()) == [0, 0, 0]
