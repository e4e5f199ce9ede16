"""What is released when a turn or a conversation ends: callbacks, last in first out, each exactly once.

The rule: what was registered in a turn is released at once if the turn fails, and handed to the conversation if it
commits; the conversation releases it when it is closed. Every callback is called, whatever the others raise, and also
while the task is being cancelled. Source: History specification, Stateful Conversation History ("cleanup ownership").
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import Any

import anyio

from kedi_compile.conversation.callers import current_task
from kedi_compile.errors import HistoryConfigurationError
from kedi_compile.history.drive import run_to_end

Release = Callable[[], Any]
"""A function without arguments, sync or async."""


class Cleanups:
    """Callbacks that one owner releases."""

    def __init__(self) -> None:
        self._releases: list[Release] = []
        self._undoing: list[Release] = []

    def register(self, release: Release) -> None:
        """Add a callback.

        Raises:
            HistoryConfigurationError: it is not callable.
        """
        _check_callable(release)
        self._releases.append(release)

    def register_undo(self, undo: Release) -> None:
        """Add a callback for the case that nothing is handed over."""
        self._undoing.append(undo)

    def hand_over(self, owner: Cleanups) -> None:
        """Give all callbacks to another owner, in their order; what would undo the turn is dropped."""
        owner._releases += self._releases
        self._releases, self._undoing = [], []

    def _take(self) -> Release:
        """Take the next callback: what undoes first, and of each kind the last."""
        return (self._undoing or self._releases).pop()

    async def release(self) -> list[BaseException]:
        """Call and await every callback; return what they raised.

        Raises:
            CancelledError: the task was cancelled meanwhile; all were called.
        """
        raised = _Raised()
        with anyio.CancelScope(shield=True):
            while self._undoing or self._releases:
                with raised.by_one():
                    await _awaited(self._take()())
        return raised.told()

    def release_sync(self) -> list[BaseException]:
        """Do what `release` does on a synchronous path."""
        raised = _Raised()
        while self._undoing or self._releases:
            with raised.by_one():
                value = self._take()()
                if inspect.isawaitable(value):
                    run_to_end(value)
        return raised.told()


class _Raised:
    """What callbacks raised, told when all were called."""

    def __init__(self) -> None:
        self._errors: list[BaseException] = []
        self._cancelled: asyncio.CancelledError | None = None

    @contextmanager
    def by_one(self) -> Generator[None]:
        """Keep what one callback raises; a cancellation of its own is an error like any other."""
        try:
            yield
        except asyncio.CancelledError as error:
            if _is_being_cancelled():
                self._cancelled = error
            else:
                self._errors.append(error)
        except Exception as error:  # noqa: BLE001  # one failing callback must not keep the others
            self._errors.append(error)

    def told(self) -> list[BaseException]:
        """Return all errors, or raise the cancellation of the task."""
        if self._cancelled is not None:
            raise self._cancelled
        return self._errors


def _is_being_cancelled() -> bool:
    task = current_task()
    return task is not None and task.cancelling() > 0


async def _awaited(value: Awaitable[Any] | Any) -> None:
    if inspect.isawaitable(value):
        await value


def _check_callable(release: object) -> None:
    if not callable(release):
        msg = f"`cleanup` was given {release!r}; pass a function without arguments, not what it returned"
        raise HistoryConfigurationError(msg)


def raise_all(errors: Sequence[BaseException]) -> None:
    """Raise what callbacks have raised, if any has.

    Raises:
        BaseExceptionGroup: some have; an ExceptionGroup if all are exceptions.
    """
    if errors:
        msg = "Releasing what was registered with the conversation failed; every callback was called"
        raise BaseExceptionGroup(msg, errors)
