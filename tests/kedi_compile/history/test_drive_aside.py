"""What nobody waits for: beside a running loop in a thread, inline without one."""

import asyncio
from threading import Event, get_ident

from kedi_compile.history.drive import run_aside


def test_without_a_loop_it_is_done_at_once() -> None:
    """In the caller's own thread."""
    threads: list[int] = []

    run_aside(lambda: threads.append(get_ident()))

    assert threads == [get_ident()]


def test_beside_a_loop_it_blocks_nobody() -> None:
    """The loop goes on while it runs, and may end before it does."""
    go_on, done = Event(), Event()

    def waits() -> None:
        done_in_time = go_on.wait(5)
        if done_in_time:
            done.set()

    async def ask() -> None:
        run_aside(waits)
        await asyncio.sleep(0)
        go_on.set()

    asyncio.run(ask())

    assert done.wait(5)
