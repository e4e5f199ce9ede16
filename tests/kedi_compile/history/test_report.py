"""What a report says of an edit: each group's fate and its reason, sizes, new texts, and what was refused."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kedi_compile import HistoryArchiveSettings, HistoryProcessingError
from kedi_compile.dialect import MessageFacts
from kedi_compile.dump.schema import GroupDump, HistoryDump
from kedi_compile.history.flow import Skipped, Staged, Unchanged
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.history.report import decide, edit_facts, edit_report, refused_report, reused
from kedi_compile.session import RunSession
from toy import (
    INFO,
    NOW,
    Context,
    Edit,
    Message,
    Result,
    ToyDialect,
    calls,
    revision,
    says,
    session,
    system,
    talk,
    user,
)

HISTORY = [*talk("a", "b", "c", "d"), user(NOW)]
SIGNED = [user("q"), says("ok", signature="sig", reasoning="hm")]


def report_on(messages: Sequence[Message], processor: Edit | None, **options: Any) -> HistoryDump:
    """Return the report on one edit."""
    run = session(processor, reports=True, **options)
    run.edit_sync(messages, INFO)
    return run.report()


def fates(report: HistoryDump) -> list[str]:
    """Return the decision on each group."""
    return [group.decision for group in report.groups]


def groups_of(ctx: Context, *numbers: int) -> list[Message]:
    """Return these groups in this order, and the current request."""
    chosen = [*(ctx.groups[number] for number in numbers), ctx.groups[-1]]
    return [ctx.messages[place] for group in chosen for place in range(group.entry_start, group.entry_end)]


def test_a_group_that_is_left_out_is_dropped() -> None:
    """With its bounds and size; what is kept says why."""
    report = report_on([*talk("a", "b"), user(NOW)], lambda ctx: ctx.keep_recent_groups(1))

    assert report.outcome == "edited"
    assert report.groups == (
        GroupDump(
            id="g1", start=0, end=2, tokens=16, closed=True, decision="dropped", reason="dropped by the processor"
        ),
        GroupDump(id="g2", start=2, end=4, tokens=16, closed=True, decision="kept", reason="kept by the processor"),
        GroupDump(
            id="g3",
            start=4,
            end=5,
            tokens=8,
            closed=False,
            protected_reasons=("current_request",),
            decision="kept",
            reason="current request",
        ),
    )
    assert (report.first_change, report.tokens_before, report.tokens_after) == (0, 40, 24)


@pytest.mark.parametrize(
    ("edit", "expected"),
    [
        (lambda ctx: [ctx.text_message("S"), *groups_of(ctx, 2, 3)], "replaced replaced kept kept kept"),
        (lambda ctx: [*groups_of(ctx, 0, 3)[:2], user("S"), *groups_of(ctx, 3)], "kept replaced replaced kept kept"),
        (lambda ctx: [*groups_of(ctx, 0, 2, 3)[:-1], user("S"), ctx.messages[-1]], "kept dropped kept kept kept"),
        (lambda ctx: groups_of(ctx, 3, 0, 1, 2), "kept kept kept moved kept"),
        (lambda ctx: groups_of(ctx, 1, 2, 3, 0), "moved kept kept kept kept"),
        (lambda ctx: [user("S"), *groups_of(ctx, 3, 1)], "replaced kept dropped moved kept"),
    ],
)
def test_a_new_message_replaces_the_groups_of_its_gap(edit: Edit, expected: str) -> None:
    """Elsewhere groups are dropped; of those in another order the fewest that must have moved are said to have."""
    assert fates(report_on(HISTORY, edit)) == expected.split()


def test_a_moved_group_says_so() -> None:
    """It is kept all the same."""
    report = report_on(HISTORY, lambda ctx: groups_of(ctx, 3, 0, 1, 2))

    assert report.groups[3].reason == "kept by the processor, in another order"
    assert report.tokens_before == report.tokens_after == 72


def test_new_texts_are_listed_in_order() -> None:
    """And counted; a replaced group says what happened to it."""
    report = report_on(HISTORY, lambda ctx: ctx.replace_groups(ctx.groups[:3], *ctx.summary_messages("They talked.")))

    assert report.added == ("They talked.", "Noted.")
    assert report.groups[0].reason == "replaced by the processor: a new message stands in its place"
    assert (report.tokens_before, report.tokens_after) == (72, 42)


def test_a_protected_group_says_what_protects_it() -> None:
    """All reasons, by name."""
    report = report_on([system(), *talk("a"), *SIGNED, user(NOW)], lambda ctx: ctx.keep_recent_groups(0))

    assert [group.reason for group in report.groups] == [
        "kept: protected by system",
        "dropped by the processor",
        "kept: protected by signed_reasoning",
        "current request",
    ]


def test_stripped_reasoning_is_told_by_entry() -> None:
    """With what it is bound to, and smaller than before."""
    report = report_on(
        [*talk("a"), *SIGNED, user(NOW)],
        lambda ctx: ctx.replace_groups(ctx.groups[0]),
        reasoning_protection="open_cycle",
        bound_reasoning="strip",
    )

    assert fates(report) == ["dropped", "stripped", "kept"]
    assert report.groups[1].reason == ("kept, but entry 3 without reasoning, which is bound to what changed before it")
    assert (report.tokens_before, report.tokens_after) == (29, 11)


def archived(processor: Edit | None = None, condition: Callable[..., bool] | None = None) -> HistoryDump:
    """Report on a request that archives the first exchange of its cycle."""
    exchanges = [
        message
        for name in ("c1", "c2")
        for message in (calls(name), Message("tool", results=[Result(name, "x" * 300)]))
    ]
    settings = HistoryArchiveSettings(0, 0, 1)
    run = session(processor, condition, archive=settings, reports=True)
    run.edit_sync([*talk("a"), user("Go."), *exchanges], INFO)
    return run.report()


def test_an_archived_group_keeps_a_part() -> None:
    """The rest is behind a checkpoint, whose text is new."""
    report = archived()

    assert fates(report) == ["kept", "archived"]
    assert [group.reason for group in report.groups] == [
        "kept: only the archive changed the history",
        "current request; entries 3, 4 went into an archive, behind a checkpoint",
    ]
    assert report.added[0].startswith("Archived 1 completed tool exchange (2 messages)")
    assert (report.generation_before, report.generation_after) == (0, 1)


def test_an_archive_and_an_edit_are_one_report() -> None:
    """Two generations, and the groups of the history before both; what the processor found is there too."""
    report = archived(lambda ctx: ctx.keep_recent_groups(0))

    assert fates(report) == ["dropped", "archived"]
    assert (report.generation_before, report.generation_after) == (0, 2)
    assert report.retentions == ("1 group could go, the limit is 0: older ones were left out",)


def test_what_a_processor_found_behind_an_archive_is_told() -> None:
    """Also where it changed nothing more."""
    report = archived(lambda ctx: ctx.keep_recent_groups(1))

    assert report.retentions == ("1 group could go, the limit is 1: nothing was left out",)
    assert report.generation_after == 1


def test_an_unchanged_history_keeps_everything() -> None:
    """Every group, and the same size."""
    report = report_on(HISTORY, lambda ctx: ctx.messages)

    assert report.outcome == "unchanged"
    assert set(fates(report)) == {"kept"}
    assert report.tokens_before == report.tokens_after == 72
    assert report.first_change is None
    assert report.continuation == ("Nothing was rewritten in this run, so state on the provider's side may be named",)


@pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning")
def test_a_processor_that_is_stuck_is_told_with_names() -> None:
    """So that whoever is on call sees which groups hold, and by what."""
    report = report_on([*SIGNED, *SIGNED, user(NOW)], lambda ctx: ctx.keep_recent_groups(1))

    (found,) = report.retentions
    assert found == (
        "0 groups could go, the limit is 1: nothing was left out; 2 had to stay: g1 (signed_reasoning), "
        "g2 (signed_reasoning); every group before the current request is protected"
    )


@pytest.mark.parametrize(("reads", "tokens"), [(False, None), (True, 72)])
def test_a_skipped_request_tells_only_what_was_known(reads: bool, tokens: int | None) -> None:
    """No group is looked at; the size is there if the condition had asked for it."""
    run = session(lambda ctx: ctx.messages, lambda state: reads and state.estimated_tokens < 0, reports=True)
    run.edit_sync(HISTORY, INFO)

    report = run.report()

    assert report.outcome == "skipped"
    assert report.groups == ()
    assert report.tokens_before == report.tokens_after == tokens


@pytest.mark.parametrize(
    ("before", "after", "begins"),
    [
        (0, 0, "Nothing was rewritten in this run"),
        (0, 1, "Rewritten, generation 0 to 1: response ids and server-owned conversations from before are not sent"),
        (2, 2, "Generation 2: response ids and server-owned conversations from before the last rewrite are not sent"),
    ],
)
def test_continuation_is_told_by_the_generations(before: int, after: int, begins: str) -> None:
    """What may still be named on the provider's side."""
    report = edit_report(revision(HISTORY), Unchanged(), generation_before=before, generation_after=after)

    assert report.continuation[0].startswith(begins)


