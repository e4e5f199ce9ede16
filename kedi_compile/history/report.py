"""What history processing did to one request, group by group: the dump's `HistoryDump`.

The rule: a group of which nothing is left was replaced if a new message stands where it stood, and dropped otherwise; a
group of which a part is left was archived, because no edit may split one. Of the groups that stand in another order,
the fewest that must have moved count as moved. A report is linear in the history, holds no message, and raises nothing:
what cannot be told is a note in it. Who asks for one is `session.py`; the form is in `dump/schema.py`. Source: Assembly
specification, Operational observability.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal

from kedi_compile.dialect import ProtectedReason
from kedi_compile.dump.schema import GroupDecision, GroupDump, HistoryDump
from kedi_compile.errors import SHOWN, HistoryProcessingValidationError, Violation, entries_text, error_text
from kedi_compile.history.context import Retention
from kedi_compile.history.flow import Outcome, Skipped, Staged, Unchanged
from kedi_compile.history.groups import HistoryGroup, Span
from kedi_compile.history.revision import Revision

_OUTCOMES: dict[type, Literal["skipped", "unchanged", "edited"]] = {
    Skipped: "skipped",
    Unchanged: "unchanged",
    Staged: "edited",
}


@dataclass(frozen=True, slots=True)
class Decisions:
    """What an edit did to each group of the old history, in order; `gone` are the entries that left, by group."""

    by_group: tuple[GroupDecision, ...]
    moved: frozenset[int] = frozenset()
    gone: tuple[tuple[int, ...], ...] = ()
    stripped: frozenset[int] = frozenset()
    """The old entries that lost their reasoning."""
    archive_only: bool = False
    """Whether the archive alone changed the history."""

    def counts(self) -> Counter[GroupDecision]:
        """Return how many groups there are of each decision."""
        return Counter(self.by_group)


def decide(spans: Sequence[Span], outcome: Outcome[Any]) -> Decisions:
    """Return what became of the groups with these bounds."""
    if not isinstance(outcome, Staged):
        return Decisions(_all_kept(len(spans)))
    group_of = [index for index, span in enumerate(spans) for _ in range(span.start, span.end)]
    left = frozenset(entry for entry in outcome.entries if entry is not None)
    places = [None if entry is None else group_of[entry] for entry in outcome.entries]
    moved = _moved([group for group in dict.fromkeys(places) if group is not None])
    gone = tuple(tuple(entry for entry in range(span.start, span.end) if entry not in left) for span in spans)
    bare = frozenset(group_of[entry] for entry in outcome.stripped)
    marks = (_filled(places, moved, len(spans)), bare, moved)
    decisions: list[GroupDecision] = [
        _decision(index, span.end - span.start - len(gone[index]), gone[index], marks)
        for index, span in enumerate(spans)
    ]
    archive_only = outcome.rewrites == 1 and "archived" in decisions
    return Decisions(tuple(decisions), moved, gone, frozenset(outcome.stripped), archive_only)


def _all_kept(count: int) -> tuple[GroupDecision, ...]:
    kept: tuple[GroupDecision, ...] = ("kept",)
    return kept * count


def _decision(index: int, left: int, gone: Sequence[int], marks: Sequence[frozenset[int]]) -> GroupDecision:
    filled, bare, moved = marks
    if not left:
        return "replaced" if index in filled else "dropped"
    if gone:
        return "archived"
    if index in bare:
        return "stripped"
    return "moved" if index in moved else "kept"


def _moved(order: Sequence[int]) -> frozenset[int]:
    """The fewest groups to move for this order: those outside a longest run of ascending ones."""
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for group in order:
        place = bisect_left(ends, group)
        before[group] = ends[place - 1] if place else None
        ends[place : place + 1] = [group]
    stayed: set[int] = set()
    last = ends[-1] if ends else None
    while last is not None:
        stayed.add(last)
        last = before[last]
    return frozenset(order) - stayed


def _filled(places: Sequence[int | None], moved: frozenset[int], count: int) -> frozenset[int]:
    """The groups between whose unmoved neighbours a new message stands."""
    filled: set[int] = set()
    before, is_new = -1, False
    for group in (*places, count):
        if group is None:
            is_new = True
        elif group not in moved:
            if is_new:
                filled.update(range(before + 1, group))
            before, is_new = group, False
    return frozenset(filled)


def edit_report(
    revision: Revision[Any] | None, outcome: Outcome[Any], *, generation_before: int, generation_after: int
) -> HistoryDump:
    """Report on a request whose history was processed; `revision` is the history before, if it is known."""
    report = HistoryDump(
        outcome=_OUTCOMES[type(outcome)],
        first_change=outcome.first_change if isinstance(outcome, Staged) else None,
        generation_before=generation_before,
        generation_after=generation_after,
        continuation=(_continuation_text(generation_before, generation_after),),
        retentions=() if isinstance(outcome, Skipped) else tuple(map(_retention_text, outcome.retentions)),
    )
    if revision is None:
        return report
    if isinstance(outcome, Skipped):
        return report.model_copy(update={"tokens_before": revision.known_tokens, "tokens_after": revision.known_tokens})
    return _told(report, lambda: _details(revision, outcome))


def _told(report: HistoryDump, details: Callable[[], dict[str, object]]) -> HistoryDump:
    """Add what takes a look at the history; it may raise anything, because a token counter is the user's."""
    try:
        return report.model_copy(update=details())
    except Exception as error:  # noqa: BLE001  # a report breaks no request
        return report.model_copy(update={"notes": (f"The groups cannot be told: {error_text(error)}",)})


