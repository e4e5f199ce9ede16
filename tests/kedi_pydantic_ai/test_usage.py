"""Token numbers a callback is shown: the estimate, and what the provider reported for exactly this history."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai import messages as m
from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import ModelMessage, ModelResponse
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.usage import RequestUsage

from agents import Context, Script, adapter, asks, calls, keep, noting, run_through, says, turns
from kedi_compile import HistoryProcessorState
from kedi_compile.dump.schema import UsageDump
from kedi_pydantic_ai.dialect import PydanticDialect
from kedi_pydantic_ai.usage import reported_tokens, reported_usage

AnyAgent = Agent[Any, Any]
RUN_ENTRIES = ("run", "run_sync", "iter")  # a streaming function model estimates usage by itself


def billed(response: ModelResponse, tokens: int = 100) -> ModelResponse:
    """Give a response the usage a provider reports: 60 % input, 40 % output."""
    response.usage = RequestUsage(input_tokens=tokens * 6 // 10, output_tokens=tokens * 4 // 10)
    return response


def measured(ctx: Context) -> int | None:
    """Read the measured tokens."""
    return ctx.measured_tokens


@pytest.mark.parametrize("entry", RUN_ENTRIES)
def test_measured_tokens_are_the_reported_usage_plus_the_estimate_of_the_results(entry: str) -> None:
    """The second request of a tool loop knows what the first one cost, and adds the tool result."""
    seen: list[int | None] = []
    script = Script(billed(calls("c1")), "done")
    agent = _looking(script, adapter(noting(seen, measured)))

    run_through(entry, agent, "now", message_history=turns(2))

    result = PydanticDialect().estimate(script.requests[1][-1])
    assert seen == [None, 100 + result]


@pytest.mark.parametrize("entry", ["run", "run_stream", "run_stream_events"])
def test_every_entry_point_measures(entry: str) -> None:
    """Streams report usage too."""
    seen: list[int | None] = []
    agent = _looking(Script(calls("c1"), "done"), adapter(noting(seen, measured)))

    run_through(entry, agent, "now")

    assert seen[0] is None
    assert seen[1] is not None
    assert seen[1] > 0


def test_every_step_measures_anew() -> None:
    """The last response's usage counts, not the sum over the run."""
    seen: list[int | None] = []
    script = Script(billed(calls("c1"), 100), billed(calls("c2"), 200), "done")
    agent = _looking(script, adapter(noting(seen, measured)))

    run_through("run", agent, "now")

    result = PydanticDialect().estimate(script.requests[1][-1])
    assert seen == [None, 100 + result, 200 + result]


def test_measuring_begins_when_a_callback_first_asks() -> None:
    """Binding usage costs a look at every byte, so a run that never asks does not pay; the first answer is None."""
    seen: list[int | None] = []
    script = Script(billed(calls("c1")), billed(calls("c2")), "done")
    read_late = noting(seen, lambda ctx: ctx.measured_tokens if ctx.request_index > 1 else None)
    agent = _looking(script, adapter(read_late))

    run_through("run", agent, "now")

    assert [value is None for value in seen] == [True, True, False]


def test_the_condition_is_shown_the_same_numbers() -> None:
    """State and context agree."""
    asked: list[tuple[int, int | None, str]] = []
    seen: list[tuple[int, int | None, str]] = []

    def condition(state: HistoryProcessorState) -> bool:
        asked.append((state.estimated_tokens, state.measured_tokens, state.model_id))
        return True

    edit = noting(seen, lambda ctx: (ctx.estimated_tokens, ctx.measured_tokens, ctx.model_id))
    agent = _looking(Script(billed(calls("c1")), "done"), adapter(edit, condition))

    run_through("run", agent, "now")

    assert asked == seen
    assert seen[1][1] is not None


def test_an_edited_history_is_measured_as_it_was_sent() -> None:
    """After an accepted edit the provider's count is for the edited history, and holds for the next request."""
    seen: list[int | None] = []

    def edit(ctx: Context) -> list[ModelMessage]:
        seen.append(ctx.measured_tokens)
        return ctx.keep_recent_groups(1)

    agent = _looking(Script(billed(calls("c1")), "done"), adapter(edit))

    run_through("run", agent, "now", message_history=turns(3))

    assert seen[0] is None
    assert seen[1] is not None
    assert seen[1] > 100


def test_an_edit_by_another_capability_voids_the_measurement() -> None:
    """A history that lost a message since is not the measured one."""
    seen: list[int | None] = []
    changes = Changes(lambda messages: messages.pop(0))
    agent = _looking(Script(billed(calls("c1")), "done"), changes, adapter(noting(seen, measured)))

    run_through("run", agent, "now", message_history=turns(2))

    assert seen == [None, None]


def test_a_nested_argument_changed_in_place_voids_the_measurement() -> None:
    """An old message that says something else now is not the measured one, however deep the change."""
    seen: list[int | None] = []

    def change(messages: list[ModelMessage]) -> None:
        arguments: Any = messages[1].parts[0]
        arguments.args["where"]["room"] = "attic"

    history = [asks("look"), calls("c0", where={"room": "hall"}), _result("c0"), says("looked")]
    agent = _looking(Script(billed(calls("c1")), "done"), Changes(change), adapter(noting(seen, measured)))

    run_through("run", agent, "now", message_history=history)

    assert seen == [None, None]


