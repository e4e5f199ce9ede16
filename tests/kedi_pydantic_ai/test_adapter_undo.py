"""Hooks of other capabilities that fail, retry, skip or replace a request: which edits stay and which are undone.

The rule: an edit stays if the host keeps the answer to it; otherwise the lists are what the host alone leaves.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry, RunContext, capture_run_messages
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelHTTPError, RetryModelRequest, SkipModelRequest
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext

from agents import (
    ENTRY_POINTS,
    STREAMING,
    Answer,
    Context,
    Script,
    adapter,
    calls,
    keep,
    lines,
    run_through,
    says,
    stored,
    turns,
)

UNEDITED = [*lines(turns(3)), "< now"]
KEPT_ONE = ["< question 3", "> answer 3", "< now"]
Handler = Callable[[ModelRequestContext], Awaitable[ModelResponse]]


class HookError(Exception):
    """What a hook of another capability raises in these tests."""


@dataclass
class Before(AbstractCapability[Any]):
    """Does `act` before each request is processed."""

    act: Callable[[RunContext[Any]], None]

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self.act(ctx)
        return request_context


@dataclass
class Prepare(AbstractCapability[Any]):
    """Does `act` while each attempt is prepared."""

    act: Callable[[RunContext[Any]], None]

    async def prepare_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        self.act(ctx)
        return request_context


@dataclass
class After(AbstractCapability[Any]):
    """Does `act` after each answer."""

    act: Callable[[RunContext[Any]], None]

    async def after_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, response: ModelResponse
    ) -> ModelResponse:
        self.act(ctx)
        return response


@dataclass
class OnError(AbstractCapability[Any]):
    """Does `act` when a model has failed."""

    act: Callable[[RunContext[Any]], None]

    async def on_model_request_error(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, error: Exception
    ) -> ModelResponse:
        self.act(ctx)
        raise error


@dataclass
class Around(AbstractCapability[Any]):
    """Does `act` when a request step is over, whatever came of it."""

    act: Callable[[RunContext[Any]], ModelResponse | None]

    async def wrap_model_request(
        self, ctx: RunContext[Any], *, request_context: ModelRequestContext, handler: Handler
    ) -> ModelResponse:
        try:
            response = await handler(request_context)
        except ModelHTTPError:
            if (instead := self.act(ctx)) is None:
                raise
            return instead
        return self.act(ctx) or response


def raising(error: Exception, step: int = 1) -> Callable[[RunContext[Any]], Any]:
    """Return an act that raises `error` at request `step`, the first time only."""
    pending = [error]

    def act(ctx: RunContext[Any]) -> None:
        if ctx.run_step == step and pending:
            raise pending.pop()

    return act


def left_by(
    entry: str, answers: tuple[Answer, ...], *capabilities: Any, error: type[Exception] | None = None
) -> list[Any]:
    """Run to the end or into `error`, and return what the run's list holds then."""
    agent: Agent[Any, Any] = Agent(Script(*answers).model, capabilities=capabilities)
    agent.tool_plain(look)
    with capture_run_messages() as captured:
        if error is None:
            run_through(entry, agent, "now", message_history=turns(3))
        else:
            with pytest.raises(error):
                run_through(entry, agent, "now", message_history=turns(3))
    return list(captured)


@pytest.mark.parametrize("entry", ENTRY_POINTS)
@pytest.mark.parametrize("hook", [Before, Prepare, After, Around])
def test_a_hook_that_fails_undoes_the_edit(entry: str, hook: Callable[[Any], AbstractCapability[Any]]) -> None:
    """Wherever another capability raises, also after the answer, the list is what the host alone leaves."""
    expected = left_by(entry, ("dropped",), hook(raising(HookError())), error=HookError)

    left = left_by(entry, ("dropped",), hook(raising(HookError())), adapter(keep(1)), error=HookError)

    assert stored(left) == stored(expected)
    assert lines(left)[: len(UNEDITED)] == UNEDITED


@pytest.mark.parametrize("entry", ENTRY_POINTS)
@pytest.mark.parametrize("hook", [Before, Prepare, After, Around])
def test_a_hook_that_fails_later_keeps_the_finished_steps_edit(
    entry: str, hook: Callable[[Any], AbstractCapability[Any]]
) -> None:
    """The failing second request takes back its own edit only."""
    left = left_by(
        entry,
        (calls("c1"), "dropped"),
        hook(raising(HookError(), step=2)),
        adapter(lambda ctx: ctx.keep_recent_groups(3 - ctx.request_index)),
        error=HookError,
    )

    kept_two = ["< question 2", "> answer 2", *KEPT_ONE, "> call c1", "< result c1"]
    assert lines(left)[: len(kept_two)] == kept_two


