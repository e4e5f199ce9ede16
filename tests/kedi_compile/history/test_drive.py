"""How callbacks are run: awaited, in worker threads, or inline; cancelled, recursive, and however they are written."""

import contextvars
import functools
import threading
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import anyio.to_thread
import pytest

from kedi_compile import HistoryProcessingError, HistoryProcessorState
from kedi_compile.history.flow import Outcome, Skipped, Staged
from kedi_compile.history.lifecycle import RequestState
from kedi_compile.session import RunSession
from toy import INFO, NOW, Context, Message, says, session, talk, user

HISTORY = [*talk("a"), user(NOW)]
CALLER: contextvars.ContextVar[str] = contextvars.ContextVar("caller", default="nobody")


def drop(ctx: Context) -> Sequence[Message]:
    """Drop the first group."""
    return ctx.messages[2:]


async def drop_async(ctx: Context) -> Sequence[Message]:
    """Drop the first group after a turn of the event loop."""
    await anyio.lowlevel.checkpoint()
    return drop(ctx)


class DropObject:
    """A callable object."""

    def __call__(self, ctx: Context) -> Sequence[Message]:
        return drop(ctx)


class DropAsyncObject:
    """An async callable object."""

    async def __call__(self, ctx: Context) -> Sequence[Message]:
        return await drop_async(ctx)


def drop_with(ctx: Context, note: str) -> Sequence[Message]:
    """Drop the first group, whatever the note."""
    assert note
    return drop(ctx)


async def drop_async_with(ctx: Context, note: str) -> Sequence[Message]:
    """Drop the first group later, whatever the note."""
    assert note
    return await drop_async(ctx)


PROCESSORS: dict[str, Callable[[Context], Any]] = {
    "function": drop,
    "async function": drop_async,
    "object": DropObject(),
    "async object": DropAsyncObject(),
    "method": DropObject().__call__,
    "async method": DropAsyncObject().__call__,
    "partial": functools.partial(drop_with, note="x"),
    "async partial": functools.partial(drop_async_with, note="x"),
    "function that returns an awaitable": lambda ctx: drop_async_with(ctx, "x"),
}


@pytest.mark.parametrize("name", PROCESSORS)
async def test_every_kind_of_processor_runs_on_an_async_path(name: str) -> None:
    """Sync or async, function, method, object or partial: the edit is the same."""
    outcome = await session(PROCESSORS[name]).edit(HISTORY, INFO)

    assert isinstance(outcome, Staged)
    assert outcome.messages == (user(NOW),)


@pytest.mark.parametrize("name", PROCESSORS)
def test_every_kind_of_processor_runs_on_a_sync_path(name: str) -> None:
    """An async processor works on a synchronous path too."""
    outcome = session(PROCESSORS[name]).edit_sync(HISTORY, INFO)

    assert isinstance(outcome, Staged)
    assert outcome.messages == (user(NOW),)


@pytest.mark.parametrize("name", PROCESSORS)
async def test_every_kind_of_processor_runs_on_a_sync_path_inside_a_loop(name: str) -> None:
    """So does it where the calling thread is running an event loop."""
    outcome = session(PROCESSORS[name]).edit_sync(HISTORY, INFO)

    assert isinstance(outcome, Staged)
    assert outcome.messages == (user(NOW),)


def no(state: HistoryProcessorState) -> bool:
    """Say no."""
    return False


async def no_async(state: HistoryProcessorState) -> bool:
    """Say no after a turn of the event loop."""
    await anyio.lowlevel.checkpoint()
    return False


def no_later(_: object, state: HistoryProcessorState) -> Awaitable[bool]:
    """Return something to await."""
    return no_async(state)


class NoAsyncObject:
    """An async callable object that says no."""

    async def __call__(self, state: HistoryProcessorState) -> bool:
        return await no_async(state)


@pytest.mark.parametrize("condition", [no, no_async, NoAsyncObject(), functools.partial(no_later, 0)])
async def test_every_kind_of_condition_is_understood(condition: Callable[[HistoryProcessorState], Any]) -> None:
    """A condition may be sync or async, on both paths; an awaitable is no answer in itself."""
    assert await session(drop, condition).edit(HISTORY, INFO) == Skipped()
    assert session(drop, condition).edit_sync(HISTORY, INFO) == Skipped()


