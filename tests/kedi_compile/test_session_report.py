"""What a session tells of a request: while it is under way, after it, and of one that failed."""

from __future__ import annotations

import gc
import weakref

import pytest

from kedi_compile import HistoryProcessingValidationError
from kedi_compile.history.flow import Staged
from toy import INFO, NOW, Context, Host, Message, says, session, talk, two_talks, user


def keep_one(ctx: Context) -> list[Message]:
    """Keep the most recent group."""
    return ctx.keep_recent_groups(1)


def test_only_a_session_with_reports_tells_what_was_done() -> None:
    """Another one holds nothing, and says that it has nothing to tell."""
    quiet, telling = session(keep_one), session(keep_one, reports=True)
    for run in (quiet, telling):
        run.edit_sync(two_talks(), INFO)

    assert quiet.report().outcome == "not_processed"
    assert telling.report().outcome == "edited"


def test_a_report_outlives_its_request_and_goes_with_the_next() -> None:
    """So that a failed request can be told of too; the end of the run takes the last one."""
    host = Host(keep_one, reports=True)
    host.ask()
    host.answer(says("a"))
    assert host.session.report().outcome == "edited"

    host.ask()
    assert host.session.report().outcome == "unchanged"
    assert (host.session.report().generation_before, host.session.report().generation_after) == (1, 1)

    host.session.undo()
    assert host.session.report().outcome == "unchanged"

    host.session.close()
    assert host.session.report().outcome == "not_processed"


def test_a_report_holds_no_message() -> None:
    """What the host drops is dropped."""
    run = session(lambda ctx: ctx.keep_recent_groups(0), reports=True)
    messages = two_talks()
    gone = weakref.ref(messages[0])
    run.edit_sync(messages, INFO)
    report = run.report()
    run.revision([user(NOW)]).groups  # noqa: B018  # names are kept for the groups looked at last
    del messages
    gc.collect()

    assert report.groups[0].decision == "dropped"
    assert gone() is None


def test_a_failed_edit_is_reported_with_its_error() -> None:
    """As it reaches the host, whatever went wrong."""
    run = session(lambda ctx: ctx.messages[1:], reports=True)
    with pytest.raises(HistoryProcessingValidationError):
        run.edit_sync(two_talks(), INFO)

    assert run.report().outcome == "refused"
    assert [text.partition(":")[0] for text in run.report().violations] == ["split_group", "turn_order"]


def test_a_later_attempt_repeats_the_report_and_says_so() -> None:
    """With the groups where the host says what the earlier one was shown."""
    messages = two_talks()
    outcome = session(keep_one).edit_sync(messages, INFO)
    run = session(keep_one, reports=True)

    run.reuse(outcome, messages)
    told = run.report()
    run.reuse(outcome)

    note = "This is the edit of an earlier attempt at the request"
    assert ([group.decision for group in told.groups], told.notes) == (["dropped", "kept", "kept"], (note,))
    assert (run.report().outcome, run.report().groups, run.report().notes) == ("edited", (), (note,))


def test_a_model_that_binds_what_an_edit_left_is_reported_as_a_refusal() -> None:
    """A fallback is known only after the edit."""
    run = session(lambda ctx: ctx.replace_groups(ctx.groups[0]), reasoning_protection="open_cycle", reports=True)
    outcome = run.edit_sync([*talk("a"), user("q"), says("s", signature="sig"), user(NOW)], INFO)
    assert isinstance(outcome, Staged)

    with pytest.raises(HistoryProcessingValidationError):
        run.check_binding(outcome, ("claude-opus-5-5",))

    assert run.report().outcome == "refused"
    assert run.report().violations[0].startswith("bound_reasoning: Reasoning in entry 3 is bound")


def test_without_a_processor_there_is_nothing_to_report() -> None:
    """Nobody processes anything."""
    run = session(reports=True)
    run.reuse(run.edit_sync(two_talks(), INFO))

    assert run.report().outcome == "not_processed"


def test_a_skipped_request_says_why() -> None:
    """Whoever asks why nothing was trimmed finds the condition."""
    run = session(lambda ctx: ctx.messages, condition=lambda state: False, reports=True)
    run.edit_sync([*talk("a"), user(NOW)], INFO)

    assert (run.report().outcome, run.report().notes) == ("skipped", ("the condition said False",))


def test_an_edit_that_was_taken_back_says_so() -> None:
    """The request came to nothing, so the history is what it was."""
    run = session(lambda ctx: ctx.replace_groups(ctx.groups[0]), reports=True)
    run.edit_sync([*talk("a"), *talk("b"), user(NOW)], INFO)
    run.sent()
    run.undo()

    assert run.report().outcome == "edited"
    assert run.report().notes == ("the request came to nothing, so its edit was taken back",)