def test_an_outcome_without_its_history_has_no_groups() -> None:
    """A later attempt may know no more."""
    outcome = Staged((user(NOW),), 0, (8,))

    report = edit_report(None, outcome, generation_before=0, generation_after=1)

    assert (report.outcome, report.first_change, report.groups, report.notes) == ("edited", 0, (), ())
    assert reused(report).notes == ("This is the edit of an earlier attempt at the request",)


def test_a_counter_that_fails_is_a_note() -> None:
    """A report breaks no request; the rest is told."""

    def count(message: Message) -> int:
        raise OSError("no tokenizer")

    report = report_on(HISTORY, lambda ctx: list(ctx.messages)[2:], token_counter=count)

    assert report.outcome == "edited"
    assert report.first_change == 0
    assert report.groups == ()
    assert report.notes == ("The groups cannot be told: OSError: no tokenizer",)


def test_a_refused_edit_names_its_violations_and_who_is_to_blame() -> None:
    """Every group is still there, because nothing was sent."""
    run = session(lambda ctx: list(ctx.messages)[1:], reports=True)
    with pytest.raises(HistoryProcessingError):
        run.edit_sync([*talk("a"), user(NOW)], INFO)

    report = run.report()

    assert report.outcome == "refused"
    assert report.violations == (
        "split_group: Group 0 (entries 0:2) came back without entry 0; keep or replace the whole group",
        "turn_order: The conversation would begin with returned message 0, of the assistant; a user's comes first",
    )
    assert [(group.decision, group.reason) for group in report.groups] == [
        ("kept", "to blame for split_group, turn_order"),
        ("kept", "nothing was sent"),
    ]
    assert (report.tokens_before, report.tokens_after) == (24, None)


