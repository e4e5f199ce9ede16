"""Where messages came from, and which group is which, as a callback sees it over the requests of its runs."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import FrozenInstanceError, fields
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from agents import (
    ENTRY_POINTS,
    Context,
    Finished,
    Script,
    adapter,
    asks,
    calls,
    lines,
    noting,
    run_through,
    says,
    turns,
)
from kedi_compile import HistoryOrigin, HistoryProcessingValidationError

AnyAgent = Agent[Any, Any]
Origins = tuple[HistoryOrigin, ...]


def last_origins(ctx: Context) -> Origins:
    """The origins of the newest group."""
    return ctx.groups[-1].origins


def all_origins(ctx: Context) -> list[Origins]:
    """The origins of every group."""
    return [group.origins for group in ctx.groups]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_tool_loop_knows_its_own_origins(entry: str) -> None:
    """The second request sees prompt, call and result with run id, tool name and call id."""
    seen: list[Origins] = []
    agent: AnyAgent = Agent(
        Script(calls("c1"), calls("c2"), "done").model, capabilities=[adapter(noting(seen, last_origins))]
    )
    agent.tool_plain(look)

    run_through(entry, agent, "now", run_id="run-7", message_history=turns(1))

    assert seen[1][:3] == (
        HistoryOrigin("user", "run-7"),
        HistoryOrigin("assistant", "run-7"),
        HistoryOrigin("tool-call", "run-7", None, "look", "c1"),
    )
    assert HistoryOrigin("tool-result", "run-7", None, "look", "c1") in seen[2]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_origins_survive_into_the_next_run(entry: str) -> None:
    """A continued conversation in the same process finds what the first run knew."""
    seen: list[list[Origins]] = []
    agent: AnyAgent = Agent(Script(calls("c1"), "done").model, capabilities=[adapter(noting(seen, all_origins))])
    agent.tool_plain(look)

    first = run_through(entry, agent, "one", run_id="run-1")
    run_through(entry, agent, "two", run_id="run-2", message_history=first.all_messages)

    kinds = [(origin.kind, origin.run_id, origin.tool_call_id) for origin in seen[-1][0]]
    assert kinds == [
        ("user", "run-1", None),
        ("assistant", "run-1", None),
        ("tool-call", "run-1", "c1"),
        ("tool-result", "run-1", "c1"),
        ("assistant", "run-1", None),
    ]


def test_origins_survive_an_edit_and_a_skipped_request() -> None:
    """Kept groups keep their lineage, also over turns in which the condition said no."""
    seen: list[list[Origins]] = []
    wanted = iter([True, True, True, False, True])

    def edit(ctx: Context) -> Sequence[ModelMessage]:
        seen.append(all_origins(ctx))
        return ctx.keep_recent_groups(1)

    agent: AnyAgent = Agent(Script("done").model, capabilities=[adapter(edit, lambda state: next(wanted))])

    history: list[ModelMessage] = []
    for number in range(1, 6):
        history = run_through("run", agent, "now", run_id=f"run-{number}", message_history=history).all_messages

    assert [{origin.run_id for origin in origins} for origins in seen[-1][:-1]] == [{"run-2"}, {"run-3"}, {"run-4"}]


def test_imported_history_has_no_origins() -> None:
    """What no run of this adapter made has no lineage, and none is inferred from text."""
    seen: list[list[Origins]] = []
    agent: AnyAgent = Agent(Script("done").model, capabilities=[adapter(noting(seen, all_origins))])

    run_through("run", agent, "now", message_history=turns(2))

    assert seen == [[(), (), ()]]


@pytest.mark.parametrize("transport", ["deepcopy", "json"])
def test_copies_of_a_conversation_have_no_origins(transport: str) -> None:
    """A copied or restored history is foreign: lineage is never guessed."""
    seen: list[list[Origins]] = []
    agent: AnyAgent = Agent(Script("done").model, capabilities=[adapter(noting(seen, all_origins))])
    first = run_through("run", agent, "one")

    run_through("run", agent, "two", message_history=_copied(first, transport))

    assert seen[-1] == [(), ()]


def test_a_generated_summary_has_no_origins() -> None:
    """Messages a callback made come from nowhere."""
    seen: list[list[Origins]] = []

    def edit(ctx: Context) -> Sequence[ModelMessage]:
        seen.append(all_origins(ctx))
        if ctx.request_index == 1 and len(ctx.groups) > 1:
            return ctx.replace_groups(ctx.groups[:-1], *ctx.summary_messages("They talked."))
        return ctx.messages

    agent: AnyAgent = Agent(Script("first", calls("c1"), "done").model, capabilities=[adapter(edit)])
    agent.tool_plain(look)

    first = run_through("run", agent, "one", run_id="run-1")
    run_through("run", agent, "two", run_id="run-2", message_history=first.all_messages)

    assert seen[-1][0] == ()
    assert {origin.run_id for origin in seen[-1][1]} == {"run-2"}


def test_processing_that_was_disabled_leaves_no_origins() -> None:
    """Calls made by an agent without the adapter lack lineage."""
    seen: list[list[Origins]] = []
    plain: AnyAgent = Agent(Script("first").model)
    agent: AnyAgent = Agent(Script("done").model, capabilities=[adapter(noting(seen, all_origins))])

    first = run_through("run", plain, "one")
    run_through("run", agent, "two", message_history=first.all_messages)

    assert seen == [[(), ()]]


def test_origins_are_no_prompt_text() -> None:
    """The requests are the same as without an adapter."""
    with_origins, without = Script(calls("c1"), "done"), Script(calls("c1"), "done")
    for script, capabilities in ((with_origins, [adapter(noting([], last_origins))]), (without, [])):
        agent: AnyAgent = Agent(script.model, capabilities=capabilities)
        agent.tool_plain(look)
        run_through("run", agent, "now", metadata={"source_location": "here"})

    assert with_origins.sent == without.sent


def test_the_callers_label_is_the_source_location() -> None:
    """A run's `source_location` metadata names where its messages came from."""
    seen: list[list[Origins]] = []
    agent: AnyAgent = Agent(Script("done").model, capabilities=[adapter(noting(seen, all_origins))])

    first = run_through("run", agent, "one", run_id="run-1", metadata={"source_location": "app.py:12"})
    run_through("run", agent, "two", message_history=first.all_messages)

    assert seen[-1][0] == (
        HistoryOrigin("user", "run-1", "app.py:12"),
        HistoryOrigin("assistant", "run-1", "app.py:12"),
    )


