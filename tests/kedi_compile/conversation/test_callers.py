"""Who makes a call, on a loop and outside of any."""

from __future__ import annotations

import asyncio
import threading

from kedi_compile.conversation.callers import caller, current_task, running_loop


async def test_on_a_loop_a_task_calls() -> None:
    """The task itself, and the loop that runs it."""
    assert current_task() is asyncio.current_task()
    assert caller() is asyncio.current_task()
    assert running_loop() is asyncio.get_running_loop()


def test_outside_of_any_loop_a_thread_calls() -> None:
    """Its number stands for it, and there is neither task nor loop."""
    assert current_task() is None
    assert caller() == threading.get_ident()
    assert running_loop() is None


async def test_a_callback_of_a_loop_has_no_task() -> None:
    """The thread calls then, and its loop is running all the same."""
    found = asyncio.get_running_loop().create_future()

    asyncio.get_running_loop().call_soon(lambda: found.set_result((current_task(), caller(), running_loop())))

    assert await found == (None, threading.get_ident(), asyncio.get_running_loop())
