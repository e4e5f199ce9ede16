"""Atomic groups: complete user/assistant cycles with their tool exchanges.

The rule: a cycle opens at a user-authored entry and ends before the next one. Leading system entries, and those
between cycles, form protected groups of their own; one inside a cycle belongs to it. Entries that hold a tool result
open nothing, nor does user content while a call waits for a result that comes later. Consecutive user entries before
any answer are one cycle. Groups partition the entries. Source: History specification, Atomic Groups.
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from kedi_compile.dialect import EntryKind, HistoryOrigin, MessageFacts, ProtectedReason
from kedi_compile.history.pairing import Call, Pairing


@dataclass(frozen=True, slots=True)
class HistoryGroup:
    """A span of entries that is kept, dropped or replaced as a whole.

    `entry_start` and `entry_end` are the half-open range `[start, end)` into `ctx.messages`. `closed` means: every
    call answered, ends with an assistant entry, not interrupted, not the current request. `group_id` stays the same
    for a group across the requests of a run.
    """

    group_id: str
    entry_start: int
    entry_end: int
    closed: bool
    protected_reasons: frozenset[ProtectedReason]
    origins: tuple[HistoryOrigin, ...]

    @property
    def protected(self) -> bool:
        """Whether the group must stay as it is; `protected_reasons` says why."""
        return bool(self.protected_reasons)

    @property
    def eligible(self) -> bool:
        """Whether the group may be dropped, replaced or moved: closed and not protected."""
        return self.closed and not self.protected_reasons


class Span(NamedTuple):
    """A group before its name and origins are known: `[start, end)`, and what makes it up."""

    start: int
    end: int
    closed: bool
    reasons: frozenset[ProtectedReason]


def find_spans(facts: Sequence[MessageFacts], pairing: Pairing, *, merges_requests: bool) -> list[Span]:
    """Partition the entries into spans, in order; the last span is the current request."""
    starts = list(_starts(facts, pairing, merges_requests=merges_requests))
    ends = [*starts[1:], len(facts)] if starts else []
    open_entries = sorted({call.entry for call in pairing.calls if call.answer is None})
    spans = []
    for start, end in zip(starts, ends, strict=True):
        pending = _any_between(open_entries, start, end)
        spans.append(_span(facts, start, end, pending=pending, current=end == len(facts)))
    return spans


def _starts(facts: Sequence[MessageFacts], pairing: Pairing, *, merges_requests: bool) -> Iterator[int]:
    """Yield the index of each span's first entry.

    `settled` is the last entry that answers a call of the running cycle: user content before it opens nothing.
    """
    answers = _last_answers(pairing.calls, len(facts))
    openers = _openers(facts, merges_requests=merges_requests)
    in_system = True
    asked_only = False
    settled = -1
    for index, fact in enumerate(facts):
        if _is_system(fact):
            follower = _next_conversational(facts, index)
            if follower is None or in_system or (openers[follower] and settled < follower):
                if index == 0 or not in_system:
                    yield index
                in_system = True
            continue
        if in_system or (openers[index] and settled < index and not asked_only):
            yield index
            asked_only, in_system = True, False
        asked_only = asked_only and fact.role == "user"
        settled = max(settled, answers[index])


def _is_system(fact: MessageFacts) -> bool:
    return fact.kind is EntryKind.SYSTEM


def _openers(facts: Sequence[MessageFacts], *, merges_requests: bool) -> list[bool]:
    """Tell for each entry whether it is user content apart from any tool result."""
    out = []
    after_result = False
    for fact in facts:
        shares = bool(fact.results) or (after_result and merges_requests)
        out.append(fact.authored and not shares)
        after_result = fact.role != "assistant" and shares
    return out


def _next_conversational(facts: Sequence[MessageFacts], index: int) -> int | None:
    return next((place for place in range(index + 1, len(facts)) if not _is_system(facts[place])), None)


def _last_answers(calls: Sequence[Call], count: int) -> list[int]:
    """For each entry, the index of the last entry that answers one of its calls, or -1."""
    out = [-1] * count
    for call in calls:
        if call.answer is not None:
            out[call.entry] = max(out[call.entry], call.answer)
    return out


def _any_between(ordered: Sequence[int], start: int, end: int) -> bool:
    place = bisect_left(ordered, start)
    return place < len(ordered) and ordered[place] < end


def _span(facts: Sequence[MessageFacts], start: int, end: int, *, pending: bool, current: bool) -> Span:
    reasons: set[ProtectedReason] = set()
    for fact in facts[start:end]:
        if fact.reasons:
            reasons |= fact.reasons
    if pending:
        reasons.add(ProtectedReason.PENDING_TOOL_CALL)
    answered = facts[end - 1].role == "assistant"
    if current:
        reasons.add(ProtectedReason.CURRENT_REQUEST)
    elif not answered and not all(map(_is_system, facts[start:end])):
        reasons.add(ProtectedReason.UNFINISHED)
    closed = answered and not (pending or current or ProtectedReason.UNFINISHED in reasons)
    return Span(start, end, closed, frozenset(reasons))