async def test_a_sync_processor_runs_in_a_worker_thread() -> None:
    """It does not block the event loop; an async one runs on it, and so does a condition."""
    seen: dict[str, int] = {}

    def note(name: str) -> None:
        seen[name] = threading.get_ident()

    def slow(ctx: Context) -> Sequence[Message]:
        note("sync processor")
        return drop(ctx)

    async def quick(ctx: Context) -> Sequence[Message]:
        note("async processor")
        return drop(ctx)

    def condition(state: HistoryProcessorState) -> bool:
        note("condition")
        return True

    await session(slow, condition).edit(HISTORY, INFO)
    await session(quick).edit(HISTORY, INFO)

    here = threading.get_ident()
    assert seen.pop("sync processor") != here
    assert seen == {"async processor": here, "condition": here}


def test_a_sync_processor_runs_inline_on_a_sync_path() -> None:
    """Without an event loop there is no reason for a thread."""
    threads: list[int] = []

    def note(ctx: Context) -> Sequence[Message]:
        threads.append(threading.get_ident())
        return drop(ctx)

    session(note).edit_sync(HISTORY, INFO)

    assert threads == [threading.get_ident()]


async def edit_async(run: RunSession[Message]) -> Outcome[Message]:
    """Edit on an async path."""
    return await run.edit(HISTORY, INFO)


async def edit_inside_a_loop(run: RunSession[Message]) -> Outcome[Message]:
    """Edit on a sync path while a loop is running."""
    return run.edit_sync(HISTORY, INFO)


PATHS = pytest.mark.parametrize("edit", [edit_async, edit_inside_a_loop])
Edit = Callable[[RunSession[Message]], Awaitable[Outcome[Message]]]


@PATHS
@pytest.mark.parametrize("is_async", [True, False])
async def test_the_callers_context_variables_are_visible(edit: Edit, is_async: bool) -> None:
    """Wherever a callback runs, it sees the context of the request."""
    seen: list[str] = []

    def note(ctx: Context) -> Sequence[Message]:
        seen.append(CALLER.get())
        return drop(ctx)

    async def note_async(ctx: Context) -> Sequence[Message]:
        return note(ctx)

    token = CALLER.set("the request")
    await edit(session(note_async if is_async else note))
    CALLER.reset(token)

    assert seen == ["the request"]


@PATHS
@pytest.mark.parametrize("role", ["processor", "condition"])
async def test_a_stop_iteration_is_an_error_like_any_other(edit: Edit, role: str) -> None:
    """`next()` on an empty iterator in a callback does not end the machinery around it."""

    def stop(_: object) -> Any:
        return next(iter(()))

    run = session(stop) if role == "processor" else session(drop, stop)

    with pytest.raises(HistoryProcessingError, match="raised StopIteration: ") as caught:
        await edit(run)
    assert isinstance(caught.value.__cause__, StopIteration)
    assert run.state is RequestState.FAILED


@PATHS
async def test_what_an_async_processor_raises_is_wrapped(edit: Edit) -> None:
    """An error after an await is as good as one before."""

    async def fail(ctx: Context) -> Sequence[Message]:
        await anyio.lowlevel.checkpoint()
        msg = "no summary"
        raise LookupError(msg)

    with pytest.raises(HistoryProcessingError, match=r"^`history_processor` raised LookupError: no summary$") as caught:
        await edit(session(fail))
    assert isinstance(caught.value.__cause__, LookupError)


class Shutdown(BaseException):
    """Something that no one may swallow."""


@PATHS
async def test_what_is_no_error_passes_unwrapped(edit: Edit) -> None:
    """Interrupts are not turned into processing errors; the request has failed all the same."""

    def shut_down(ctx: Context) -> Sequence[Message]:
        raise Shutdown

    run = session(shut_down)

    with pytest.raises(Shutdown):
        await edit(run)
    assert run.state is RequestState.FAILED


async def test_a_cancelled_request_abandons_a_running_worker_thread() -> None:
    """Cancellation does not wait for the thread, and its late result is discarded."""
    started, release, finished = threading.Event(), threading.Event(), threading.Event()

    def block(ctx: Context) -> Sequence[Message]:
        started.set()
        release.wait()
        edited = drop(ctx)
        finished.set()
        return edited

    run = session(block)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(run.edit, HISTORY, INFO)
        await anyio.to_thread.run_sync(started.wait)
        tasks.cancel_scope.cancel()
    assert not finished.is_set()
    assert run.state is RequestState.FAILED
    release.set()
    await anyio.to_thread.run_sync(finished.wait)

    assert run.continuation.generation == 0
    assert run.state is RequestState.FAILED
    assert isinstance(await run.edit(HISTORY, INFO), Staged)