def refused_report(error: BaseException, revision: Revision[Any] | None = None, *, generation: int = 0) -> HistoryDump:
    """Report on a request of which nothing was sent, because `error` came while its history was processed.

    The groups are listed if they were found before. A request that was cancelled was not processed.
    """
    if not isinstance(error, Exception):
        note = f"{type(error).__name__} came before it was decided"
        return HistoryDump(
            outcome="not_processed", generation_before=generation, generation_after=generation, notes=(note,)
        )
    violations = error.violations if isinstance(error, HistoryProcessingValidationError) else ()
    report = HistoryDump(
        outcome="refused",
        generation_before=generation,
        generation_after=generation,
        violations=tuple(map(str, violations)) or (error_text(error),),
    )
    if revision is None or not revision.known_spans:
        return report
    return _told(report, lambda: _refused_details(revision, violations))


def reused(report: HistoryDump) -> HistoryDump:
    """Return a report on an edit as that of a later attempt at the same request."""
    return report.model_copy(update={"notes": (*report.notes, "This is the edit of an earlier attempt at the request")})


UNCHAINED: Final = "Late texts went with the request, so it names no response or conversation on the provider's side"
"""What is said of server-side state where a request was assembled."""


def unchained(report: HistoryDump) -> HistoryDump:
    """Return a report as that of a request that was assembled."""
    return report.model_copy(update={"continuation": (UNCHAINED,)})


def _details(revision: Revision[Any], outcome: Unchanged | Staged[Any]) -> dict[str, object]:
    """Look at the groups, sizes and new texts of an edit."""
    decisions = decide(revision.spans, outcome)
    groups = revision.groups
    reasons = [_reason(index, group, decisions) for index, group in enumerate(groups)]
    return {
        "groups": tuple(map(_group_dump, groups, _sizes(revision), decisions.by_group, reasons)),
        "added": tuple(_added_texts(revision, outcome)),
        "tokens_before": revision.estimated_tokens,
        "tokens_after": tokens_after(revision, outcome),
    }


def tokens_after(revision: Revision[Any], outcome: Outcome[Any]) -> int:
    """Return the tokens of the history as it goes out; only what is new or stripped is counted."""
    if not isinstance(outcome, Staged):
        return revision.estimated_tokens
    bare = frozenset(outcome.stripped)
    pairs = zip(outcome.messages, outcome.entries, strict=True)
    return sum(
        revision.count(message) if entry is None or entry in bare else revision.tokens[entry]
        for message, entry in pairs
    )


def _added_texts(revision: Revision[Any], outcome: Unchanged | Staged[Any]) -> list[str]:
    if not isinstance(outcome, Staged):
        return []
    pairs = zip(outcome.messages, outcome.entries, strict=True)
    return [revision.dialect.text(message) for message, entry in pairs if entry is None]


def _sizes(revision: Revision[Any]) -> list[int]:
    return [sum(revision.tokens[span.start : span.end]) for span in revision.spans]


def _group_dump(group: HistoryGroup, tokens: int, decision: GroupDecision, reason: str) -> GroupDump:
    return GroupDump(
        id=group.group_id,
        start=group.entry_start,
        end=group.entry_end,
        tokens=tokens,
        closed=group.closed,
        protected_reasons=tuple(sorted(group.protected_reasons)),
        decision=decision,
        reason=reason,
    )


