"""Both adapters through the same scenarios: the same groups, reasons, kept entries, error rules and generations.

A scenario of `tests/support/scenarios.py` is written once, as lines, and run twice for each stack: in the core with
the stack's dialect, and by an agent of the framework itself. Where the two must differ, the row says why.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from kedi_compile import HistoryProcessingValidationError
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.flow import Staged
from parity import STACKS, Context, Lines, PydanticStack, Stack, Watching
from scenarios import ROWS, Row

pytestmark = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning")
EVERY_STACK = pytest.mark.parametrize("stack", STACKS, ids=lambda stack: stack.name)


EVERY_ROW = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)


def _untouched(ctx: Context) -> Any:
    return ctx.messages


def _keep(n: int) -> Callable[[Context], Any]:
    return lambda ctx: ctx.keep_recent_groups(n)


def _kept(lines: Lines, groups: Lines, n: int) -> Lines:
    """Leave all but the last `n` eligible groups out, by hand: those that are closed and nothing else."""
    eligible = [group for group in groups if group.endswith(" closed")]
    spans = [list(map(int, group.split()[0].split(":"))) for group in eligible[: max(len(eligible) - n, 0)]]
    gone = {index for start, end in spans for index in range(start, end)}
    return tuple(line for index, line in enumerate(lines) if index not in gone)


@EVERY_ROW
def test_every_difference_has_a_reason(row: Row) -> None:
    """A row says why exactly if the stacks differ in it."""
    assert bool(row.why) is bool(row.core or row.host)


@EVERY_STACK
@EVERY_ROW
def test_the_stack_can_say_the_scenario(row: Row, stack: Stack) -> None:
    """What is written as native messages reads as the same lines."""
    assert stack.lines(stack.build(row.lines)) == row.lines


@EVERY_STACK
@EVERY_ROW
def test_groups_and_reasons_agree(row: Row, stack: Stack) -> None:
    """The core finds the same bounds, closed or open, and the same reasons."""
    assert stack.groups(row.lines) == row.seen_by_core(stack)


@EVERY_STACK
@EVERY_ROW
def test_kept_entries_agree(row: Row, stack: Stack) -> None:
    """For every n the same lines stay: the last n eligible groups and all that must."""
    groups = row.seen_by_core(stack)

    assert [stack.edited(row.lines, _keep(n)) for n in range(4)] == [_kept(row.lines, groups, n) for n in range(4)]


@EVERY_STACK
@EVERY_ROW
def test_an_agent_shows_and_sends_the_same(row: Row, stack: Stack) -> None:
    """Through the framework's own agent the processor sees these groups, and the model gets what was kept."""
    lines, groups = row.seen_by_agent(stack)
    watching = Watching(stack, _keep(1))

    sent = stack.run(row.lines, watching)

    assert [turn.groups for turn in watching.turns] == [groups]
    assert sent == [_kept(lines, groups, 1)]


def test_state_of_the_framework_has_no_counterpart() -> None:
    """Only Pydantic AI keeps state in the history; LangChain keeps it in the graph, outside the messages."""
    lines = ("U q1", "A a1", "F state", "U q2", "A a2", "U now")

    assert PydanticStack().groups(lines) == (
        "0:3 open framework_state unfinished",
        "3:5 closed",
        "5:6 open current_request",
    )


@EVERY_STACK
def test_signed_thinking_may_go_when_its_cycle_is_closed(stack: Stack) -> None:
    """With `open_cycle` only the current cycle keeps its thoughts for good."""
    lines = ("U q1", "H a1", "U q2", "T c1", "R c1", "A a2", "U q3", "T c2", "R c2")

    groups = stack.groups(lines, reasoning_protection="open_cycle")
    sent = stack.edited(lines, _keep(0), reasoning_protection="open_cycle")

    assert groups == ("0:2 closed", "2:6 closed", "6:9 open current_request signed_reasoning")
    assert sent == ("U q3", "T c2", "R c2")


