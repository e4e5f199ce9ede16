"""What a callback and a condition may do through the adapter, and what the constructor accepts."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import FrozenInstanceError, replace
from typing import Any

import pytest
from pydantic_ai import Agent, RunContext
from pydantic_ai.capabilities import Hooks
from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import ModelRequestContext

from agents import (
    ENTRY_POINTS,
    Context,
    Script,
    adapter,
    asks,
    calls,
    keep,
    lines,
    results,
    run_through,
    says,
    stored,
    turns,
)
from kedi_compile import (
    HistoryConfigurationError,
    HistoryPrefixWarning,
    HistoryProcessingError,
    HistoryProcessingValidationError,
    HistoryProcessorState,
    HistoryProtectedWarning,
)
from kedi_pydantic_ai import PydanticAdapter

KEPT_ONE = ["< question 3", "> answer 3", "< now"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_an_async_callback_is_awaited(entry: str) -> None:
    """The callback may be asynchronous."""

    async def edit(ctx: Context) -> list[ModelMessage]:
        await asyncio.sleep(0)
        return ctx.keep_recent_groups(1)

    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(edit)])

    run_through(entry, agent, "now", message_history=turns(3))

    assert script.sent == [KEPT_ONE]


def test_a_sync_callback_runs_in_a_worker_thread_with_the_callers_context() -> None:
    """It does not block the event loop, and context variables are the caller's."""
    tenant: ContextVar[str] = ContextVar("tenant")
    seen: list[tuple[bool, str]] = []

    def note(ctx: Context) -> Sequence[ModelMessage]:
        seen.append((threading.current_thread() is threading.main_thread(), tenant.get()))
        return ctx.messages

    agent = Agent(Script("done").model, capabilities=[adapter(note)])
    tenant.set("blue")

    run_through("run", agent, "now")

    assert seen == [(False, "blue")]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_false_condition_skips_the_processor(entry: str) -> None:
    """After False nothing is copied and nothing edited; the host's own objects go out."""
    history = turns(3)
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(_unreachable, lambda state: False)])

    finished = run_through(entry, agent, "now", message_history=history)

    assert script.sent == [[*lines(history), "< now"]]
    assert all(kept is own for kept, own in zip(finished.all_messages, history, strict=False))


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_condition_is_asked_before_every_request(entry: str) -> None:
    """It is level-triggered: each request asks again, with facts of that request."""
    states: list[HistoryProcessorState] = []

    def second_only(state: HistoryProcessorState) -> bool:
        states.append(state)
        return state.request_index == 2

    script = Script(calls("c1"), calls("c2"), "done")
    agent = Agent(script.model, capabilities=[adapter(keep(1), second_only)])
    agent.tool_plain(look)

    run_through(entry, agent, "now", message_history=turns(3))

    assert [(state.request_index, state.cache_epoch) for state in states] == [(1, 0), (2, 0), (3, 1)]
    assert len(script.sent[0]) == 7
    assert script.sent[1] == [*KEPT_ONE, "> call c1", "< result c1"]


def test_a_condition_is_shown_frozen_facts() -> None:
    """Who asks, which request, how much, and an opaque version: no messages, and nothing to write to."""
    states: list[HistoryProcessorState] = []

    def note(state: HistoryProcessorState) -> bool:
        states.append(state)
        return False

    agent = Agent(Script("done", model_name="m1").model, capabilities=[adapter(keep(1), note)])

    run_through("run", agent, "now", message_history=turns(1))

    (state,) = states
    facts = (state.adapter_shortname, state.model_id, state.request_index, state.cache_epoch)
    assert facts == ("pydantic", "function:m1", 1, 0)
    assert state.estimated_tokens > 0
    assert isinstance(state.history_version, str)
    with pytest.raises(FrozenInstanceError):
        state.request_index = 2  # type: ignore[misc]  # that it cannot is the point


def test_after_false_the_hosts_own_validation_stays_active() -> None:
    """Skipping the processor skips no check of the host."""
    script = Script("never")
    empties = Hooks(before_model_request=_without_messages)
    agent = Agent(script.model, capabilities=[empties, adapter(keep(1), lambda state: False)])

    with pytest.raises(UserError, match="cannot be empty"):
        run_through("run", agent, "now", message_history=turns(1))
    assert script.sent == []


def test_an_async_condition_is_awaited() -> None:
    """The predicate may be asynchronous."""

    async def always(state: HistoryProcessorState) -> bool:
        await asyncio.sleep(0)
        return True

    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(1), always)])

    run_through("run", agent, "now", message_history=turns(3))

    assert script.sent == [KEPT_ONE]


@pytest.mark.parametrize("answer", [1, None, "yes"])
def test_a_condition_that_is_not_exactly_bool_stops_the_request(answer: object) -> None:
    """Other return types stop the request before model transport."""
    script = Script("done")

    def odd(state: HistoryProcessorState) -> Any:
        return answer

    agent = Agent(script.model, capabilities=[adapter(keep(1), odd)])

    with pytest.raises(HistoryProcessingError, match="must return exactly True or False"):
        run_through("run", agent, "now", message_history=turns(3))
    assert script.sent == []