def test_an_origin_is_frozen() -> None:
    """A callback cannot write into a record."""
    origin = HistoryOrigin("user", "run-1")

    with pytest.raises(FrozenInstanceError):
        origin.run_id = "run-2"  # type: ignore[misc]  # that it cannot is the point


def test_an_origin_names_identifiers_only() -> None:
    """Arguments and results of tools are not in it, so it may be logged."""
    names = [field.name for field in fields(HistoryOrigin)]

    assert names == ["kind", "run_id", "source_location", "tool_name", "tool_call_id"]


def test_metadata_edits_in_a_callback_forge_no_origin() -> None:
    """Writing another run id into a detached message is an alteration, and the lineage stays what it was."""
    seen: list[list[Origins]] = []

    def forge(ctx: Context) -> Sequence[ModelMessage]:
        seen.append(all_origins(ctx))
        if len(ctx.groups) > 1:
            ctx.messages[0].run_id = "forged"
        return ctx.messages

    agent: AnyAgent = Agent(Script("done").model, capabilities=[adapter(forge)])
    first = run_through("run", agent, "one", run_id="run-1")

    with pytest.raises(HistoryProcessingValidationError, match="altered_entry"):
        run_through("run", agent, "two", message_history=first.all_messages)
    assert first.all_messages[0].run_id == "run-1"
    assert {origin.run_id for origin in seen[-1][0]} == {"run-1"}