def test_a_callback_that_raised_is_told_without_groups() -> None:
    """They were not looked at before, and are not for the report."""
    report = refused_report(HistoryProcessingError("`history_processor` raised ValueError: x"), revision(HISTORY))

    assert report.violations == ("HistoryProcessingError: `history_processor` raised ValueError: x",)
    assert report.groups == ()


def test_a_cancelled_request_was_not_processed() -> None:
    """It was neither accepted nor refused."""
    report = refused_report(KeyboardInterrupt(), revision(HISTORY), generation=3)

    assert (report.outcome, report.generation_before, report.generation_after) == ("not_processed", 3, 3)
    assert report.notes == ("KeyboardInterrupt came before it was decided",)


def test_a_report_copies_no_message_and_describes_each_once() -> None:
    """It is linear: twice the history, twice the looks."""
    looks: Counter[str] = Counter()

    class Counting(ToyDialect):
        def describe(self, message: Message) -> MessageFacts:
            looks["describe"] += 1
            return super().describe(message)

        def estimate(self, message: Message) -> int:
            looks["estimate"] += 1
            return super().estimate(message)

        def clone(self, message: Message) -> Message:
            raise AssertionError

    history = RunSession(HistoryPolicy(), Counting(), owner=None).revision(HISTORY)
    kept = Staged((*HISTORY[:2], user("S"), *HISTORY[6:]), 2, (0, 1, None, 6, 7, 8))

    report = edit_report(history, kept, generation_before=0, generation_after=1)

    assert fates(report) == ["kept", "replaced", "replaced", "kept", "kept"]
    assert looks == {"describe": 9, "estimate": 10}


def test_nothing_is_decided_where_nothing_was_edited() -> None:
    """Every group is kept."""
    spans = revision(HISTORY).spans

    assert decide(spans, Unchanged()).by_group == decide(spans, Skipped()).by_group == ("kept",) * 5


def test_facts_are_only_those_that_are_known() -> None:
    """Bounds and sizes nobody asked for are not looked for."""
    history = revision(HISTORY)
    outcome = Staged((*HISTORY[:2], *HISTORY[6:]), 2, (0, 1, 6, 7, 8))
    plain = {"outcome": "edited", "entries_before": 9, "entries_after": 5, "first_change": 2}

    assert edit_facts(history, outcome) == plain
    assert history.known_tokens is None

    assert history.spans
    counted = {**plain, "groups_kept": 3, "groups_dropped": 2, "groups_replaced": 0}
    assert edit_facts(history, outcome) == counted

    assert history.tokens
    assert edit_facts(history, outcome) == {**counted, "tokens_before": 72, "tokens_after": 40}


def test_a_new_text_is_not_counted_for_the_facts() -> None:
    """So the size afterwards is not known."""
    history = revision(HISTORY)
    assert history.tokens

    facts = edit_facts(history, Staged((user("S"), HISTORY[8]), 0, (None, 8)))

    assert (facts["tokens_before"], "tokens_after" in facts) == (72, False)
