"""Prefix-bound reasoning behind an edit: refused, stripped from closed groups, or none of our business."""

from collections.abc import Callable
from typing import Any

import pytest

from kedi_compile import HistoryProcessingValidationError
from kedi_compile.history.binding import bound_entries, resolve_binding, unbind
from kedi_compile.history.flow import Staged
from toy import NOW, Context, Message, answers, calls, propose, revision, run_edit, says, talk, user

OPEN = {"reasoning_protection": "open_cycle"}
HISTORY = [
    *talk("a"),
    user("p"),
    says("early", reasoning="hm", signature="s1"),
    *talk("b"),
    user("q"),
    says("late", reasoning="hm", signature="s2"),
    user(NOW),
]
"""Groups of two: a 0 | early, bound 2 | b 4 | late, bound 6 | current 8."""

RUNNING = [*talk("a"), user(NOW), calls("c1", reasoning="hm", signature="s1"), answers("c1")]


def drop(start: int, end: int) -> Callable[[Context], list[Message]]:
    """Leave entries out."""
    return lambda ctx: [*ctx.messages[:start], *ctx.messages[end:]]


@pytest.mark.parametrize(
    ("edit", "bound"),
    [
        (drop(0, 2), [3, 7]),
        (drop(4, 6), [7]),
        (drop(2, 6), [7]),
        (drop(6, 8), []),
        (lambda ctx: [*ctx.messages[:8], user("Summary."), ctx.messages[8]], []),
        (lambda ctx: [user("Summary."), *ctx.messages], [3, 7]),
        (lambda ctx: [*ctx.messages[2:4], *ctx.messages[:2], *ctx.messages[4:]], [3, 7]),
        (lambda ctx: list(ctx.messages), []),
    ],
)
def test_reasoning_behind_the_first_change_is_bound(edit: Callable[[Context], list[Message]], bound: list[int]) -> None:
    """Kept signed reasoning counts if anything before it, or its own place, changed."""
    assert bound_entries(propose(HISTORY, edit, **OPEN)) == bound


def test_a_model_that_does_not_bind_has_no_say() -> None:
    """Without a policy nothing is refused and nothing stripped."""
    binding = resolve_binding(propose(HISTORY, drop(0, 2), **OPEN), None)

    assert (binding.violations, binding.stripped) == ((), ())


def test_refuse_names_the_entries() -> None:
    """The edit is refused with the entries, their groups, and what else could be done."""
    binding = resolve_binding(propose(HISTORY, drop(0, 2), **OPEN), "refuse")

    assert [(v.rule, v.groups, v.entries) for v in binding.violations] == [("bound_reasoning", (1, 3), (3, 7))]
    assert binding.violations[0].detail == (
        "Reasoning in entries 3, 7 is bound to the messages before it, and the list changes at position 0; keep "
        "everything before them, drop their groups, or use bound_reasoning='strip' for closed groups"
    )


def test_strip_takes_the_reasoning_of_kept_closed_groups() -> None:
    """The entries go out without their reasoning and with everything else."""
    outcome = run_edit(HISTORY, drop(0, 2), bound_reasoning="strip", **OPEN)

    assert isinstance(outcome, Staged)
    assert list(outcome.messages) == [user("p"), says("early"), *talk("b"), user("q"), says("late"), user(NOW)]
    assert (outcome.stripped, outcome.bound) == ((3, 7), ())


def test_strip_leaves_the_hosts_objects_alone() -> None:
    """A stripped entry is a copy; the history still has its reasoning."""
    run_edit(HISTORY, drop(0, 2), bound_reasoning="strip", **OPEN)

    assert HISTORY[3] == says("early", reasoning="hm", signature="s1")


def test_strip_still_refuses_in_the_running_cycle() -> None:
    """Reasoning of the current cycle is wanted back as it is, so an edit before it is refused."""
    with pytest.raises(HistoryProcessingValidationError) as caught:
        run_edit(RUNNING, drop(0, 2), bound_reasoning="strip", **OPEN)

    assert [(v.rule, v.entries) for v in caught.value.violations] == [("bound_reasoning", (3,))]


def test_strip_refuses_where_nothing_would_be_left() -> None:
    """An entry that holds reasoning and nothing else cannot be sent without it."""
    history = [*talk("a"), user("q"), says("", reasoning="hm", signature="s1"), says("b"), user(NOW)]

    with pytest.raises(HistoryProcessingValidationError) as caught:
        run_edit(history, drop(0, 2), bound_reasoning="strip", **OPEN)
    assert [(v.rule, v.entries) for v in caught.value.violations] == [("bound_reasoning", (3,))]


@pytest.mark.parametrize("setting", [None, "refuse", "strip"])
def test_an_edit_behind_all_reasoning_is_free(setting: Any) -> None:
    """Whatever the policy, a change after the last reasoning binds nothing."""
    outcome = run_edit(HISTORY[:6] + HISTORY[8:], drop(4, 6), bound_reasoning=setting, **OPEN)

    assert isinstance(outcome, Staged)
    assert (outcome.bound, outcome.stripped) == ((), ())


def test_an_unbound_edit_remembers_what_another_model_would_refuse() -> None:
    """Where no model binds, the entries are noted, because a fallback may go to one that does."""
    outcome = run_edit(HISTORY, drop(0, 2), **OPEN)

    assert isinstance(outcome, Staged)
    assert outcome.bound == (3, 7)


def test_what_was_assembled_is_before_all_reasoning() -> None:
    """Where it leaves, all bound reasoning is refused, wherever it stands."""
    (violation,) = unbind(revision(HISTORY), "refuse").violations

    assert (violation.rule, violation.groups, violation.entries) == ("bound_reasoning", (1, 3), (3, 7))


def test_unbinding_strips_closed_groups_and_refuses_the_rest() -> None:
    """As behind an edit."""
    closed, running = unbind(revision(HISTORY), "strip"), unbind(revision(RUNNING), "strip")

    assert closed.stripped == ((3, says("early")), (7, says("late")))
    assert closed.violations == ()
    assert [one.entries for one in running.violations] == [(3,)]


@pytest.mark.parametrize("setting", ["refuse", "strip"])
def test_a_history_without_reasoning_is_bound_to_nothing(setting: Any) -> None:
    """There is nothing to unbind."""
    assert unbind(revision([*talk("a"), user(NOW)]), setting) == unbind(revision([user(NOW)]), setting)
    assert unbind(revision([*talk("a"), user(NOW)]), setting).violations == ()