def test_a_foreign_object_with_an_equal_text_gets_no_lineage() -> None:
    """A callback that rebuilds a group from its texts makes new messages without origins."""
    seen: list[list[Origins]] = []

    def rebuild(ctx: Context) -> Sequence[ModelMessage]:
        seen.append(all_origins(ctx))
        if ctx.request_index == 1 and len(ctx.groups) > 1:
            return ctx.replace_groups(ctx.groups[0], asks("one"), says("first"))
        return ctx.messages

    agent: AnyAgent = Agent(Script("first", calls("c1"), "done").model, capabilities=[adapter(rebuild)])
    agent.tool_plain(look)

    first = run_through("run", agent, "one", run_id="run-1")
    run_through("run", agent, "two", run_id="run-2", message_history=first.all_messages)

    assert seen[-1][0] == ()


def test_entries_carry_the_origins_of_their_own_parts() -> None:
    """The entry of a tool result knows which call it answers."""
    seen: list[list[Origins]] = []
    agent: AnyAgent = Agent(
        Script(calls("c1", "c2"), calls("c3"), "done").model,
        capabilities=[adapter(noting(seen, lambda ctx: [entry.origins for entry in ctx.entries]))],
    )
    agent.tool_plain(look)

    run_through("run", agent, "now", run_id="r")

    assert [[origin.tool_call_id for origin in origins] for origins in seen[-1][:3]] == [
        [None],
        [None, "c1", "c2"],
        ["c1", "c2"],
    ]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_group_ids_are_stable_over_the_requests_of_a_run(entry: str) -> None:
    """A group keeps its id while others go, and while the running one grows."""
    seen: list[dict[str, str]] = []

    def edit(ctx: Context) -> Sequence[ModelMessage]:
        seen.append(
            {group.group_id: lines(ctx.messages[group.entry_start : group.entry_start + 1])[0] for group in ctx.groups}
        )
        return ctx.keep_recent_groups(4 - ctx.request_index)

    agent: AnyAgent = Agent(Script(calls("c1"), calls("c2"), "done").model, capabilities=[adapter(edit)])
    agent.tool_plain(look)

    run_through(entry, agent, "now", message_history=turns(4))

    ids = {text: name for name, text in seen[0].items()}
    assert len(ids) == 5
    assert [list(names) for names in seen[1:]] == [
        [ids[text] for text in ("< question 2", "< question 3", "< question 4", "< now")],
        [ids[text] for text in ("< question 3", "< question 4", "< now")],
    ]


def test_groups_partition_the_messages() -> None:
    """Every entry is in exactly one group, in order, and carries its group's id."""
    seen: list[tuple[list[tuple[int, int]], list[str], list[str]]] = []

    def read(ctx: Context) -> tuple[list[tuple[int, int]], list[str], list[str]]:
        bounds = [(group.entry_start, group.entry_end) for group in ctx.groups]
        of_groups = [group.group_id for group in ctx.groups for _ in range(group.entry_start, group.entry_end)]
        return bounds, of_groups, [entry.group_id for entry in ctx.entries]

    agent: AnyAgent = Agent(Script("done").model, capabilities=[adapter(noting(seen, read))])
    history = [m.ModelRequest(parts=[m.SystemPromptPart("Be brief.")]), *turns(2)]

    run_through("run", agent, "now", message_history=history)

    bounds, of_groups, of_entries = seen[0]
    assert bounds == [(0, 2), (2, 4), (4, 5)]
    assert of_groups == of_entries


def _copied(first: Finished, transport: str) -> list[ModelMessage]:
    if transport == "deepcopy":
        return copy.deepcopy(first.all_messages)
    return ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(first.all_messages))


def look() -> str:
    """Look at something."""
    return "seen"