@EVERY_STACK
def test_bound_reasoning_is_refused_or_stripped(stack: Stack) -> None:
    """An edit before signed thinking names it, or takes it out of the closed cycle that stays."""
    lines = ("U q1", "A a1", "U q2", "T c1", "R c1", "A a2", "U now")
    options = {"reasoning_protection": "open_cycle"}

    with pytest.raises(HistoryProcessingValidationError) as caught:
        stack.edited(lines, _keep(1), bound_reasoning="refuse", **options)

    assert [violation.rule for violation in caught.value.violations] == ["bound_reasoning"]
    stripped = stack.edited(lines, _keep(1), bound_reasoning="strip", **options)
    assert stripped == ("U q2", "C c1", "R c1", "A a2", "U now")


HISTORY = (
    *("S rule", "U q1", "A a1", "U q2", "C c1 c2", "R c1", "R c2", "A a2"),
    *("U q3", "H a3", "U q4", "A a4", "U now"),
)
SYSTEM, FIRST, TOOLS, SIGNED, LAST, CURRENT = range(6)
Edit = Callable[[Stack, Context, list[list[Any]]], Any]


def _flat(groups: list[list[Any]]) -> list[Any]:
    return [message for group in groups for message in group]


def _without(index: int, entries: slice = slice(None)) -> Edit:
    def edit(stack: Stack, ctx: Context, groups: list[list[Any]]) -> Any:
        del groups[index][entries]
        return _flat(groups)

    return edit


def _altered(index: int) -> Edit:
    def edit(stack: Stack, ctx: Context, groups: list[list[Any]]) -> Any:
        stack.alter(groups[index][0])
        return _flat(groups)

    return edit


def _turned_round(stack: Stack, ctx: Context, groups: list[list[Any]]) -> Any:
    groups[FIRST].reverse()
    return _flat(groups)


def _twice(stack: Stack, ctx: Context, groups: list[list[Any]]) -> Any:
    return _flat([*groups[:CURRENT], groups[FIRST], groups[CURRENT]])


def _moved(stack: Stack, ctx: Context, groups: list[list[Any]]) -> Any:
    groups.insert(SIGNED, groups.pop(FIRST))
    return _flat(groups)


def _said(place: int, text: str, role: Any = "user") -> Edit:
    def edit(stack: Stack, ctx: Context, groups: list[list[Any]]) -> Any:
        groups.insert(place, [ctx.text_message(text, role)])
        return _flat(groups)

    return edit


def _put(build: Callable[[Stack], Any]) -> Edit:
    def edit(stack: Stack, ctx: Context, groups: list[list[Any]]) -> Any:
        groups[FIRST] = [ctx.text_message("before"), build(stack)]
        return _flat(groups)

    return edit


BAD_EDITS: dict[str, tuple[Edit, list[str]]] = {
    "nothing": (lambda stack, ctx, groups: [], ["empty_result"]),
    "a text": (lambda stack, ctx, groups: "U now", ["not_native"]),
    "strangers": (lambda stack, ctx, groups: [*ctx.messages, {"role": "user"}], ["not_native"]),
    "a call left out": (_without(TOOLS, slice(1, 2)), ["split_group", "orphan_tool_result", "orphan_tool_result"]),
    "results left out": (
        _without(TOOLS, slice(2, -1)),
        ["split_group", "unanswered_tool_call", "unanswered_tool_call", "turn_order"],
    ),
    "a group turned round": (_turned_round, ["reordered_within_group", "turn_order"]),
    "a group twice": (_twice, ["duplicated_entry", "duplicated_entry"]),
    "a changed prompt": (_altered(FIRST), ["altered_entry"]),
    "no signed thinking": (_without(SIGNED), ["protected_removed"]),
    "a group moved past it": (_moved, ["protected_moved"]),
    "no current request": (_without(CURRENT), ["current_request_altered", "turn_order"]),
    "a changed request": (_altered(CURRENT), ["altered_entry", "current_request_altered"]),
    "a text behind the request": (_said(6, "more"), ["current_request_altered", "turn_order"]),
    "no system text": (_without(SYSTEM), ["system_altered"]),
    "a changed system text": (_altered(SYSTEM), ["altered_entry", "system_altered"]),
    "a text before system text": (_said(0, "more"), ["system_altered"]),
    "more system text": (_put(lambda stack: stack.build(["S more"])[0]), ["system_altered"]),
    "a made-up record": (_put(lambda stack: stack.record()), ["fabricated_record"]),
    "a made-up result": (_put(lambda stack: stack.build(["R c1"])[0]), ["fabricated_record"]),
    "a made-up thought": (_put(lambda stack: stack.build(["H deep"])[0]), ["fabricated_record"]),
    "a blank text": (_said(1, " \n"), ["blank_text"]),
    "a text that is no UTF-8": (_said(1, "\ud800"), ["unencodable_text"]),
    "an answer behind an answer": (_said(2, "more", "assistant"), ["turn_order"]),
}
EVERY_EDIT = pytest.mark.parametrize("name", BAD_EDITS)


