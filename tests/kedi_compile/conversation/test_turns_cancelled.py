"""A turn cancelled while its store is at work: that ends first, and the turn is committed whole or not at all."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import anyio
import anyio.lowlevel
import pytest

from kedi_compile.conversation import ConversationState
from kedi_compile.conversation.turns import Turn
from shelf import Shelf, converse, extended, topics


async def test_a_store_needs_no_thread_of_the_loops_own_pool() -> None:
    """All threads of a pool may be waiting for the very turn that is to be committed."""
    state, go = ConversationState("topic", Shelf()), threading.Event()
    with ThreadPoolExecutor(1) as pool:
        asyncio.get_running_loop().set_default_executor(pool)
        pool.submit(go.wait)
        turn = Turn(state)
        try:
            await asyncio.wait_for(turn.enter(), 30)
            await asyncio.wait_for(turn.commit(extended(turn, "a")), 30)
        finally:
            go.set()

    assert state.turns == 1


async def test_a_store_that_raises_stop_iteration_raises_an_error() -> None:
    """No future carries one, so it would never be over."""
    shelf = Shelf()
    turn = Turn(ConversationState("topic", shelf))
    shelf.meddle = lambda call: next(iter(()))

    with pytest.raises(RuntimeError, match="A store raised StopIteration"):
        await asyncio.wait_for(turn.enter(), 30)

    assert not turn.is_open


class Held:
    """A shelf on which one call stays until it is let go."""

    def __init__(self, call: str) -> None:
        self.shelf = Shelf()
        self._call = call
        self._reached = threading.Event()
        self._go = threading.Event()

    def arm(self) -> None:
        """From now on, hold the call."""
        self.shelf.meddle = self._hold

    def _hold(self, call: str) -> None:
        if call == self._call:
            self._reached.set()
            self._go.wait()

    async def reached(self) -> None:
        """Wait until the call is there."""
        await asyncio.get_running_loop().run_in_executor(None, self._reached.wait)

    def let_go(self) -> None:
        """Let the call go on, and hold no other."""
        self.shelf.meddle = lambda call: None
        self._go.set()


@pytest.mark.parametrize("call", ["commit", "head"])
def test_a_cancel_waits_for_what_the_store_has_begun(call: str) -> None:
    """The store's call goes on in its thread, so nobody else may begin before it has ended."""
    held = Held(call)
    state = ConversationState("talk", held.shelf)

    async def run(topic: str) -> None:
        turn = Turn(state)
        await turn.enter()
        await turn.commit(extended(turn, topic))

    async def main() -> tuple[bool, bool]:
        held.arm()
        task = asyncio.create_task(run("a"))
        await held.reached()
        task.cancel()
        for _ in range(3):
            await asyncio.sleep(0)
        waited = not task.done() and len(state.ledger.line.tickets) == 1
        held.let_go()
        await asyncio.wait([task])
        return waited, task.cancelled()

    assert asyncio.run(main()) == (True, True)
    committed = ["a"] if call == "commit" else []
    assert topics(state) == committed
    assert (state.ledger.line.tickets, len(held.shelf.added)) == ([], len(committed))
    assert topics(converse(state, "b")) == [*committed, "b"]


def test_a_cancel_while_the_store_commits_hands_the_cleanups_over() -> None:
    """A turn that was committed in the end is a turn, also for what it has registered."""
    held = Held("commit")
    state = ConversationState("talk", held.shelf)
    released: list[str] = []

    async def run() -> None:
        turn = Turn(state)
        await turn.enter()
        state.cleanup(lambda: released.append("released"))
        await turn.commit(extended(turn, "a"))

    async def main() -> None:
        held.arm()
        task = asyncio.create_task(run())
        await held.reached()
        task.cancel()
        held.let_go()
        await asyncio.wait([task])

    asyncio.run(main())

    assert released == []
    state.close()
    assert released == ["released"]


def test_a_cancelled_scope_waits_for_the_store_too() -> None:
    """A deadline of a cancel scope is no other than a cancelled task."""
    held = Held("commit")
    state = ConversationState("talk", held.shelf)

    async def main() -> bool:
        held.arm()
        with anyio.CancelScope() as scope:
            turn = Turn(state)
            await turn.enter()
            asyncio.get_running_loop().call_later(0.01, scope.cancel)
            asyncio.get_running_loop().call_later(0.02, held.let_go)
            await turn.commit(extended(turn, "a"))
            await anyio.lowlevel.checkpoint()
        return scope.cancelled_caught

    assert asyncio.run(main())
    assert (topics(state), state.ledger.line.tickets) == (["a"], [])


def test_a_store_that_fails_under_a_cancel_abandons_the_turn() -> None:
    """Nothing was written, so nothing is kept, and the cancel goes on."""
    held = Held("commit")
    state = ConversationState("talk", held.shelf)

    async def run() -> None:
        turn = Turn(state)
        await turn.enter()
        converse(ConversationState("talk", held.shelf), "theirs")
        held.arm()
        await turn.commit(extended(turn, "mine"))

    async def main() -> asyncio.CancelledError | None:
        task = asyncio.create_task(run())
        await held.reached()
        task.cancel()
        held.let_go()
        try:
            await task
        except asyncio.CancelledError as error:
            return error
        return None

    error = asyncio.run(main())

    assert error is not None
    assert (state.turns, state.ledger.line.tickets) == (0, [])
    assert topics(converse(state, "mine")) == ["theirs", "mine"]
