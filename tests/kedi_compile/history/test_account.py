"""When something is told of a request: with reports a report, in a trace a span, and otherwise nothing."""

from __future__ import annotations

from kedi_compile import HistoryProcessingError
from kedi_compile.history.account import NOT_PROCESSED, Account, reused_report
from kedi_compile.history.flow import Unchanged
from toy import revision, two_talks


def test_nobody_who_listens_is_told_nothing() -> None:
    """Nothing of the history is looked at."""
    history = revision(two_talks())

    assert Account(history, 0).done(Unchanged(), 0) is NOT_PROCESSED
    assert Account(history, 0).failed(HistoryProcessingError("x")) is NOT_PROCESSED
    assert (history.known_tokens, history.known_spans) == (None, [])


def test_an_account_with_reports_tells_how_it_ended() -> None:
    """With the generations on both sides."""
    history = revision(two_talks())

    done = Account(history, 2, reports=True).done(Unchanged(), 3)
    failed = Account(history, 2, reports=True).failed(HistoryProcessingError("x"))

    assert (done.outcome, done.generation_before, done.generation_after) == ("unchanged", 2, 3)
    assert (failed.outcome, failed.generation_before, failed.generation_after) == ("refused", 2, 2)


def test_a_reused_outcome_is_told_with_the_generations_of_the_later_attempt() -> None:
    """And says whose edit it is."""
    report = reused_report(None, Unchanged(), 4, 4)

    assert (report.generation_before, report.generation_after) == (4, 4)
    assert report.notes == ("This is the edit of an earlier attempt at the request",)