def _reason(index: int, group: HistoryGroup, decisions: Decisions) -> str:
    match decisions.by_group[index]:
        case "dropped":
            return "dropped by the processor"
        case "replaced":
            return "replaced by the processor: a new message stands in its place"
        case "archived":
            gone = decisions.gone[index]
            return f"{_why_kept(group, decisions)}; {entries_text(gone)} went into an archive, behind a checkpoint"
        case "stripped":
            bare = sorted(decisions.stripped.intersection(range(group.entry_start, group.entry_end)))
            order = ", in another order" if index in decisions.moved else ""
            return f"kept{order}, but {entries_text(bare)} without reasoning, which is bound to what changed before it"
        case "moved":
            return "kept by the processor, in another order"
        case "kept":
            return _why_kept(group, decisions)


def _why_kept(group: HistoryGroup, decisions: Decisions) -> str:
    if ProtectedReason.CURRENT_REQUEST in group.protected_reasons:
        return "current request"
    if group.protected:
        return f"kept: protected by {_listed(sorted(group.protected_reasons))}"
    return "kept: only the archive changed the history" if decisions.archive_only else "kept by the processor"


def _refused_details(revision: Revision[Any], violations: Sequence[Violation]) -> dict[str, object]:
    """The groups as they stay, with the rules that each is to blame for; an archive changes no group's number."""
    groups = revision.groups
    blame: list[dict[str, None]] = [{} for _ in groups]
    for violation in violations:
        for index in violation.groups:
            blame[index][violation.rule] = None
    reasons = [f"to blame for {_listed(list(rules))}" if rules else "nothing was sent" for rules in blame]
    dumps = map(_group_dump, groups, _sizes(revision), _all_kept(len(groups)), reasons)
    return {"groups": tuple(dumps), "tokens_before": revision.estimated_tokens}


def _continuation_text(before: int, after: int) -> str:
    if after > before:
        return (
            f"Rewritten, generation {before} to {after}: response ids and server-owned conversations from before are "
            "not sent, and an automatic chain starts anew"
        )
    if after:
        return (
            f"Generation {after}: response ids and server-owned conversations from before the last rewrite are not "
            "sent; an automatic chain may resume from a response made after it"
        )
    return "Nothing was rewritten in this run, so state on the provider's side may be named"


def _retention_text(found: Retention) -> str:
    """Say what one call of `keep_recent_groups` found."""
    is_over = found.eligible > found.limit
    what = f"{_number(found.eligible, 'group')} could go, the limit is {found.limit}: "
    what += "older ones were left out" if is_over else "nothing was left out"
    if not found.held:
        return what
    held = [f"{group.group_id} ({', '.join(sorted(group.protected_reasons))})" for group in found.held[: SHOWN + 1]]
    stuck = "; every group before the current request is protected" if found.is_stuck else ""
    return f"{what}; {len(found.held)} had to stay: {_listed(held)}{stuck}"


def _number(count: int, word: str) -> str:
    return f"{count} {word}{'s' if count != 1 else ''}"


def _listed(words: Sequence[str]) -> str:
    """Name the first few of many."""
    return ", ".join(words[:SHOWN]) + (", …" if len(words) > SHOWN else "")


def edit_facts(revision: Revision[Any], outcome: Outcome[Any]) -> dict[str, str | int]:
    """Return the numbers of an edit that are known without any further look at the history."""
    facts: dict[str, str | int] = {"outcome": _OUTCOMES[type(outcome)], "entries_before": len(revision.messages)}
    facts["entries_after"] = len(outcome.messages) if isinstance(outcome, Staged) else len(revision.messages)
    if isinstance(outcome, Staged):
        facts["first_change"] = outcome.first_change
    if spans := revision.known_spans:
        counts = decide(spans, outcome).counts()
        facts |= {f"groups_{name}": counts[name] for name in _TOLD if counts[name] or name in _ALWAYS_TOLD}
    if (known := revision.known_tokens) is not None:
        facts["tokens_before"] = known
        if not isinstance(outcome, Staged) or (None not in outcome.entries and not outcome.stripped):
            facts["tokens_after"] = tokens_after(revision, outcome)
    return facts


_ALWAYS_TOLD: tuple[GroupDecision, ...] = ("kept", "dropped", "replaced")
_TOLD: tuple[GroupDecision, ...] = (*_ALWAYS_TOLD, "archived", "stripped", "moved")
