"""The rules an edited history must keep, one function each; all run, and all that is broken is reported together.

A rule takes a `Proposal` and yields a `Violation` for each breach. `RULES` is the order of the report. `empty_result`
and `not_native` come before any of these and are in `proposal.py`; `bound_reasoning` needs the policy and is in
`binding.py`. Source: History specification, Atomic Groups (Editing Boundaries).
"""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import Any

from kedi_compile.dialect import ProtectedReason, Role
from kedi_compile.errors import Violation, entries_text
from kedi_compile.history.groups import Span
from kedi_compile.history.proposal import Item, Kept, Proposal

AnyProposal = Proposal[Any]
AnyItem = Item[Any]
Rule = Callable[[AnyProposal], Iterator[Violation]]

_HELD_ELSEWHERE = frozenset({ProtectedReason.SYSTEM, ProtectedReason.CURRENT_REQUEST})
"""Reasons whose groups have rules of their own."""

_KEPT_ORDER = "protected groups keep their order"
_KEPT_BETWEEN = "a group stays between its protected neighbours"
_KEPT_WHOLE = "keep the whole group or none of it"


def split_group(proposal: AnyProposal) -> Iterator[Violation]:
    """A group comes back whole and in one piece, or not at all."""
    for index in proposal.groups_back:
        span = proposal.revision.spans[index]
        members = range(span.start, span.end)
        if missing := [entry for entry in members if entry not in proposal.positions]:
            detail = f"{_name(index, span)} came back without {entries_text(missing)}; keep or replace the whole group"
            yield Violation("split_group", detail, (index,), tuple(missing))
            continue
        places = sorted(place for entry in members for place in proposal.positions[entry][:1])
        if places[-1] - places[0] != len(members) - 1:
            detail = f"{_name(index, span)} has other messages between its entries; move it as one piece"
            yield Violation("split_group", detail, (index,), tuple(members))


def reordered_within_group(proposal: AnyProposal) -> Iterator[Violation]:
    """The entries of a group keep their order."""
    for index in proposal.groups_back:
        span = proposal.revision.spans[index]
        back = [entry for entry in range(span.start, span.end) if entry in proposal.positions]
        places = [proposal.positions[entry][0] for entry in back]
        if places != sorted(places):
            detail = f"{_name(index, span)} came back with its entries in another order; keep that of `ctx.messages`"
            yield Violation("reordered_within_group", detail, (index,), tuple(back))


def duplicated_entry(proposal: AnyProposal) -> Iterator[Violation]:
    """No entry comes back twice."""
    for entry, places in proposal.positions.items():
        if len(places) > 1:
            listed = ", ".join(map(str, places))
            detail = f"Entry {entry} stands {len(places)} times in the returned list, at {listed}; once is right"
            yield Violation("duplicated_entry", detail, (proposal.group_of[entry],), (entry,))


def altered_entry(proposal: AnyProposal) -> Iterator[Violation]:
    """An entry that comes back is what it was."""
    for entry in sorted({item.entry for _, item in proposal.kept if item.altered}):
        index = proposal.group_of[entry]
        span = proposal.revision.spans[index]
        detail = f"Entry {entry} of {_name(index, span)} was changed; return it as it was or replace the whole group"
        yield Violation("altered_entry", detail, (index,), (entry,))


def protected_removed(proposal: AnyProposal) -> Iterator[Violation]:
    """A protected group is not left out."""
    for index, span in enumerate(proposal.revision.spans):
        if not span.reasons or not span.reasons - _HELD_ELSEWHERE or _is_back(proposal, span):
            continue
        detail = f"{_name(index, span)} is missing, but is protected by {_reasons(span)}; it must stay"
        yield Violation("protected_removed", detail, (index,), tuple(range(span.start, span.end)))


