"""Tool loops through the adapter: parallel, retried, deferred and approved calls, output retries, enqueued content."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai import messages as m
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.output import ToolOutput
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults, ToolApproved

from agents import (
    ENTRY_POINTS,
    Context,
    Script,
    adapter,
    asks,
    calls,
    keep,
    lines,
    noting,
    results,
    run_through,
    says,
    turns,
)
from kedi_compile import HistoryProcessingValidationError, ProtectedReason

KEPT_ONE = ["< question 3", "> answer 3", "< now"]
Facts = list[tuple[int, int, bool, list[ProtectedReason]]]


def group_facts(ctx: Context) -> Facts:
    """Read bounds, closedness and reasons off each group."""
    return [(one.entry_start, one.entry_end, one.closed, sorted(one.protected_reasons)) for one in ctx.groups]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_parallel_batch_survives_an_edit_whole(entry: str) -> None:
    """Every call of a batch keeps its result, in the running cycle and in later requests."""
    script = Script(calls("c1", "c2", "c3"), "done")
    agent = Agent(script.model, capabilities=[adapter(keep(1))])
    agent.tool_plain(look)

    finished = run_through(entry, agent, "now", message_history=turns(3))

    loop = [*KEPT_ONE, "> call c1 | call c2 | call c3", "< result c1 | result c2 | result c3"]
    assert script.sent[1] == loop
    assert lines(finished.all_messages) == [*loop, "> done"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_retried_tool_answers_its_call(entry: str) -> None:
    """`ModelRetry` from a tool is that call's result, so the loop stays one cycle."""
    seen: list[Facts] = []
    script = Script(calls("c1"), calls("c2"), "done")
    agent = Agent(script.model, capabilities=[adapter(noting(seen, group_facts))])
    attempts: list[int] = []

    @agent.tool_plain(retries=1)
    def look() -> str:
        attempts.append(1)
        if len(attempts) == 1:
            message = "look again"
            raise ModelRetry(message)
        return "seen"

    run_through(entry, agent, "now")

    assert script.sent[2] == ["< now", "> call c1", "< result c1", "> call c2", "< result c2"]
    assert seen[2] == [(0, 5, False, [ProtectedReason.CURRENT_REQUEST])]


def test_a_closed_tool_cycle_is_dropped_as_a_whole() -> None:
    """A finished cycle with tool calls is one group: calls, results and answer go together."""
    history = [asks("look"), calls("c1", "c2"), results("c1", "c2"), says("looked"), *turns(1)]
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(1))])

    run_through("run", agent, "now", message_history=history)

    assert script.sent == [["< question 1", "> answer 1", "< now"]]


def test_a_result_that_lost_its_call_is_refused_with_its_id() -> None:
    """Dropping the call and keeping the result names the tool call."""
    history = [asks("look"), calls("c9"), results("c9"), says("looked")]
    script = Script("done")

    def without_the_call(ctx: Context) -> list[ModelMessage]:
        return [ctx.messages[0], *ctx.messages[2:]]

    agent = Agent(script.model, capabilities=[adapter(without_the_call)])

    with pytest.raises(HistoryProcessingValidationError) as caught:
        run_through("run", agent, "now", message_history=history)
    assert [one.tool_call_id for one in caught.value.violations if one.rule == "orphan_tool_result"] == ["c9"]
    assert script.sent == []


@pytest.mark.parametrize("entry", [entry for entry in ENTRY_POINTS if entry != "run_stream"])
def test_an_output_retry_is_a_request_of_its_own(entry: str) -> None:
    """A rejected output leads to request 2 of the same run; its feedback opens no new cycle.

    The host's `run_stream` knows no output retries.
    """
    seen: list[tuple[int, Facts]] = []
    script = Script("wrong", "right")
    agent = Agent(script.model, capabilities=[adapter(noting(seen, lambda ctx: (ctx.request_index, group_facts(ctx))))])

    @agent.output_validator
    def validate(ctx: RunContext[None], output: str) -> str:
        if output == "wrong" and not ctx.partial_output:
            message = "not that"
            raise ModelRetry(message)
        return output

    finished = run_through(entry, agent, "now", message_history=turns(1))

    assert finished.output == "right"
    assert [index for index, _ in seen] == [1, 2]
    assert [group[:2] for group in seen[1][1]] == [(0, 2), (2, 5)]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_tool_output_ends_the_run_like_any_other(entry: str) -> None:
    """The host's own result for an output tool is recorded behind the edited history."""
    script = Script(calls("c1", tool="final_result", value=3))
    agent = Agent(script.model, output_type=ToolOutput(_answer), capabilities=[adapter(keep(1))])

    finished = run_through(entry, agent, "now", message_history=turns(3))

    assert finished.output == 3
    assert lines(finished.all_messages) == [*KEPT_ONE, "> call c1", "< result c1"]
    assert lines(finished.new_messages) == ["< now", "> call c1", "< result c1"]


