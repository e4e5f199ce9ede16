"""What a turn or a conversation has registered is released last first, each once, whatever the others raise."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import anyio
import pytest

from kedi_compile.conversation.cleanup import Cleanups


class Log(list[str]):
    """Writes down what was released."""

    def sync(self, name: str) -> Callable[[], None]:
        """Return a callback that says `name`."""
        return lambda: self.append(name)

    def late(self, name: str) -> Callable[[], Awaitable[None]]:
        """Return a callback that says `name` after others had their chance."""

        async def release() -> None:
            await asyncio.sleep(0)
            self.append(name)

        return release

    def failing(self, name: str, error: BaseException) -> Callable[[], None]:
        """Return a callback that says `name` and raises."""

        def release() -> None:
            self.append(name)
            raise error

        return release


def registered(*releases: Callable[[], Any]) -> Cleanups:
    """Return cleanups with these callbacks, in this order."""
    cleanups = Cleanups()
    for release in releases:
        cleanups.register(release)
    return cleanups


def release_async(cleanups: Cleanups) -> list[BaseException]:
    """Release on a loop."""
    return asyncio.run(cleanups.release())


BOTH = pytest.mark.parametrize("release", [release_async, Cleanups.release_sync], ids=["async", "sync"])
Release = Callable[[Cleanups], list[BaseException]]


@BOTH
def test_callbacks_are_called_last_first(release: Release) -> None:
    """What was opened last is closed first, sync and async alike."""
    log = Log()

    assert release(registered(log.sync("1"), log.late("2"), log.sync("3"))) == []

    assert log == ["3", "2", "1"]


@BOTH
def test_each_callback_is_called_once(release: Release) -> None:
    """A second release has nothing left to do."""
    log = Log()
    cleanups = registered(log.sync("1"))

    release(cleanups)
    release(cleanups)

    assert log == ["1"]


@BOTH
@pytest.mark.parametrize("error", [LookupError("a"), asyncio.CancelledError()], ids=["error", "cancellation"])
def test_a_failing_callback_does_not_keep_the_others(release: Release, error: BaseException) -> None:
    """What one raises is told when all were called, also if it ended on a task that it had cancelled."""
    log = Log()

    failed = release(registered(log.sync("1"), log.failing("2", error), log.sync("3")))

    assert log == ["3", "2", "1"]
    assert failed == [error]


@BOTH
def test_a_callback_registered_by_a_callback_is_called_too(release: Release) -> None:
    """Nothing that is registered while releasing is left behind."""
    log = Log()
    cleanups = Cleanups()
    cleanups.register(lambda: cleanups.register(log.sync("inner")))

    release(cleanups)

    assert log == ["inner"]


@BOTH
def test_an_interrupt_passes(release: Release) -> None:
    """Ctrl-C is for the program, not a callback's failure."""
    log = Log()

    with pytest.raises(KeyboardInterrupt):
        release(registered(log.failing("1", KeyboardInterrupt())))


def test_a_handed_over_callback_is_the_new_owners() -> None:
    """The owner before has nothing left, and the order is kept."""
    log = Log()
    turn, conversation = registered(log.sync("2"), log.sync("3")), registered(log.sync("1"))

    turn.hand_over(conversation)

    assert turn.release_sync() == []
    assert log == []
    conversation.release_sync()
    assert log == ["3", "2", "1"]


def test_a_cancelled_task_still_releases_all() -> None:
    """A cancel that comes while a callback is awaited ends that one, and goes on when all were called."""
    log = Log()

    async def main() -> bool:
        reached = asyncio.Event()

        async def hang() -> None:
            reached.set()
            await asyncio.Event().wait()

        task = asyncio.create_task(registered(log.late("1"), hang, log.late("3")).release())
        await reached.wait()
        task.cancel()
        await asyncio.wait([task])
        return task.cancelled()

    assert asyncio.run(main())
    assert log == ["3", "1"]


def test_a_cancelled_scope_does_not_reach_the_callbacks() -> None:
    """Under a cancel scope, as a deadline sets one, awaiting goes on undisturbed."""
    log = Log()

    async def main() -> None:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await registered(log.late("1"), log.late("2")).release()

    asyncio.run(main())

    assert log == ["2", "1"]


async def test_a_synchronous_release_inside_a_loop_awaits_in_a_thread() -> None:
    """`close` may be called where a loop is running."""
    log = Log()

    assert registered(log.late("1")).release_sync() == []

    assert log == ["1"]