@pytest.mark.parametrize("entry", [entry for entry in ENTRY_POINTS if entry != "run_stream"])
@pytest.mark.parametrize("hook", [After, Around])
def test_a_model_retry_after_the_answer_keeps_the_edit(
    entry: str, hook: Callable[[Any], AbstractCapability[Any]]
) -> None:
    """The host keeps the rejected answer and asks again, so the edit was answered and stays.

    The host's `run_stream` knows no such retries.
    """
    epochs: list[tuple[int, int]] = []

    def edit(ctx: Context) -> list[ModelMessage]:
        epochs.append((ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(1)

    retry = ModelRetry("say more")
    expected = lines(left_by(entry, ("wrong", "right"), hook(raising(retry))))

    left = lines(left_by(entry, ("wrong", "right"), hook(raising(ModelRetry("say more"))), adapter(edit)))

    assert expected[:6] == lines(turns(3))
    assert left == expected[4:]
    assert left[-1] == "> right"
    assert epochs == [(1, 0), (2, 1)]


@pytest.mark.parametrize("entry", [entry for entry in ENTRY_POINTS if entry not in STREAMING])
def test_another_attempt_at_the_same_step_runs_the_callback_once(entry: str) -> None:
    """`RetryModelRequest` sends the proved edit again; the rejected answer is not kept and counts nothing."""
    indices: list[int] = []

    def edit(ctx: Context) -> list[ModelMessage]:
        indices.append(ctx.request_index)
        return ctx.keep_recent_groups(1)

    left = left_by(entry, ("wrong", "right"), After(raising(RetryModelRequest())), adapter(edit))

    assert lines(left) == [*KEPT_ONE, "> right"]
    assert indices == [1]


def test_a_second_attempt_that_fails_and_is_skipped_undoes_the_edit() -> None:
    """The first attempt's answer was rejected and the second has none, so no answer to the edit is kept."""
    overloaded = ModelHTTPError(529, "scripted", None)
    rejects, skips = After(raising(RetryModelRequest())), OnError(raising(SkipModelRequest(says("from a cache"))))

    left = left_by("run", ("rejected", overloaded), rejects, skips, adapter(keep(1)))

    assert lines(left) == [*UNEDITED, "> from a cache"]


@pytest.mark.parametrize("entry", [entry for entry in ENTRY_POINTS if entry not in STREAMING])
def test_a_hook_that_answers_for_a_failed_provider_stands_on_the_unedited_history(entry: str) -> None:
    """The edit was never answered; the next step starts from generation 0."""
    epochs: list[tuple[int, int]] = []
    overloaded = ModelHTTPError(529, "scripted", None)

    def edit(ctx: Context) -> Any:
        epochs.append((ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(1) if ctx.request_index == 1 else ctx.messages

    answer_first = Around(lambda ctx: calls("c1") if ctx.run_step == 1 else None)
    left = left_by(entry, (overloaded, "done"), answer_first, adapter(edit))

    assert lines(left) == [*UNEDITED, "> call c1", "< result c1", "> done"]
    assert epochs == [(1, 0), (2, 0)]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_request_skipped_before_the_callback_is_the_hosts_alone(entry: str) -> None:
    """Another capability that answers in its before hook keeps the callback from running."""
    skip = SkipModelRequest(says("from a cache"))
    expected = left_by(entry, ("never",), Before(raising(skip)))

    left = left_by(entry, ("never",), Before(raising(SkipModelRequest(says("from a cache")))), adapter(_unreachable))

    assert stored(left) == stored(expected)
    assert lines(left) == [*UNEDITED, "> from a cache"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_request_skipped_behind_the_edit_stands_on_the_unedited_history(entry: str) -> None:
    """An edit that no model was asked about is undone, although the run goes on with the given answer."""
    skip = SkipModelRequest(says("from a cache"))
    expected = left_by(entry, ("never",), Prepare(raising(skip)))

    left = left_by(entry, ("never",), Prepare(raising(SkipModelRequest(says("from a cache")))), adapter(keep(1)))

    assert stored(left) == stored(expected)
    assert lines(left) == [*UNEDITED, "> from a cache"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_another_answer_in_the_place_of_the_models_keeps_the_edit(entry: str) -> None:
    """An outer hook may replace the answer; the edit was sent and stays."""
    left = left_by(entry, ("original",), Around(lambda ctx: says("replaced")), adapter(keep(1)))

    assert lines(left) == [*KEPT_ONE, "> replaced"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_an_answer_dropped_after_enqueued_content_undoes_the_edit(entry: str) -> None:
    """Content that the host put behind the current request does not hide that the answer was dropped."""
    expected = left_by(entry, ("dropped",), Before(_enqueue), Around(raising(HookError())), error=HookError)

    fails = Around(raising(HookError()))
    left = left_by(entry, ("dropped",), Before(_enqueue), fails, adapter(keep(1)), error=HookError)

    assert stored(left) == stored(expected)


def test_a_run_left_between_two_steps_keeps_the_answered_edit() -> None:
    """A caller that walks away from `iter` after the first answer finds the edit that was answered."""

    async def main() -> list[str]:
        agent: Agent[Any, Any] = Agent(Script(calls("c1"), "never").model, capabilities=[adapter(keep(1))])
        agent.tool_plain(look)
        async with agent.iter("now", message_history=turns(3)) as run:
            async for node in run:
                if Agent.is_call_tools_node(node):
                    break
        return lines(run.all_messages())

    assert asyncio.run(main()) == [*KEPT_ONE, "> call c1"]


def _enqueue(ctx: RunContext[Any]) -> None:
    ctx.enqueue("one more thing")


def look() -> str:
    """Look at something."""
    return "seen"


def _unreachable(ctx: Context) -> list[ModelMessage]:
    pytest.fail("the processor ran for a request that another capability had answered")
