"""A history as an `Explanation`: what a processor would be shown, and what `keep_recent_groups` would do to it.

The edit is not worked out here: a processor that calls `ctx.keep_recent_groups` runs through a real `RunSession`, which
proves it by the rules of a request, and this file writes down what it saw. Nothing is sent, and no callback of a user
is called. Source: History specification, Recent Groups and Origins, Atomic Groups.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from kedi_compile import (
    HistoryEntry,
    HistoryGroup,
    HistoryProcessingError,
    HistoryProcessingValidationError,
    HistoryProcessorContext,
    ProtectedReason,
    Violation,
)
from kedi_compile.dialect import EntryKind
from kedi_compile.explain.explanation import (
    Ending,
    ExplainedEdit,
    ExplainedEntry,
    ExplainedGroup,
    Explanation,
    Inquiry,
    OpenCall,
)
from kedi_compile.explain.stacks import Stack
from kedi_compile.history.carried import Carried
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.flow import Outcome, Staged
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.history.reasoning import binds_reasoning
from kedi_compile.history.revision import Revision
from kedi_compile.session import RunSession

PLACEHOLDER: Final = "(the next user message)"
"""What stands for the next request where the history ends without one."""

_WORDS_LENGTH: Final = 80


@dataclass
class _Trial:
    """The processor, and what it was shown and returned."""

    inquiry: Inquiry
    seen: list[HistoryProcessorContext[Any]] = field(default_factory=list)
    returned: list[Any] = field(default_factory=list)

    def __call__(self, ctx: HistoryProcessorContext[Any]) -> Sequence[Any]:
        self.seen.append(ctx)
        self.returned = ctx.keep_recent_groups(self.inquiry.keep, self.inquiry.over)
        return self.returned

    @property
    def ctx(self) -> HistoryProcessorContext[Any]:
        return self.seen[0]

    @property
    def kept(self) -> list[int]:
        """The entries that it kept, in order."""
        returned = set(map(id, self.returned))
        return [index for index, message in enumerate(self.ctx.messages) if id(message) in returned]


def explain(stack: Stack, messages: Sequence[Any], inquiry: Inquiry) -> Explanation:
    """Say what history processing sees in native messages before their next request.

    Raises:
        HistoryProcessingError: the messages cannot be copied or described.
        RecursionError: they are nested too deeply for that.
    """
    trial = _Trial(inquiry)
    policy: HistoryPolicy[Any] = HistoryPolicy(trial, reasoning_protection=inquiry.protection)
    quiet = Carried(may_warn=False)  # what the warning would say is in the explanation
    session = RunSession(policy, stack.dialect, owner=trial, carried=quiet)
    ending, prompt = _ending(session.revision(messages), inquiry.prompt)
    shown = [*messages] if prompt is None else [*messages, stack.dialect.text_message(prompt, "user")]
    outcome, violations = _attempt(session, shown, inquiry)
    pairing = session.revision(shown).pairing
    return Explanation(
        stack=stack.name,
        entries_read=len(messages),
        tokens=trial.ctx.estimated_tokens,
        ending=ending,
        prompt=prompt,
        open_calls=tuple(OpenCall(call.call_id, call.entry) for call in pairing.calls if call.answer is None),
        orphan_results=tuple(OpenCall(call_id, entry) for entry, call_id in pairing.orphans),
        groups=tuple(_groups(stack, shown, trial)),
        entries=tuple(map(_entry, trial.ctx.entries, _group_numbers(trial.ctx.groups))),
        edit=_edit(trial, outcome, violations),
    )


def _ending(revision: Revision[Any], prompt: str | None) -> tuple[Ending, str | None]:
    """Say how the history ends, and which message is to be added for its next request."""
    last = revision.spans[-1]
    is_open = ProtectedReason.PENDING_TOOL_CALL in last.reasons
    if prompt is not None:
        return ("prompt_added_over_open_calls" if is_open else "prompt_added"), prompt
    if is_open:
        return "open_calls", None
    fact = revision.facts[-1]
    is_request = fact.role != "assistant" and fact.kind is not EntryKind.SYSTEM
    return ("request", None) if is_request else ("placeholder_added", PLACEHOLDER)


def _attempt(
    session: RunSession[Any], shown: Sequence[Any], inquiry: Inquiry
) -> tuple[Outcome[Any] | None, tuple[Violation, ...]]:
    """Edit as before a request; return the proved outcome, or None and the rules it breaks."""
    info = RequestInfo(inquiry.model or "unnamed", 1, model_names=inquiry.model_names)
    try:
        return session.edit_sync(shown, info), ()
    except HistoryProcessingValidationError as error:
        return None, error.violations
    except HistoryProcessingError as error:
        raise error.__cause__ if isinstance(error.__cause__, RecursionError) else error from None


def _groups(stack: Stack, shown: Sequence[Any], trial: _Trial) -> list[ExplainedGroup]:
    kept, tokens = set(trial.kept), [entry.estimated_tokens for entry in trial.ctx.entries]
    return [
        ExplainedGroup(
            index=index,
            id=group.group_id,
            start=group.entry_start,
            end=group.entry_end,
            words=_first_words(stack.words(shown[group.entry_start])),
            closed=group.closed,
            eligible=group.eligible,
            protected_reasons=tuple(sorted(group.protected_reasons)),
            tokens=sum(tokens[group.entry_start : group.entry_end]),
            kept=group.entry_start in kept,
            why=_why(group, trial, kept=group.entry_start in kept),
        )
        for index, group in enumerate(trial.ctx.groups)
    ]


def _first_words(text: str) -> str:
    return " ".join(text[: 10 * _WORDS_LENGTH].split())[:_WORDS_LENGTH]


def _why(group: HistoryGroup, trial: _Trial, *, kept: bool) -> str:
    keep, over = trial.inquiry.keep, trial.inquiry.over
    if not group.eligible:
        return f"protected by {', '.join(sorted(group.protected_reasons))}"
    if not kept:
        return f"eligible, not one of the last {keep}"
    eligible = sum(one.eligible for one in trial.ctx.groups)
    if over is not None and eligible <= over:
        return f"eligible, and no more than {over} are"
    return f"eligible, one of the last {keep}"


def _group_numbers(groups: Sequence[HistoryGroup]) -> list[int]:
    return [number for number, group in enumerate(groups) for _ in range(group.entry_start, group.entry_end)]


def _entry(entry: HistoryEntry, group: int) -> ExplainedEntry:
    return ExplainedEntry(
        index=entry.index,
        group=group,
        kind=entry.kind.value,
        role=entry.role,
        calls=entry.calls,
        results=entry.results,
        protected_reasons=tuple(sorted(entry.protected_reasons)),
        tokens=entry.estimated_tokens,
    )


def _edit(trial: _Trial, outcome: Outcome[Any] | None, violations: tuple[Violation, ...]) -> ExplainedEdit:
    inquiry, ctx, kept = trial.inquiry, trial.ctx, trial.kept
    names = inquiry.model_names
    return ExplainedEdit(
        keep=inquiry.keep,
        over=inquiry.over,
        reasoning_protection=inquiry.reasoning_protection,
        outcome="refused" if outcome is None else "edited" if isinstance(outcome, Staged) else "unchanged",
        is_stuck=any(retention.is_stuck for retention in getattr(outcome, "retentions", ())),
        entries_before=len(ctx.messages),
        entries_after=len(kept),
        tokens_before=ctx.estimated_tokens,
        tokens_after=sum(ctx.entries[index].estimated_tokens for index in kept),
        first_change=None if len(kept) == len(ctx.messages) else _first_change(kept),
        model=inquiry.model,
        model_binds=binds_reasoning(names) if names else None,
        bound_entries=outcome.bound if isinstance(outcome, Staged) else _bound(violations),
        violations=violations,
    )


def _first_change(kept: Sequence[int]) -> int:
    return next((place for place, entry in enumerate(kept) if entry != place), len(kept))


def _bound(violations: Sequence[Violation]) -> tuple[int, ...]:
    return next((broken.entries for broken in violations if broken.rule == "bound_reasoning"), ())