async def cancelled_by(make: Callable[[anyio.CancelScope], RunSession[Message]]) -> RunSession[Message]:
    """Return a session whose request cancelled itself."""
    with anyio.CancelScope() as scope:
        run = make(scope)
        await run.edit(HISTORY, INFO)
    assert scope.cancelled_caught
    return run


async def test_a_cancel_during_the_callback_wins_over_its_edit() -> None:
    """An async processor that returns after the cancel without awaiting commits nothing."""

    def make(scope: anyio.CancelScope) -> RunSession[Message]:
        async def cancel(ctx: Context) -> Sequence[Message]:
            scope.cancel()
            return drop(ctx)

        return session(cancel)

    run = await cancelled_by(make)

    assert run.state is RequestState.FAILED
    assert run.continuation.generation == 0


async def test_a_cancel_during_the_condition_skips_nothing() -> None:
    """A cancelled request is failed, whatever the condition answered."""

    def make(scope: anyio.CancelScope) -> RunSession[Message]:
        def cancel(state: HistoryProcessorState) -> bool:
            scope.cancel()
            return False

        return session(drop, cancel)

    assert (await cancelled_by(make)).state is RequestState.FAILED


RECURSION = (
    "A history callback called the adapter it belongs to; nothing was sent. Use an agent or model without this "
    "adapter, for example for a summary"
)


class Adapter:
    """A configured adapter: any number of runs with one owner."""

    def __init__(self, processor: Callable[[Context], Any]) -> None:
        self.first = session(processor)

    def run(self) -> RunSession[Message]:
        """Return the session of a new run."""
        inner = self.first
        return RunSession(inner._policy, inner._dialect, owner=inner._owner)  # noqa: SLF001  # as an adapter would


@PATHS
@pytest.mark.parametrize("is_async", [True, False])
async def test_a_processor_may_not_call_its_own_adapter(edit: Edit, is_async: bool) -> None:
    """Recursion into the same configured adapter is an error, also through another run of it, sync or async."""
    adapters: list[Adapter] = []

    def recurse(ctx: Context) -> object:
        return adapters[0].run().edit_sync(HISTORY, INFO)

    async def recurse_async(ctx: Context) -> object:
        return await adapters[0].run().edit(HISTORY, INFO)

    adapters.append(Adapter(recurse_async if is_async else recurse))

    with pytest.raises(HistoryProcessingError) as caught:
        await edit(adapters[0].run())
    assert str(caught.value.__cause__) == RECURSION


@PATHS
async def test_a_processor_may_call_another_adapter(edit: Edit) -> None:
    """A second configured adapter, with a processor of its own, is nobody's recursion."""
    other = session(drop)

    def nest(ctx: Context) -> Sequence[Message]:
        assert isinstance(other.edit_sync(HISTORY, INFO), Staged)
        return drop(ctx)

    assert isinstance(await edit(session(nest)), Staged)


async def test_concurrent_runs_of_one_adapter_are_no_recursion() -> None:
    """Two runs may be in their callbacks at the same time."""
    both = anyio.Event()
    inside: list[int] = []

    async def meet(ctx: Context) -> Sequence[Message]:
        inside.append(len(inside))
        if len(inside) == 2:
            both.set()
        await both.wait()
        return drop(ctx)

    adapter = Adapter(meet)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(adapter.run().edit, HISTORY, INFO)
        tasks.start_soon(adapter.run().edit, HISTORY, INFO)

    assert inside == [0, 1]


async def test_the_guard_ends_with_the_callback() -> None:
    """After a callback, also a failed one, the adapter may be used again."""
    answers = iter([ValueError("once"), None])

    def fail_once(ctx: Context) -> Sequence[Message]:
        if error := next(answers):
            raise error
        return drop(ctx)

    adapter = Adapter(fail_once)
    with pytest.raises(HistoryProcessingError):
        await adapter.run().edit(HISTORY, INFO)

    assert isinstance(await adapter.run().edit([*HISTORY, says("a"), user(NOW)], INFO), Staged)
