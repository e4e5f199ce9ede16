"""Reasoning that earlier runs bound to what was assembled around it: a new run does not send that again.

So all of it is treated like reasoning behind an edit, once, at a run's first request, and only where a request is
assembled at all and the model binds.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from kedi_compile import HistoryProcessingValidationError
from kedi_compile.history.flow import Outcome, Skipped, Staged, Unchanged
from toy import INFO, NOW, Context, Message, answers, calls, says, session, talk, user

CLOSED = [*talk("a"), user("q"), says("late", reasoning="hm", signature="s1"), user(NOW)]
BARE = [*talk("a"), user("q"), says("late"), user(NOW)]
RUNNING = [*talk("a"), user(NOW), calls("c1", reasoning="hm", signature="s1"), answers("c1")]


def outcome_of(messages: list[Message], request_index: int = 1, **options: Any) -> Outcome[Message]:
    """Return what becomes of a request whose adapter assembles."""
    run = session(**{"assembles": True, **options})
    return run.edit_sync(messages, replace(INFO, request_index=request_index))


def refusal(messages: list[Message], **options: Any) -> list[tuple[str, tuple[int, ...]]]:
    """Return what refuses it."""
    with pytest.raises(HistoryProcessingValidationError) as caught:
        outcome_of(messages, **options)
    return [(one.rule, one.entries) for one in caught.value.violations]


def test_bound_reasoning_of_an_earlier_run_is_refused() -> None:
    """With the entries, and what it is bound to."""
    with pytest.raises(HistoryProcessingValidationError) as caught:
        outcome_of(CLOSED, bound_reasoning="refuse")

    (violation,) = caught.value.violations
    assert (violation.rule, violation.groups, violation.entries) == ("bound_reasoning", (1,), (3,))
    assert violation.detail.startswith(
        "Reasoning in entry 3 is bound to what was assembled around it, which a new run does not send again"
    )


def test_it_is_stripped_from_closed_groups_if_asked_for() -> None:
    """The history goes out without it, as one rewrite, and nothing else changes."""
    outcome = outcome_of(CLOSED, bound_reasoning="strip")

    assert isinstance(outcome, Staged)
    assert list(outcome.messages) == BARE
    assert (outcome.first_change, outcome.stripped, outcome.bound, outcome.rewrites) == (3, (3,), (), 1)
    assert outcome.entries == (0, 1, 2, 3, 4)


def test_it_is_never_stripped_from_the_running_cycle() -> None:
    """There it is wanted back as it is."""
    assert refusal(RUNNING, bound_reasoning="strip") == [("bound_reasoning", (3,))]


@pytest.mark.parametrize("setting", ["refuse", "strip"])
def test_reasoning_of_this_run_stays(setting: Any) -> None:
    """What was assembled around it is sent again, so later requests change nothing."""
    assert outcome_of(CLOSED, request_index=2, bound_reasoning=setting) == Skipped()


@pytest.mark.parametrize("setting", ["refuse", "strip"])
def test_without_a_compiler_reasoning_stays(setting: Any) -> None:
    """Nothing was assembled around it."""
    assert outcome_of(CLOSED, assembles=False, bound_reasoning=setting) == Skipped()


def test_a_model_that_does_not_bind_has_no_say() -> None:
    """Its reasoning stays, whatever was around it."""
    assert outcome_of(CLOSED) == Skipped()


@pytest.mark.parametrize("setting", ["refuse", "strip"])
def test_a_history_without_bound_reasoning_stays(setting: Any) -> None:
    """There is nothing to leave out."""
    assert outcome_of(BARE, bound_reasoning=setting) == Skipped()


def test_the_condition_and_the_processor_see_what_is_left() -> None:
    """They are asked about the history as it would go out."""
    seen: list[list[Message]] = []

    def note(ctx: Context) -> Any:
        seen.append(list(ctx.messages))
        return ctx.messages

    outcome = outcome_of(CLOSED, bound_reasoning="strip", processor=note, condition=lambda state: True)

    assert seen == [BARE]
    assert isinstance(outcome, Staged)
    assert (outcome.stripped, outcome.rewrites) == ((3,), 1)


def test_a_condition_that_says_no_changes_nothing_about_it() -> None:
    """It is no edit of a processor's."""
    outcome = outcome_of(CLOSED, bound_reasoning="strip", processor=lambda ctx: [], condition=lambda state: False)

    assert isinstance(outcome, Staged)
    assert list(outcome.messages) == BARE


def test_an_edit_on_top_of_it_is_told_of_the_history_before_both() -> None:
    """Two rewrites, one outcome."""
    outcome = outcome_of(
        CLOSED,
        bound_reasoning="strip",
        processor=lambda ctx: ctx.keep_recent_groups(1),
        reasoning_protection="open_cycle",
    )

    assert isinstance(outcome, Staged)
    assert list(outcome.messages) == BARE[2:]
    assert (outcome.entries, outcome.stripped, outcome.first_change, outcome.rewrites) == ((2, 3, 4), (3,), 0, 2)


def test_with_nothing_to_strip_a_noop_is_a_noop() -> None:
    """A compiler alone makes no edit."""
    assert isinstance(outcome_of(BARE, bound_reasoning="strip", processor=lambda ctx: ctx.messages), Unchanged)
