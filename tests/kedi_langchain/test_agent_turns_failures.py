"""Runs of agents in a scope that fail or are cancelled: they commit nothing, and the next run is served."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import BaseMessage
from langchain_core.tools import tool

from chats import Context, Transport, adapter, calls, keep, lines
from kedi_compile import HistoryProcessingError
from kedi_compile.conversation import history_scope
from threads import Gate, Graph, agent, answering, says


@tool("look")
def failing_look() -> str:
    """Look around."""
    raise LookupError("nothing there")


FAILING: dict[str, Callable[[], tuple[Graph, Transport]]] = {}


def failing(name: str) -> Callable[[Callable[[], tuple[Graph, Transport]]], None]:
    """Add a way to fail in the first run and not in later ones."""

    def add(build: Callable[[], tuple[Graph, Transport]]) -> None:
        FAILING[name] = build

    return add


@failing("the model")
def _() -> tuple[Graph, Transport]:
    transport = answering(LookupError("overloaded"), "done")
    return agent(transport, adapter(keep(1))), transport


@failing("the model, later in the loop")
def _() -> tuple[Graph, Transport]:
    transport = answering(calls("c1"), LookupError("overloaded"), "done")
    return agent(transport, adapter(keep(1))), transport


@failing("a tool")
def _() -> tuple[Graph, Transport]:
    transport = answering(calls("c1"), "done")
    return agent(transport, adapter(keep(1)), tools=[failing_look]), transport


class Failing(AgentMiddleware):
    """Another middleware that fails once, in one of its hooks."""

    def __init__(self, hook: str) -> None:
        super().__init__()
        self._hook: str | None = hook

    def before_agent(self, state: Any, runtime: Any) -> None:
        self._fail("before_agent")

    def before_model(self, state: Any, runtime: Any) -> None:
        self._fail("before_model")

    def after_model(self, state: Any, runtime: Any) -> None:
        self._fail("after_model")

    def after_agent(self, state: Any, runtime: Any) -> None:
        self._fail("after_agent")

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        self._fail("before the call")
        response = handler(request)
        self._fail("after the call")
        return response

    def _fail(self, hook: str) -> None:
        if hook == self._hook:
            self._hook = None
            raise LookupError(hook)


HOOKS = ("before_agent", "before_model", "before the call", "after the call", "after_model", "after_agent")


def _with_a_failing_hook(hook: str, stands: str) -> tuple[Graph, Transport]:
    transport = answering("done")
    others: dict[str, Any] = {stands: [Failing(hook)]}
    return agent(transport, adapter(keep(1)), **others), transport


FAILING |= {
    f"{hook} {stands}": lambda hook=hook, stands=stands: _with_a_failing_hook(hook, stands)  # type: ignore[misc]
    for hook in HOOKS
    for stands in ("outside", "inside")
}


@pytest.mark.parametrize("build", FAILING.values(), ids=FAILING)
def test_a_run_that_fails_commits_nothing_and_the_next_is_served(build: Callable[[], tuple[Graph, Transport]]) -> None:
    """Wherever it fails: before the turn, in it, or when its answer is there already."""
    subject, transport = build()

    with history_scope(True) as state:
        with pytest.raises(LookupError):
            subject.invoke(says("left"))
        left = state.turns
        transport.answers = ("done",)
        subject.invoke(says("one"))
        subject.invoke(says("two"))

    assert (left, state.turns) == (0, 2)
    assert transport.sent[-2:] == [["< one"], ["< one", "> done", "< two"]]


def test_a_processor_that_fails_commits_nothing() -> None:
    """In the second request of a loop: the first one's answer goes with it."""

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        if "< result c1" in lines(ctx.messages):
            raise LookupError("no policy")
        return ctx.messages

    transport = answering(calls("c1"), "done")
    subject = agent(transport, adapter(edit))

    with history_scope(True) as state:
        with pytest.raises(HistoryProcessingError):
            subject.invoke(says("left"))
        subject.invoke(says("one"))

    assert transport.sent == [["< left"], ["< one"]]
    assert state.turns == 1


async def test_a_cancelled_run_commits_nothing() -> None:
    """While its model is asked."""
    gate = Gate()
    transport = answering(gate.wait, "done")
    subject = agent(transport, adapter(keep(1)))

    with history_scope(True) as state:
        task = asyncio.create_task(subject.ainvoke(says("left")))
        await gate.entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(agent(answering(Gate().wait), adapter()).ainvoke(says("late")), 0.01)
        await subject.ainvoke(says("one"))

    assert transport.sent == [["< left"], ["< one"]]
    assert state.turns == 1
