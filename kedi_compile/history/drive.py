"""Answers the questions of `flow.py`: awaits, or runs user functions in worker threads, or inline.

The rule on an async path: a synchronous processor runs in a worker thread with the caller's context variables, and is
abandoned when the request is cancelled, so its late result is discarded; a condition, which is asked on every request
and only reads a few numbers, runs on the event loop. On a sync path functions run inline, and coroutines in a loop of
their own, in another thread if this one is already running a loop. An extraction has context variables of its own on
every path: what it sets does not reach the request. Calling the same configured adapter from inside its own callback
raises. Source: History specification, Callback Contract and Atomic Groups; Assembly specification, Context budget and
rehydration.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import Awaitable, Callable, Generator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, Final, TypeVar

import anyio
import anyio.lowlevel
import anyio.to_thread

from kedi_compile.errors import AssemblyError, HistoryProcessingError, error_text
from kedi_compile.question import Callback, Question

ResultT = TypeVar("ResultT")

_active: contextvars.ContextVar[frozenset[int]] = contextvars.ContextVar("kedi_active_processors", default=frozenset())
"""The owners whose callbacks are running in this context."""


async def drive(flow: Generator[Question, object, ResultT], owner: object) -> ResultT:
    """Run a flow to its end on the current event loop; `owner` is the configured adapter."""
    with _no_recursion(owner):
        try:
            question = next(flow)
            while True:
                question = flow.send(await _answer(question, owner))
        except StopIteration as done:
            outcome: ResultT = done.value
    await anyio.lowlevel.checkpoint()  # a cancel that came while the callback ran must win over the edit
    return outcome


def drive_sync(flow: Generator[Question, object, ResultT], owner: object) -> ResultT:
    """Run a flow to its end on a synchronous path, also inside a running event loop."""
    with _no_recursion(owner):
        try:
            question = next(flow)
            while True:
                question = flow.send(_answer_sync(question, owner))
        except StopIteration as done:
            outcome: ResultT = done.value
            return outcome


async def _answer(question: Question, owner: object) -> object:
    with _running(owner):
        if question.callback in _APART:
            return await asyncio.create_task(_called(question))  # a task has context variables of its own
        return await _called(question)


async def _called(question: Question) -> object:
    with _wrapping(question):
        if question.callback == "condition" or _is_async(question.function):
            value = question.function(question.argument)
        else:
            value = await anyio.to_thread.run_sync(
                _caught, question.function, question.argument, abandon_on_cancel=True
            )
            value = _released(value)
        return await value if inspect.isawaitable(value) else value


def _answer_sync(question: Question, owner: object) -> object:
    with _running(owner):
        if question.callback in _APART:
            return contextvars.copy_context().run(_called_sync, question)
        return _called_sync(question)


def _called_sync(question: Question) -> object:
    with _wrapping(question):
        value = question.function(question.argument)
        return run_to_end(value) if inspect.isawaitable(value) else value


def run_aside(function: Callable[[], object]) -> Awaitable[object] | None:
    """Run something that may block: inline, or beside the running event loop; then it can be awaited, but need not."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        function()
        return None
    return asyncio.wrap_future(in_thread(function))


def in_thread(work: Callable[[], ResultT]) -> Future[ResultT]:
    """Run `work` in a thread of its own: those of a pool may all be waiting for what this is a part of."""
    done: Future[ResultT] = Future()
    context = contextvars.copy_context()

    def run() -> None:
        try:
            done.set_result(context.run(work))
        except StopIteration as error:  # no future carries one, so whoever waits would wait for ever
            stopped = RuntimeError("A store raised StopIteration")
            stopped.__cause__ = error
            done.set_exception(stopped)
        except BaseException as error:  # noqa: BLE001  # raised where it is awaited
            done.set_exception(error)

    threading.Thread(target=run, name="kedi-store").start()
    return done


class _Raised:
    """A `StopIteration` on its way out of a worker thread; a future refuses to carry one."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


def _caught(function: Callable[[Any], Any], argument: object) -> object:
    try:
        return function(argument)
    except StopIteration as error:
        return _Raised(error)


def _released(value: object) -> Any:
    if isinstance(value, _Raised):
        raise value.error
    return value


def run_to_end(awaitable: Awaitable[Any]) -> object:
    """Run an awaitable on a synchronous path, in another thread if this one is running a loop already."""

    async def finish() -> object:
        return await awaitable

    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return asyncio.run(finish())
    context = contextvars.copy_context()
    with ThreadPoolExecutor(1, thread_name_prefix="kedi-callback") as pool:
        return pool.submit(context.run, asyncio.run, finish()).result()


_KEYWORDS: Final[Mapping[Callback, str]] = {
    "archive": "history_archive",
    "condition": "history_processor_condition",
    "extraction": "extraction",
    "inputs": "inputs",
    "processor": "history_processor",
    "prompt": "user_prompt_submit",
}
"""The keyword a user has set each callback with, for errors."""

_ASSEMBLY: Final = frozenset({"extraction", "inputs"})
"""The callbacks of request assembly, whose own errors say already what is wrong."""

_APART: Final = frozenset({"extraction"})
"""The callbacks that share nothing with the request they are asked for, not even what they set in their context."""


@contextmanager
def _wrapping(question: Question) -> Generator[None]:
    """Turn what a user function raises into a `HistoryProcessingError`; cancellation passes."""
    try:
        yield
    except Exception as error:
        is_assembly = question.callback in _ASSEMBLY
        if is_assembly and isinstance(error, AssemblyError):
            raise
        msg = f"`{_KEYWORDS[question.callback]}` raised {error_text(error)}"
        raise (AssemblyError if is_assembly else HistoryProcessingError)(msg) from error


@contextmanager
def _running(owner: object) -> Generator[None]:
    token = _active.set(_active.get() | {id(owner)})
    try:
        yield
    finally:
        _active.reset(token)


@contextmanager
def _no_recursion(owner: object) -> Generator[None]:
    if id(owner) in _active.get():
        msg = (
            "A history callback called the adapter it belongs to; nothing was sent. "
            "Use an agent or model without this adapter, for example for a summary"
        )
        raise HistoryProcessingError(msg)
    yield


def _is_async(function: Callable[[Any], Any]) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)