def test_an_error_in_the_condition_stops_the_request() -> None:
    """What the predicate raises is wrapped, its cause kept, and nothing is sent."""
    script = Script("done")

    def broken(state: HistoryProcessorState) -> bool:
        raise LookupError(state.model_id)

    agent = Agent(script.model, capabilities=[adapter(keep(1), broken)])

    with pytest.raises(HistoryProcessingError) as caught:
        run_through("run", agent, "now", message_history=turns(3))
    assert isinstance(caught.value.__cause__, LookupError)
    assert script.sent == []


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_callback_error_is_wrapped_and_nothing_is_sent(entry: str) -> None:
    """Callback errors propagate; the old history is never sent silently."""
    script = Script("done")

    def broken(ctx: Context) -> list[ModelMessage]:
        raise LookupError("no policy")

    agent = Agent(script.model, capabilities=[adapter(broken)])

    with pytest.raises(HistoryProcessingError) as caught:
        run_through(entry, agent, "now", message_history=turns(3))
    assert isinstance(caught.value.__cause__, LookupError)
    assert script.sent == []


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_careless_slice_is_refused_before_transport(entry: str) -> None:
    """The last two messages of a tool loop split the current cycle."""
    script = Script(calls("c1"), "done")
    agent = Agent(script.model, capabilities=[adapter(lambda ctx: ctx.messages[-1:])])
    agent.tool_plain(look)

    with pytest.raises(HistoryProcessingValidationError) as caught:
        run_through(entry, agent, "now")
    rules = [violation.rule for violation in caught.value.violations]
    assert "orphan_tool_result" in rules
    assert "split_group" in rules
    assert script.sent == [["< now"]]


def test_a_reply_shortened_in_its_group_is_refused_and_the_whole_group_may_be_replaced() -> None:
    """Redacting one message while keeping the rest of its group is an alteration; a summary of the group is not."""
    script = Script("done")

    def redact_one(ctx: Context) -> list[ModelMessage]:
        return [ctx.messages[0], ctx.text_message("[redacted]", "assistant"), *ctx.messages[2:]]

    def redact_group(ctx: Context) -> list[ModelMessage]:
        return ctx.replace_groups(ctx.groups[0], ctx.text_message("[redacted]"), ctx.text_message("ok", "assistant"))

    with pytest.raises(HistoryProcessingValidationError, match="keep or replace the whole group"):
        run_through("run", Agent(script.model, capabilities=[adapter(redact_one)]), "now", message_history=turns(1))
    run_through("run", Agent(script.model, capabilities=[adapter(redact_group)]), "now", message_history=turns(1))

    assert script.sent == [["< [redacted]", "> ok", "< now"]]


def test_groups_may_be_reordered_between_the_same_neighbours() -> None:
    """Whole groups change places, in both lists; their inner order stays."""
    script = Script("done")

    def reverse(ctx: Context) -> list[ModelMessage]:
        first, second, _ = ctx.groups
        spans = ((second.entry_start, second.entry_end), (first.entry_start, first.entry_end), (4, 5))
        return [message for start, end in spans for message in ctx.messages[start:end]]

    agent = Agent(script.model, capabilities=[adapter(reverse)])

    finished = run_through("run", agent, "now", message_history=turns(2))

    reversed_turns = ["< question 2", "> answer 2", "< question 1", "> answer 1", "< now"]
    assert script.sent == [reversed_turns]
    assert lines(finished.all_messages) == [*reversed_turns, "> done"]


def test_serialised_dictionaries_are_not_native() -> None:
    """Plain dictionaries are refused in place of messages."""
    script = Script("done")

    def dictionaries(ctx: Context) -> Any:
        return stored(list(ctx.messages))

    agent = Agent(script.model, capabilities=[adapter(dictionaries)])

    with pytest.raises(HistoryProcessingValidationError, match="not native messages of the pydantic adapter"):
        run_through("run", agent, "now")
    assert script.sent == []


def test_the_constructor_warns_once_when_a_processor_is_given() -> None:
    """Construction with a processor warns about cached prefixes; requests do not, nor does an adapter without one."""
    with pytest.warns(HistoryPrefixWarning, match="may hit its prefix cache") as caught:
        built: PydanticAdapter[None] = PydanticAdapter(keep(1))
    agent = Agent(Script("done").model, capabilities=[built])

    run_through("run", agent, "now")

    assert [warning.filename for warning in caught] == [__file__]


def test_a_processor_that_could_free_nothing_warns_once_a_run() -> None:
    """All closed groups are protected: the user is told, once per run."""
    agent = Agent(Script(calls("c1"), calls("c2"), "done").model, capabilities=[adapter(keep(0))])
    agent.tool_plain(look)
    history = [asks("think"), calls("c0", thought="deep"), results("c0"), says("thought")]

    with pytest.warns(HistoryProtectedWarning, match="signed_reasoning") as caught:
        run_through("run", agent, "now", message_history=history)

    assert len(caught) == 1


def test_a_condition_without_a_processor_is_a_configuration_error() -> None:
    """A condition alone chooses no processor."""
    with pytest.raises(HistoryConfigurationError, match="without a `history_processor`"):
        adapter(None, lambda state: True)


def test_the_adapter_declares_its_capability() -> None:
    """The declared capability is `history_processing`."""
    assert PydanticAdapter.capabilities == frozenset({"history_processing"})


def test_the_adapter_cannot_be_written_to_a_spec() -> None:
    """A configuration with callables has no serialised name."""
    assert PydanticAdapter.get_serialization_name() is None


async def _without_messages(ctx: RunContext[Any], request_context: ModelRequestContext) -> ModelRequestContext:
    return replace(request_context, messages=[])


def look() -> str:
    """Look at something."""
    return "seen"


def _unreachable(ctx: Context) -> list[ModelMessage]:
    pytest.fail("the processor ran although the condition said no")
