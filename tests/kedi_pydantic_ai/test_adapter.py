"""The adapter on the host's plain path: every entry point, both message lists, no-ops, generations, odd histories.

What a callback and a condition may do is in `test_adapter_callback.py`, tools in `test_adapter_tools.py`, failures in
`test_adapter_failures.py`, other capabilities in `test_adapter_beside.py`.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

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
    run_through,
    says,
    stored,
    turns,
    untouched,
)
from kedi_compile import (
    HistoryProtectedWarning,
)
from kedi_pydantic_ai import PydanticAdapter

KEPT_ONE = ["< question 3", "> answer 3", "< now"]


def _fresh_list(ctx: Context) -> list[ModelMessage]:
    return list(ctx.messages)


def _equal_copies(ctx: Context) -> tuple[ModelMessage, ...]:
    return tuple(copy.deepcopy(list(ctx.messages)))


def _restored(ctx: Context) -> list[ModelMessage]:
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(list(ctx.messages)))


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_an_accepted_edit_is_what_the_model_reads(entry: str) -> None:
    """Whatever the entry point, the request carries the edited history."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(1))])

    finished = run_through(entry, agent, "now", message_history=turns(3))

    assert script.sent == [KEPT_ONE]
    assert finished.output == "done"


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_an_accepted_edit_replaces_the_native_run_history(entry: str) -> None:
    """`all_messages` holds the edit, `new_messages` only what the run added."""
    agent = Agent(Script("done").model, capabilities=[adapter(keep(1))])

    finished = run_through(entry, agent, "now", message_history=turns(3))

    assert lines(finished.all_messages) == [*KEPT_ONE, "> done"]
    assert lines(finished.new_messages) == ["< now", "> done"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_captured_messages_agree_with_the_results_own(entry: str) -> None:
    """`capture_run_messages` shows the list that `all_messages` gives."""
    agent = Agent(Script("done").model, capabilities=[adapter(keep(1))])

    with capture_run_messages() as captured:
        finished = run_through(entry, agent, "now", message_history=turns(3))

    assert lines(captured) == [*KEPT_ONE, "> done"]
    assert captured == finished.all_messages


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_later_steps_of_a_run_see_the_edit(entry: str) -> None:
    """What one request dropped does not come back in the next."""
    script = Script(calls("c1"), "done")
    agent = Agent(script.model, capabilities=[adapter(keep(1))])
    agent.tool_plain(look)

    finished = run_through(entry, agent, "now", message_history=turns(3))

    assert script.sent == [KEPT_ONE, [*KEPT_ONE, "> call c1", "< result c1"]]
    assert lines(finished.all_messages) == [*KEPT_ONE, "> call c1", "< result c1", "> done"]
    assert lines(finished.new_messages) == ["< now", "> call c1", "< result c1", "> done"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_summary_in_place_of_groups_counts_as_old_history(entry: str) -> None:
    """Messages the callback adds are sent and kept, and are no new messages of the run."""

    def summarize(ctx: Context) -> list[ModelMessage]:
        return ctx.replace_groups(ctx.groups[:-1], *ctx.summary_messages("Three questions were answered."))

    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(summarize)])

    finished = run_through(entry, agent, "now", message_history=turns(3))

    assert script.sent == [["< Three questions were answered.", "> Noted.", "< now"]]
    assert lines(finished.all_messages) == ["< Three questions were answered.", "> Noted.", "< now", "> done"]
    assert lines(finished.new_messages) == ["< now", "> done"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
@pytest.mark.parametrize("copying", [untouched, _fresh_list, _equal_copies, _restored])
def test_a_no_op_passes_the_hosts_own_objects_on(entry: str, copying: Callable[[Context], Any]) -> None:
    """Returning the input or an equivalent fresh sequence leaves the native objects as they are."""
    history = turns(2)
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(copying)])

    finished = run_through(entry, agent, "now", message_history=history)

    assert all(sent is own for sent, own in zip(script.requests[0], history, strict=False))
    assert all(kept is own for kept, own in zip(finished.all_messages, history, strict=False))
    assert lines(finished.all_messages) == [*lines(history), "< now", "> done"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_no_op_leaves_what_the_host_alone_leaves(entry: str) -> None:
    """With a processor that changes nothing the run is the run without it."""
    plain, processed = Script(calls("c1"), "done"), Script(calls("c1"), "done")
    alone = Agent(plain.model, instructions="Be brief.")
    adapted = Agent(processed.model, instructions="Be brief.", capabilities=[adapter(untouched)])
    for agent in (alone, adapted):
        agent.tool_plain(look)

    expected = run_through(entry, alone, "now", message_history=turns(2))
    finished = run_through(entry, adapted, "now", message_history=turns(2))

    assert [stored(request) for request in processed.requests] == [stored(request) for request in plain.requests]
    assert stored(finished.all_messages) == stored(expected.all_messages)
    assert stored(finished.new_messages) == stored(expected.new_messages)


def test_without_a_processor_the_adapter_does_nothing() -> None:
    """`history_processor=None` disables the work: nothing is copied, warned about or changed."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[PydanticAdapter[None]()])
    history = turns(2)

    finished = run_through("run", agent, "now", message_history=history)

    assert all(sent is own for sent, own in zip(script.requests[0], history, strict=False))
    assert lines(finished.all_messages) == [*lines(history), "< now", "> done"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_the_callback_runs_before_every_logical_request(entry: str) -> None:
    """Requests after tool calls are processed too; the index is one-based."""
    seen: list[tuple[int, int]] = []

    def note(ctx: Context) -> Sequence[ModelMessage]:
        seen.append((ctx.request_index, len(ctx.messages)))
        return ctx.messages

    agent = Agent(Script(calls("c1"), calls("c2"), "done").model, capabilities=[adapter(note)])
    agent.tool_plain(look)

    run_through(entry, agent, "now", message_history=turns(1))

    assert seen == [(1, 3), (2, 5), (3, 7)]


def test_each_run_counts_its_requests_from_one() -> None:
    """A second run of the same adapter starts over."""
    seen: list[int] = []
    agent = Agent(Script("done").model, capabilities=[adapter(noting(seen, lambda ctx: ctx.request_index))])

    run_through("run", agent, "one")
    run_through("run", agent, "two")

    assert seen == [1, 1]


def test_the_context_names_adapter_model_and_epoch() -> None:
    """The frozen context says who asks: adapter, model, request index, generation, estimated tokens."""
    seen: list[tuple[str, str, int, int, bool]] = []

    def note(ctx: Context) -> list[ModelMessage]:
        seen.append((ctx.adapter_shortname, ctx.model_id, ctx.request_index, ctx.cache_epoch, ctx.estimated_tokens > 0))
        return ctx.keep_recent_groups(1)

    agent = Agent(Script(calls("c1"), "done", model_name="m1").model, capabilities=[adapter(note)])
    agent.tool_plain(look)

    run_through("run", agent, "now", message_history=turns(3))

    assert seen == [("pydantic", "function:m1", 1, 0, True), ("pydantic", "function:m1", 2, 1, True)]


def test_two_rewrites_in_one_run_advance_the_generation_twice() -> None:
    """Each actual rewrite is one generation; a request without one reuses the current."""
    epochs: list[int] = []

    def drop_one_at_odd_requests(ctx: Context) -> Sequence[ModelMessage]:
        epochs.append(ctx.cache_epoch)
        return ctx.replace_groups(ctx.groups[0]) if ctx.request_index % 2 else ctx.messages

    agent = Agent(Script(calls("c1"), calls("c2"), calls("c3"), "done").model)
    agent.tool_plain(look)

    run_through("run", agent, "now", message_history=turns(3), capabilities=[adapter(drop_one_at_odd_requests)])

    assert epochs == [0, 1, 1, 2]


def test_the_callback_gets_no_wire_request() -> None:
    """Instructions, tools and settings are not in the history the callback sees."""
    shown: list[list[str]] = []
    agent = Agent(
        Script("done").model,
        instructions="Be brief.",
        capabilities=[adapter(noting(shown, lambda ctx: lines(ctx.messages)))],
    )
    agent.tool_plain(look)

    run_through("run", agent, "now")

    assert shown == [["< now"]]


def test_instructions_survive_an_edit() -> None:
    """The edited request carries the same instructions as any other."""
    script = Script("done")
    agent = Agent(script.model, instructions="Be brief.", capabilities=[adapter(keep(0))])

    run_through("run", agent, "now", message_history=turns(2))

    assert script.sent == [["< now"]]
    assert getattr(script.requests[0][-1], "instructions", None) == "Be brief."


def test_a_system_prompt_protects_the_first_cycle() -> None:
    """With `system_prompt=` the first cycle shares its request with the system text and stays."""
    script = Script("first", "second", "third")
    agent = Agent(script.model, system_prompt="Be brief.", capabilities=[adapter(keep(0))])

    first = run_through("run", agent, "one")
    with pytest.warns(HistoryProtectedWarning, match="1 by system"):
        second = run_through("run", agent, "two", message_history=first.all_messages)
    run_through("run", agent, "three", message_history=second.all_messages)

    assert script.sent[-1] == ["< system Be brief. | one", "> first", "< three"]


def test_with_instructions_the_first_cycle_is_free() -> None:
    """`instructions=` are not history, so every closed cycle can go."""
    script = Script("first", "second")
    agent = Agent(script.model, instructions="Be brief.", capabilities=[adapter(keep(0))])

    first = run_through("run", agent, "one")
    run_through("run", agent, "two", message_history=first.all_messages)

    assert script.sent[-1] == ["< two"]


def test_a_history_that_ends_in_a_request_is_resumed() -> None:
    """Without a prompt the last request of the history is the current one and stays."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(0))])

    finished = run_through("run", agent, None, message_history=[*turns(2), asks("still open")])

    assert script.sent == [["< still open"]]
    assert lines(finished.all_messages) == ["< still open", "> done"]
    assert lines(finished.new_messages) == ["> done"]


def test_an_old_dangling_call_makes_one_group_of_both_questions() -> None:
    """The host answers a dangling call inside the next request, so both questions are kept or dropped together."""
    script = Script("done", "done")
    history = [*turns(1), asks("and this?"), calls("c1"), asks("never mind"), says("fine")]

    for n in (1, 0):
        agent = Agent(script.model, capabilities=[adapter(keep(n))])
        run_through("run", agent, "now", message_history=history)

    assert script.sent == [["< and this?", "> call c1", "< result c1 | never mind", "> fine", "< now"], ["< now"]]


def test_two_equal_questions_are_two_entries() -> None:
    """Identity is never guessed from text: keeping the second of two equal exchanges keeps the second."""
    history = [asks("same"), says("first answer"), asks("same"), says("second answer")]
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(1))])

    run_through("run", agent, "now", message_history=history)

    assert script.sent == [["< same", "> second answer", "< now"]]
    assert script.requests[0][0] is history[2]


def look() -> str:
    """Look at something."""
    return "seen"
