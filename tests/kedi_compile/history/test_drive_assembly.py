"""How the callbacks of request assembly are run: like all others, but an extraction apart from the request."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Awaitable, Callable, Generator
from typing import Any

import anyio.lowlevel
import pytest

from kedi_compile import AssemblyError, HistoryProcessingError
from kedi_compile.history.drive import drive, drive_sync
from kedi_compile.question import Callback, Question

SET: contextvars.ContextVar[str] = contextvars.ContextVar("set", default="nothing")
CALLBACKS: tuple[Callback, ...] = ("inputs", "extraction")


def asking(callback: Callback, function: Callable[[Any], Any]) -> Generator[Question, object, object]:
    """Ask one question and return its answer."""
    return (yield Question(callback, function, "argument"))


def answer(path: str, callback: Callback, function: Callable[[Any], Any], owner: object = None) -> object:
    """Ask a question on a path."""
    if path == "sync":
        return drive_sync(asking(callback, function), owner)
    return asyncio.run(drive(asking(callback, function), owner))


async def set_async(argument: object) -> object:
    """Set a context variable after a turn of the event loop."""
    await anyio.lowlevel.checkpoint()
    return set_now(argument)


def set_now(argument: object) -> object:
    """Set a context variable."""
    before = SET.get()
    SET.set("by the callback")
    return before, argument


each_path = pytest.mark.parametrize("path", ["sync", "async"])
each_callback = pytest.mark.parametrize("callback", CALLBACKS)


@each_path
@each_callback
@pytest.mark.parametrize("function", [set_now, set_async])
def test_a_callback_sees_the_context_of_the_request(
    path: str, callback: Callback, function: Callable[[object], object]
) -> None:
    """Scopes and traces that are open around the request are open in it."""
    context = contextvars.copy_context()
    context.run(SET.set, "by the caller")

    assert context.run(answer, path, callback, function) == ("by the caller", "argument")


@pytest.mark.parametrize("function", [set_now, set_async])
async def test_an_extraction_on_an_async_path_has_a_context_of_its_own(function: Callable[[object], object]) -> None:
    """What it sets does not reach the request."""
    await drive(asking("extraction", function), None)

    assert SET.get() == "nothing"


@pytest.mark.parametrize("function", [set_now, set_async])
def test_an_extraction_on_a_sync_path_has_a_context_of_its_own(function: Callable[[object], object]) -> None:
    """The same where it runs inline."""
    context = contextvars.copy_context()
    context.run(drive_sync, asking("extraction", function), None)

    assert context.get(SET) is None


async def test_a_cancelled_extraction_is_cancelled_itself() -> None:
    """It does not go on alone."""
    entered, left = asyncio.Event(), asyncio.Event()

    async def wait(_: object) -> None:
        entered.set()
        try:
            await asyncio.Event().wait()
        finally:
            left.set()

    task = asyncio.create_task(drive(asking("extraction", wait), None))
    await entered.wait()
    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task
    assert left.is_set()


@each_path
@each_callback
@pytest.mark.parametrize("error", [LookupError("gone"), StopIteration("over")])
def test_an_error_of_a_callback_is_an_assembly_error_that_names_it(
    path: str, callback: Callback, error: Exception
) -> None:
    """Its cause is what the callback raised."""

    def fail(_: object) -> object:
        raise error

    with pytest.raises(AssemblyError) as caught:
        answer(path, callback, fail)

    assert str(caught.value) == f"`{callback}` raised {type(error).__name__}: {error}"
    assert caught.value.__cause__ is error


@each_path
@each_callback
def test_an_assembly_error_of_a_callback_stays_what_it_is(path: str, callback: Callback) -> None:
    """It says already what is wrong."""
    error = AssemblyError("The source is gone")

    def fail(_: object) -> object:
        raise error

    with pytest.raises(AssemblyError) as caught:
        answer(path, callback, fail)

    assert caught.value is error


@each_path
@each_callback
def test_a_callback_may_not_call_its_own_adapter(path: str, callback: Callback) -> None:
    """The inner call is refused, and that is what the callback raised."""
    owner = object()

    def call(_: object) -> object:
        return drive_sync(asking("prompt", lambda prompt: prompt), owner)

    with pytest.raises(AssemblyError, match=f"`{callback}` raised HistoryProcessingError: .* called the adapter") as e:
        answer(path, callback, call, owner)

    assert isinstance(e.value.__cause__, HistoryProcessingError)


@each_callback
async def test_a_sync_callback_runs_in_a_worker_thread_on_an_async_path(callback: Callback) -> None:
    """It does not block the event loop."""
    thread = await drive(asking(callback, lambda _: threading.get_ident()), None)

    assert thread != threading.get_ident()


@each_callback
async def test_an_async_callback_works_on_a_sync_path_inside_a_loop(callback: Callback) -> None:
    """In a thread of its own."""

    async def late(argument: object) -> object:
        await anyio.lowlevel.checkpoint()
        return argument

    assert drive_sync(asking(callback, late), None) == "argument"


def later(argument: object) -> Awaitable[object]:
    """Return something to await."""
    return set_async(argument)


@each_path
def test_a_function_that_returns_an_awaitable_is_awaited(path: str) -> None:
    """Whatever it looks like from outside."""
    assert answer(path, "extraction", later) == ("nothing", "argument")