def test_a_changed_tool_result_between_two_steps_voids_the_measurement() -> None:
    """The same for a result of the running loop."""
    seen: list[int | None] = []

    def change(messages: list[ModelMessage]) -> None:
        result = messages[2].parts[0]
        assert isinstance(result, m.ToolReturnPart)
        result.content = "seen something else"

    changes = Changes(change, step=3)
    script = Script(billed(calls("c1")), billed(calls("c2")), "done")
    agent = _looking(script, changes, adapter(noting(seen, measured)))

    run_through("run", agent, "now")

    assert [value is None for value in seen] == [True, False, True]


def test_a_prompt_after_the_response_is_not_measured() -> None:
    """Only tool results are added by estimate; a new prompt belongs to the next request's own reservation."""
    seen: list[int | None] = []
    agent: AnyAgent = Agent(Script(billed(says("first")), "done").model, capabilities=[adapter(noting(seen, measured))])

    first = run_through("run", agent, "one")
    run_through("run", agent, "two", message_history=first.all_messages)

    assert seen == [None, None]


def test_a_response_without_usage_is_not_measured() -> None:
    """Where the provider reports nothing the estimate is all there is."""
    assert reported_tokens(says("first")) is None
    assert reported_tokens(billed(says("first"), 50)) == 50


def test_the_estimate_covers_system_messages_and_no_instructions() -> None:
    """System prompts are history; separately injected instructions and tool schemas are not counted."""
    seen: list[int] = []

    def estimate_of(**options: Any) -> int:
        agent: AnyAgent = Agent(Script("done").model, capabilities=[adapter(noting(seen, _estimated))], **options)
        run_through("run", agent, "now")
        return seen[-1]

    bare = estimate_of()

    assert estimate_of(instructions="Be very brief indeed.") == bare
    assert estimate_of(tools=[look]) == bare
    assert estimate_of(system_prompt="Be very brief indeed.") > bare


def test_a_token_counter_replaces_the_estimate() -> None:
    """Each message is counted by the caller's function, and the sum is what callbacks see."""
    seen: list[tuple[int, list[int]]] = []

    def read(ctx: Context) -> tuple[int, list[int]]:
        return ctx.estimated_tokens, [entry.estimated_tokens for entry in ctx.entries]

    agent: AnyAgent = Agent(
        Script("done").model, capabilities=[adapter(noting(seen, read), token_counter=lambda message: 7)]
    )

    run_through("run", agent, "now", message_history=turns(1))

    assert seen == [(21, [7, 7, 7])]


def test_history_versions_are_equal_for_equal_histories() -> None:
    """The opaque version changes with the content and with nothing else."""
    versions: list[str] = []

    def note(state: HistoryProcessorState) -> bool:
        versions.append(state.history_version)
        return False

    agent: AnyAgent = Agent(Script("done").model, capabilities=[adapter(keep(1), note)])

    for prompt in ("now", "now", "later"):
        run_through("run", agent, prompt, message_history=turns(2))

    assert versions[0] == versions[1] != versions[2]


@dataclass
class Changes(AbstractCapability[Any]):
    """Changes the run's history in place, before the adapter looks at request `step`."""

    change: Callable[[list[ModelMessage]], object]
    step: int = 2

    async def before_model_request(
        self, ctx: RunContext[Any], request_context: ModelRequestContext
    ) -> ModelRequestContext:
        if ctx.run_step == self.step:
            self.change(ctx.messages)
            request_context.messages = list(ctx.messages)
        return request_context


def _estimated(ctx: Context) -> int:
    return ctx.estimated_tokens


def _result(call_id: str) -> ModelMessage:
    return m.ModelRequest(parts=[m.ToolReturnPart("look", "seen", tool_call_id=call_id)])


def _looking(script: Script, *capabilities: Any) -> AnyAgent:
    agent: AnyAgent = Agent(script.model, capabilities=capabilities)
    agent.tool_plain(look)
    return agent


def look(where: dict[str, str] | None = None) -> str:
    """Look at something."""
    return "seen"


@pytest.mark.parametrize(
    ("usage", "told"),
    [
        (
            RequestUsage(input_tokens=60, output_tokens=40, cache_read_tokens=30, cache_write_tokens=20),
            UsageDump(input=60, output=40, cache_read=30, cache_write=20),
        ),
        (RequestUsage(input_tokens=60, output_tokens=0), UsageDump(input=60, output=0, cache_read=0, cache_write=0)),
        (RequestUsage(), UsageDump()),
    ],
)
def test_a_dump_tells_the_providers_counts(usage: RequestUsage, told: UsageDump) -> None:
    """The host writes 0 for what a provider leaves out; where it said nothing at all, nothing is told."""
    assert reported_usage(ModelResponse(parts=[], usage=usage)) == told


def test_without_an_answer_there_is_no_usage() -> None:
    """Nobody reported anything."""
    assert reported_usage(None) == UsageDump()