def protected_moved(proposal: AnyProposal) -> Iterator[Violation]:
    """Protected groups keep their order, and the others stay between the same protected neighbours."""
    spans = proposal.revision.spans
    first = dict(_group_places(proposal))
    walls = [index for index, span in enumerate(spans) if span.reasons and index in first]
    for before, after in pairwise(walls):
        if first[before] > first[after]:
            detail = f"{_name(after, spans[after])} moved before {_name(before, spans[before])}; {_KEPT_ORDER}"
            yield Violation("protected_moved", detail, (before, after))
    places = sorted(first[wall] for wall in walls)
    for index, place in first.items():
        passed = bisect_left(places, place)
        if not spans[index].reasons and passed != bisect_left(walls, index):
            wall = walls[min(passed, len(walls) - 1)] if passed < bisect_left(walls, index) else walls[passed - 1]
            detail = f"{_name(index, spans[index])} moved past {_name(wall, spans[wall])}; {_KEPT_BETWEEN}"
            yield Violation("protected_moved", detail, (index, wall))


def current_request_altered(proposal: AnyProposal) -> Iterator[Violation]:
    """The current request and the cycle it belongs to stay whole, unchanged and last."""
    index = len(proposal.revision.spans) - 1
    span = proposal.revision.spans[index]
    members = range(span.start, span.end)
    tail = proposal.items[-len(members) :]
    for entry, item in zip(members, tail, strict=False):
        if item != Kept(entry, altered=False):
            detail = (
                f"{_name(index, span)} is the current request and must stay as it is at the end; "
                f"entry {entry} is not in its place or was changed"
            )
            yield Violation("current_request_altered", detail, (index,), (entry,))
            return
    if len(tail) < len(members):
        detail = f"{_name(index, span)} is the current request; only {len(tail)} of its entries came back"
        yield Violation("current_request_altered", detail, (index,), tuple(members))


def system_altered(proposal: AnyProposal) -> Iterator[Violation]:
    """System entries stay as they are, and nothing is put before leading ones."""
    facts = proposal.revision.facts
    changed = {item.entry for _, item in proposal.kept if item.altered}
    for entry, fact in enumerate(facts):
        if not fact.holds_system or (entry in proposal.positions and entry not in changed):
            continue
        detail = (
            f"Entry {entry} holds system text and was {'changed' if entry in changed else 'left out'}; keep it as it is"
        )
        yield Violation("system_altered", detail, (proposal.group_of[entry],), (entry,))
    if facts[0].holds_system and 0 in proposal.positions and proposal.positions[0][0] != 0:
        detail = f"{proposal.positions[0][0]} messages stand before the leading system entries; put them after"
        yield Violation("system_altered", detail, (0,), (0,))
    yield from _flaws(proposal, "system_altered")


def orphan_tool_result(proposal: AnyProposal) -> Iterator[Violation]:
    """A tool result that had its call before it still has."""
    first = {entry: places[0] for entry, places in proposal.positions.items()}
    for call in proposal.revision.pairing.calls:
        if call.answer not in first or first.get(call.entry, len(proposal.items)) < first[call.answer]:
            continue
        what = "after its result" if call.entry in first else "missing"
        answer = f"Entry {call.answer} answers tool call {call.call_id!r}"
        detail = f"{answer}, whose entry {call.entry} is {what}; {_KEPT_WHOLE}"
        group = proposal.group_of[call.answer]
        yield Violation("orphan_tool_result", detail, (group,), (call.answer,), call.call_id)


def unanswered_tool_call(proposal: AnyProposal) -> Iterator[Violation]:
    """A tool call that had its result still has."""
    for call in proposal.revision.pairing.calls:
        if call.answer is None or call.entry not in proposal.positions or call.answer in proposal.positions:
            continue
        kept = f"Entry {call.entry} keeps tool call {call.call_id!r}"
        detail = f"{kept} but not its result, entry {call.answer}; {_KEPT_WHOLE}"
        group = proposal.group_of[call.entry]
        yield Violation("unanswered_tool_call", detail, (group,), (call.entry,), call.call_id)