def _answer(value: int) -> int:
    return value


@pytest.mark.parametrize("edit", [keep(1), keep(0)])
def test_a_call_deferred_to_the_outside_is_resumed_after_an_edit(edit: Any) -> None:
    """An external result comes in a second run; the open cycle stays whole although older groups go."""
    script = Script(calls("c1"), "done")
    agent = Agent(script.model, output_type=[str, DeferredToolRequests], capabilities=[adapter(edit)])

    @agent.tool_plain
    def look() -> str:
        raise CallDeferred

    first = run_through("run", agent, "now", message_history=turns(3))
    assert isinstance(first.output, DeferredToolRequests)
    second = run_through(
        "run",
        agent,
        None,
        message_history=first.all_messages,
        deferred_tool_results=DeferredToolResults(calls={"c1": "seen at last"}),
    )

    assert second.output == "done"
    assert script.sent[1][-3:] == ["< now", "> call c1", "< result c1"]
    assert "< question 1" not in lines(second.all_messages)


def test_an_approved_call_is_resumed_after_an_edit() -> None:
    """A call that waited for approval beside a finished one: both results stay with their batch."""
    script = Script(
        m.ModelResponse(
            parts=[m.ToolCallPart("look", {}, tool_call_id="c1"), m.ToolCallPart("risk", {}, tool_call_id="c2")]
        ),
        "done",
    )
    agent = Agent(script.model, output_type=[str, DeferredToolRequests], capabilities=[adapter(keep(0))])
    agent.tool_plain(look)

    @agent.tool
    def risk(ctx: RunContext[None]) -> str:
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return "dared"

    first = run_through("run", agent, "now", message_history=turns(2))
    second = run_through(
        "run",
        agent,
        None,
        message_history=first.all_messages,
        deferred_tool_results=DeferredToolResults(approvals={"c2": ToolApproved()}),
    )

    assert second.output == "done"
    assert script.sent[1] == ["< now", "> call c1 | call c2", "< result c1 | result c2"]


def test_a_prompt_beside_deferred_results_belongs_to_their_request() -> None:
    """A resume with a new prompt puts the prompt into the results' request; the whole is the current cycle."""
    seen: list[Facts] = []
    script = Script(calls("c1"), "done")
    agent = Agent(
        script.model, output_type=[str, DeferredToolRequests], capabilities=[adapter(noting(seen, group_facts))]
    )

    @agent.tool_plain
    def look() -> str:
        raise CallDeferred

    first = run_through("run", agent, "now")
    run_through(
        "run",
        agent,
        "and hurry",
        message_history=first.all_messages,
        deferred_tool_results=DeferredToolResults(calls={"c1": "seen"}),
    )

    assert script.sent[1] == ["< now", "> call c1", "< result c1 | and hurry"]
    assert [group[:2] for group in seen[1]] == [(0, 3)]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_content_enqueued_by_a_tool_stays_in_the_open_cycle(entry: str) -> None:
    """Steering content inside a tool loop opens no cycle and is not lost by an edit."""
    seen: list[Facts] = []
    script = Script(calls("c1"), calls("c2"), "done")

    def edit(ctx: Context) -> Sequence[ModelMessage]:
        seen.append(group_facts(ctx))
        return ctx.keep_recent_groups(0)

    agent = Agent(script.model, capabilities=[adapter(edit)])
    steered: list[str] = []

    @agent.tool
    def look(ctx: RunContext[None]) -> str:
        if not steered:
            steered.append("be quick")
            ctx.enqueue("be quick")
        return "seen"

    finished = run_through(entry, agent, "now", message_history=turns(2))

    assert script.sent[1] == ["< now", "> call c1", "< result c1 | be quick"]
    assert script.sent[2] == ["< now", "> call c1", "< result c1 | be quick", "> call c2", "< result c2"]
    assert all(len(groups) == 1 for groups in seen[1:])
    assert lines(finished.new_messages)[0] == "< now"


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_content_enqueued_by_another_hook_lands_behind_the_edit(entry: str) -> None:
    """What the host adds to the current request after the edit is sent and kept."""
    script = Script("done")

    agent = Agent(script.model, capabilities=[adapter(keep(1)), Enqueues()])

    finished = run_through(entry, agent, "now", message_history=turns(3))

    assert script.sent == [["< question 3", "> answer 3", "< now | one more thing"]]
    assert lines(finished.all_messages) == [*KEPT_ONE, "< one more thing", "> done"]
    assert lines(finished.new_messages) == ["< now", "< one more thing", "> done"]


class Enqueues(AbstractCapability[Any]):
    """Adds content while a request is being prepared."""

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        ctx.enqueue("one more thing")
        return request_context


def look() -> str:
    """Look at something."""
    return "seen"