def _broken(stack: Stack, name: str) -> Callable[[Context], Any]:
    """Return a processor that makes one bad edit, given the messages of each group."""
    return lambda ctx: BAD_EDITS[name][0](
        stack, ctx, [list(ctx.messages[g.entry_start : g.entry_end]) for g in ctx.groups]
    )


@EVERY_STACK
@EVERY_EDIT
def test_the_same_bad_edit_breaks_the_same_rules(name: str, stack: Stack) -> None:
    """In the same order, and each violation names the same tool calls."""
    with pytest.raises(HistoryProcessingValidationError) as caught:
        stack.edited(HISTORY, _broken(stack, name))

    assert [violation.rule for violation in caught.value.violations] == BAD_EDITS[name][1]
    named = {violation.tool_call_id for violation in caught.value.violations} - {None}
    assert named == ({"c1", "c2"} if "left out" in name else set())


@EVERY_STACK
@pytest.mark.parametrize("name", [name for name in BAD_EDITS if "system" not in name])
def test_an_agent_refuses_a_bad_edit_by_the_same_rules(name: str, stack: Stack) -> None:
    """The framework's own agent raises the same error; the first group is one that both hosts leave alone."""
    lines = ("U q0", "P a0", *HISTORY[1:])

    with pytest.raises(HistoryProcessingValidationError) as caught:
        stack.run(lines, _broken(stack, name))

    assert [violation.rule for violation in caught.value.violations] == BAD_EDITS[name][1]


@EVERY_STACK
def test_each_rewrite_is_a_generation(stack: Stack) -> None:
    """An edit counts one, a no-op none, an undone edit none."""
    run = stack.session(_keep(1))
    numbers = []
    for index, lines in enumerate((HISTORY[:3], HISTORY, HISTORY[:2], HISTORY), start=1):
        messages = stack.build((*lines, "U end") if lines != HISTORY else lines)
        outcome = run.edit_sync(messages, RequestInfo("provider:model", index))
        numbers.append((isinstance(outcome, Staged), run.continuation.generation))
    run.undo()

    assert numbers == [(False, 0), (True, 1), (False, 1), (True, 2)]
    assert run.continuation.generation == 1


@EVERY_STACK
def test_requests_and_generations_of_an_agent_count_alike(stack: Stack) -> None:
    """One invocation counts its requests from one; the request after an accepted edit sees the new generation."""
    watching = Watching(stack, _keep(1))

    sent = stack.run(("U q1", "A a1", "U q2", "A a2", "U now"), watching, loops=2)

    assert [turn[:2] for turn in watching.turns] == [(1, 0), (2, 1), (3, 1)]
    assert sent == [
        ("U q2", "A a2", "U now"),
        ("U q2", "A a2", "U now", "C new0", "R new0"),
        ("U q2", "A a2", "U now", "C new0", "R new0", "C new1", "R new1"),
    ]
