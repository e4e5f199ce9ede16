"""What is told of one request's history processing: in a trace where it is traced, in a report where one is wanted.

What a report says is in `report.py`, what a span says in the room `telemetry`; here is when they are made. An account
holds the history only while the request is processed.
"""

from __future__ import annotations

from typing import Any, Final, Generic, TypeVar

from kedi_compile.dump.schema import HistoryDump
from kedi_compile.history.flow import Outcome
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.history.report import edit_facts, edit_report, refused_report, reused
from kedi_compile.history.revision import Revision
from kedi_compile.telemetry.tracing import begin_span

MessageT = TypeVar("MessageT")

NOT_PROCESSED: Final = HistoryDump(outcome="not_processed")
"""What there is to tell where nobody processed the history, or nobody wants a report."""


class Account(Generic[MessageT]):
    """The account of one request; `generation` is that before it, `model_id` is `provider:name`.

    With a `model_id` it begins a span that is current until `done` or `failed`, one of which must be called.
    """

    def __init__(
        self, revision: Revision[MessageT], generation: int, *, reports: bool = False, model_id: str | None = None
    ) -> None:
        self.revision = revision
        self._generation = generation
        self._reports = reports
        self._span = None if model_id is None else begin_span(model_id)

    def done(self, outcome: Outcome[Any], generation: int) -> HistoryDump:
        """End with an outcome and the generation after it, and return the report."""
        if self._span is not None:
            self._span.end({**edit_facts(self.revision, outcome), "generation": generation})
        if not self._reports:
            return NOT_PROCESSED
        return edit_report(self.revision, outcome, generation_before=self._generation, generation_after=generation)

    def failed(self, error: BaseException) -> HistoryDump:
        """End with what kept the request from being sent, and return the report."""
        if self._span is not None:
            self._span.fail(error)
        return refused_report(error, self.revision, generation=self._generation) if self._reports else NOT_PROCESSED


def why_skipped(policy: HistoryPolicy[Any]) -> str:
    """Say why a history went out as it was, unseen by a processor."""
    if policy.processor is not None:
        return "the condition said False"
    return "there is no processor" if policy.archive is None else "there is no processor, and nothing was archived"


def reused_report(revision: Revision[Any] | None, outcome: Outcome[Any], before: int, after: int) -> HistoryDump:
    """Report on a later attempt, which takes over an outcome; `before` and `after` are its own generations."""
    return reused(edit_report(revision, outcome, generation_before=before, generation_after=after))
