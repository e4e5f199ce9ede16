"""What is released when a turn or a conversation ends: callbacks, last in first out, each exactly once.

The rule: what was registered in a turn is released at once if the turn fails, and handed to the conversation if it
commits; the conversation releases it when it is closed. Every callback is called, whatever the others raise. Source:
History specification, Stateful Conversation History ("cleanup ownership").
"""

from __future__ import annotations

import inspect
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from kedi_compile.history.drive import run_to_end

Release = Callable[[], Any]
"""A function without arguments, sync or async."""


class Cleanups:
    """Callbacks that one owner releases."""

    def __init__(self) -> None:
        self._releases: list[Release] = []

    def register(self, release: Release) -> None:
        """Add a callback."""
        self._releases.append(release)

    def hand_over(self, owner: Cleanups) -> None:
        """Give all callbacks to another owner, in their order."""
        owner._releases += self._releases  # its own class
        self._releases = []

    async def release(self) -> list[Exception]:
        """Call and await every callback, also while the task is being cancelled; return what they raised."""
        errors: list[Exception] = []
        with anyio.CancelScope(shield=True):
            while self._releases:
                try:
                    await _awaited(self._releases.pop()())
                except Exception as error:  # noqa: BLE001  # one failing callback must not keep the others
                    errors.append(error)
        return errors

    def release_sync(self) -> list[Exception]:
        """Do what `release` does on a synchronous path."""
        errors: list[Exception] = []
        while self._releases:
            try:
                value = self._releases.pop()()
                if inspect.isawaitable(value):
                    run_to_end(value)
            except Exception as error:  # noqa: BLE001  # as above
                errors.append(error)
        return errors


async def _awaited(value: Awaitable[Any] | Any) -> None:
    if inspect.isawaitable(value):
        await value
