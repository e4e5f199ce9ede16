"""Who makes a call: its task, its thread where there is none, and the loop that runs it.

Asked outside of any event loop too, where `asyncio` raises; here the answer is None.
"""

from __future__ import annotations

import asyncio
import threading

Caller = asyncio.Task[object] | int
"""A task, or the number of a thread that runs none."""


def caller() -> Caller:
    """Return who calls: the task, or the thread where there is none."""
    return current_task() or threading.get_ident()


def current_task() -> asyncio.Task[object] | None:
    """Return the task of the caller, or None outside of any event loop."""
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def running_loop() -> asyncio.AbstractEventLoop | None:
    """Return the loop that runs in the caller's thread, or None."""
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None