def fabricated_record(proposal: AnyProposal) -> Iterator[Violation]:
    """A new message holds text and nothing else."""
    yield from _flaws(proposal, "fabricated_record")


def blank_text(proposal: AnyProposal) -> Iterator[Violation]:
    """A new message says something."""
    yield from _flaws(proposal, "blank_text")


def unencodable_text(proposal: AnyProposal) -> Iterator[Violation]:
    """A new message can be written as UTF-8."""
    yield from _flaws(proposal, "unencodable_text")


def turn_order(proposal: AnyProposal) -> Iterator[Violation]:
    """The request comes last, no result or answer comes first, and no answer follows an answer of somebody else."""
    if _entry_of(proposal.items[-1]) != len(proposal.revision.facts) - 1:
        yield Violation("turn_order", "The returned list does not end with the current request, `ctx.messages[-1]`")
    said = [(place, item) for place, item in enumerate(proposal.items) if _role(proposal, item) != "system"]
    before = next((fact.role for fact in proposal.revision.facts if fact.role != "system"), "user")
    if said and (first := _role(proposal, said[0][1])) not in ("user", before):
        detail = (
            f"The conversation would begin with returned message {said[0][0]}, of the {first}; a user's comes first"
        )
        yield Violation("turn_order", detail, *_places(proposal, said[0][1]))
    for (_, earlier), (place, later) in pairwise(said):
        if _role(proposal, earlier) == _role(proposal, later) == "assistant" and not _follows(proposal, earlier, later):
            detail = (
                f"Returned message {place} is an answer directly behind another answer; put a user text between them"
            )
            yield Violation("turn_order", detail, *_places(proposal, later))


RULES: tuple[Rule, ...] = (
    split_group,
    reordered_within_group,
    duplicated_entry,
    altered_entry,
    protected_removed,
    protected_moved,
    current_request_altered,
    system_altered,
    orphan_tool_result,
    unanswered_tool_call,
    fabricated_record,
    blank_text,
    unencodable_text,
    turn_order,
)


def broken_rules(proposal: AnyProposal) -> list[Violation]:
    """Return every violation, in the order of `RULES`."""
    return [violation for rule in RULES for violation in rule(proposal)]


def _flaws(proposal: AnyProposal, rule: str) -> Iterator[Violation]:
    for position, item in proposal.added:
        if item.flaw is not None and item.flaw.rule == rule:
            yield Violation(rule, f"Returned message {position} is new and {item.flaw.detail}")


def _group_places(proposal: AnyProposal) -> Iterator[tuple[int, int]]:
    """Yield each group that came back, with the position of its first entry there."""
    for index in proposal.groups_back:
        members = range(*proposal.revision.spans[index][:2])
        yield index, min(proposal.positions[entry][0] for entry in members if entry in proposal.positions)


def _is_back(proposal: AnyProposal, span: Span) -> bool:
    return any(entry in proposal.positions for entry in range(span.start, span.end))


def _entry_of(item: object) -> int | None:
    return item.entry if isinstance(item, Kept) else None


def _role(proposal: AnyProposal, item: AnyItem) -> Role:
    if isinstance(item, Kept):
        return proposal.revision.facts[item.entry].role
    return proposal.revision.dialect.describe(item.message).role


def _follows(proposal: AnyProposal, earlier: AnyItem, later: AnyItem) -> bool:
    """Whether one answer came right behind the other before, or both are new."""
    old, new = _entry_of(earlier), _entry_of(later)
    if old is None or new is None:
        return old is new
    return old < new and all(fact.role == "system" for fact in proposal.revision.facts[old + 1 : new])


def _places(proposal: AnyProposal, item: AnyItem) -> tuple[tuple[int, ...], tuple[int, ...]]:
    entry = _entry_of(item)
    return ((), ()) if entry is None else ((proposal.group_of[entry],), (entry,))


def _name(index: int, span: Span) -> str:
    return f"Group {index} (entries {span.start}:{span.end})"


def _reasons(span: Span) -> str:
    return ", ".join(sorted(span.reasons))
