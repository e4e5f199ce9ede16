"""Where a run's new messages begin, on every road on which an edit is taken back or its answer comes late."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage

from agents import Context, Script, adapter, keep, lines, says, turns
from kedi_pydantic_ai.boundary import run_marks, shift, step_marks

OVERLOADED = ModelHTTPError(529, "scripted", None)


def _grow(ctx: Context) -> list[ModelMessage]:
    summaries = [message for number in range(3) for message in ctx.summary_messages(f"s{number}")]
    return [*summaries, *ctx.messages]


each_edit = pytest.mark.parametrize("edit", [keep(1), _grow], ids=["shorter", "longer"])


class _Saves(AbstractCapability[Any]):
    """Answers in the place of a provider that failed."""

    async def wrap_model_request(self, ctx: Any, *, request_context: Any, handler: Any) -> Any:
        try:
            return await handler(request_context)
        except ModelHTTPError:
            return says("sorry")


@each_edit
async def test_an_answer_given_in_place_of_a_failed_one_is_new(edit: Callable[[Context], Any]) -> None:
    """The edit is taken back, and the question and the substitute are the run's new messages."""
    agent = Agent(Script(OVERLOADED).model, capabilities=[_Saves(), adapter(edit)])

    result = await agent.run("now", message_history=turns(4))

    assert lines(result.new_messages()) == ["< now", "> sorry"]
    assert len(result.all_messages()) == 10


@each_edit
async def test_a_failed_run_has_its_question_as_new(edit: Callable[[Context], Any]) -> None:
    """What an application stores after an error is the question alone, whatever the edit did."""
    agent = Agent(Script(OVERLOADED).model, capabilities=[adapter(edit)])

    async with agent.iter("now", message_history=turns(4)) as run:
        with pytest.raises(ModelHTTPError):
            async for _ in run:
                pass

    assert lines(run.new_messages()) == ["< now"]


@pytest.mark.parametrize("edits", [False, True], ids=["host alone", "edited"])
async def test_an_answer_that_comes_after_the_run_was_left_is_kept(edits: bool) -> None:
    """Leaving the iteration while a request is under way keeps the late answer, as the host alone does."""
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def late() -> None:
        asked.set()
        await may_answer.wait()

    agent = Agent(Script(late).model, capabilities=[adapter(keep(1))] if edits else [])

    async def follow(run: Any) -> None:
        async for _ in run:
            pass

    async with agent.iter("now", message_history=turns(4)) as run:
        following = asyncio.ensure_future(follow(run))
        await asked.wait()
        following.cancel()
        may_answer.set()
        await asyncio.wait([following])

    assert lines(run.new_messages()) == ["< now", "> done"]


def test_marks_are_found_through_the_hosts_own_handler() -> None:
    """A handler that closes over a context with marks gives them; any other shape gives nothing."""

    class Deps:
        new_message_index = 3
        resumed_request_index = None

    class Graph:
        deps = Deps()

    def handler_of(ctx: Graph) -> Callable[[], Graph]:
        return lambda: ctx

    marks = step_marks(handler_of(Graph()))
    shift(marks, 4)

    assert marks.new_message_index == 7
    assert marks.resumed_request_index is None
    assert step_marks(print) is None
    assert run_marks(print) is None
    shift(None, 4)
