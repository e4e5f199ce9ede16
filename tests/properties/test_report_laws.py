"""The laws of a request's report, over random toy histories and edits: it says exactly what the outcome did."""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedi_compile import HistoryArchiveSettings, HistoryProcessingValidationError
from kedi_compile.dump.schema import GroupDump, HistoryDump
from kedi_compile.history.flow import Outcome, Staged
from kedi_compile.session import RunSession
from toy import INFO, Context, Message, session, user
from toy_histories import any_histories

pytestmark = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning")

POLICIES: tuple[Callable[[], dict[str, Any]], ...] = (
    dict,
    lambda: {"archive": HistoryArchiveSettings(0, 0, 1), "token_counter": lambda message: 1 + 9 * len(message.results)},
    lambda: {"reasoning_protection": "open_cycle", "bound_reasoning": "strip"},
)


def edited(ctx: Context, chance: Random) -> list[Message]:
    """Keep some eligible groups in any order between the protected ones, with new texts here and there."""
    out: list[Message] = []
    free = []
    for group in ctx.groups:
        if group.eligible and chance.random() < 0.9:
            free.append(group)
            continue
        for kept in [*chance.sample(free, chance.randint(0, len(free))), group]:
            out += [user("So far.")] * (chance.random() < 0.15)
            out += ctx.messages[kept.entry_start : kept.entry_end]
        free = []
    return out


def reported(
    history: list[Message], chance: Random, policy: dict[str, Any]
) -> tuple[RunSession[Message], Outcome[Message] | None, HistoryDump]:
    """Process one request, and return its session, its outcome unless it was refused, and its report."""
    run = session(lambda ctx: edited(ctx, chance), reports=True, **policy)
    try:
        outcome = run.edit_sync(history, INFO)
    except HistoryProcessingValidationError:
        outcome = None
    return run, outcome, run.report()


requests = st.builds(
    reported, any_histories, st.randoms(use_true_random=False), st.sampled_from(POLICIES).map(lambda make: make())
)


def span(group: GroupDump) -> range:
    """Return the entries of a group."""
    return range(group.start, group.end)


@given(any_histories, st.randoms(use_true_random=False), st.sampled_from(POLICIES))
def test_groups_partition_the_old_entries(history: list[Message], chance: Random, policy: Callable[[], Any]) -> None:
    """In order and without gaps, whether the edit was accepted or refused; and there is always a group."""
    _, _, report = reported(history, chance, policy())

    assert not report.notes
    assert [entry for group in report.groups for entry in span(group)] == list(range(len(history)))


@given(requests)
def test_decisions_are_what_the_outcome_did(request: tuple[Any, Outcome[Message] | None, HistoryDump]) -> None:
    """Kept entries are those of groups not dropped, replaced or archived, and a part of the archived ones."""
    _, outcome, report = request
    if not isinstance(outcome, Staged):
        assert {group.decision for group in report.groups} == {"kept"}
        return
    left = {entry for entry in outcome.entries if entry is not None}

    for group in report.groups:
        kept, entries = left.intersection(span(group)), set(span(group))
        match group.decision:
            case "dropped" | "replaced":
                assert not kept
            case "archived":
                assert kept
                assert kept < entries
            case _:
                assert kept == entries
        is_bare = bool(kept.intersection(outcome.stripped))
        assert (group.decision == "stripped") is is_bare


@given(requests)
def test_moved_groups_are_those_that_break_the_order(request: tuple[Any, Outcome[Message], HistoryDump]) -> None:
    """Without them the old order stands; if there are none it stands anyway."""
    _, outcome, report = request
    if not isinstance(outcome, Staged):
        return
    moved = {
        entry
        for group in report.groups
        if group.decision == "moved" or "in another order" in group.reason
        for entry in span(group)
    }
    kept = [entry for entry in outcome.entries if entry is not None]
    stayed = [entry for entry in kept if entry not in moved]

    assert stayed == sorted(stayed)
    assert bool(moved) is (kept != sorted(kept))


@given(requests)
def test_a_replaced_group_has_a_new_text_between_its_neighbours(
    request: tuple[Any, Outcome[Message], HistoryDump],
) -> None:
    """And a dropped one has none: by brute force over the places of what stayed."""
    _, outcome, report = request
    if not isinstance(outcome, Staged):
        return
    stayed = {
        entry
        for group in report.groups
        if group.decision != "moved" and "in another order" not in group.reason
        for entry in span(group)
    }

    for group in report.groups:
        if group.decision in ("dropped", "replaced"):
            places = [
                (place, entry) for place, entry in enumerate(outcome.entries) if entry is not None and entry in stayed
            ]
            before = max((place for place, entry in places if entry < group.start), default=-1)
            behind = min(place for place, entry in places if entry >= group.end)
            is_new = None in outcome.entries[before:behind] if before >= 0 else None in outcome.entries[:behind]
            assert (group.decision == "replaced") is is_new


@given(requests)
def test_sizes_and_texts_are_those_of_both_histories(
    request: tuple[RunSession[Message], Outcome[Message] | None, HistoryDump],
) -> None:
    """Tokens before and after agree with the revisions', and each new message is listed."""
    run, outcome, report = request

    assert report.tokens_before == sum(group.tokens for group in report.groups)
    if isinstance(outcome, Staged):
        new = [message for message, entry in zip(outcome.messages, outcome.entries, strict=True) if entry is None]
        assert report.tokens_after == run.revision(outcome.messages).estimated_tokens
        assert list(report.added) == [message.text for message in new]
        assert report.first_change == outcome.first_change
        assert report.generation_after - report.generation_before == outcome.rewrites
    elif outcome is not None:
        assert report.tokens_after == report.tokens_before
    else:
        assert report.violations
        assert report.tokens_after is None
