"""What an edit means for prefix-bound reasoning that stands after it.

The rule: reasoning that stands behind the first changed position was made for another prefix. With `"refuse"` such an
edit is a violation that names the entries; with `"strip"` the reasoning of kept closed groups behind the edit is left
out, whole, and reasoning in the current or an unfinished group still refuses. Source: provider documentation of
preserved thinking; History specification, Editing Boundaries.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

from kedi_compile.errors import Violation, entries_text
from kedi_compile.history.proposal import Proposal
from kedi_compile.history.reasoning import BoundReasoning
from kedi_compile.history.revision import Revision

MessageT = TypeVar("MessageT")


@dataclass(frozen=True, slots=True)
class Binding(Generic[MessageT]):
    """The consequence of an edit: what refuses it, and which entries go out without their reasoning."""

    violations: tuple[Violation, ...] = ()
    stripped: tuple[tuple[int, MessageT], ...] = ()
    """(entry index, the message without its reasoning)"""


def resolve_binding(proposal: Proposal[MessageT], policy: BoundReasoning | None) -> Binding[MessageT]:
    """Apply `policy` to the kept reasoning behind the first change; None means the model does not bind."""
    if policy is None:
        return Binding()
    change = f"the messages before it, and the list changes at position {proposal.first_change}"
    return _resolved(proposal.revision, bound_entries(proposal), policy, change)


def unbind(revision: Revision[MessageT], policy: BoundReasoning) -> Binding[MessageT]:
    """Apply `policy` to all bound reasoning of a history whose earlier requests held assembled texts.

    Those texts leave with the run they were made for, so everything before the reasoning changes.
    """
    bound = [entry for entry, fact in enumerate(revision.facts) if fact.bound]
    return _resolved(revision, bound, policy, "what was assembled around it, which a new run does not send again")


def _resolved(revision: Revision[MessageT], bound: list[int], policy: BoundReasoning, change: str) -> Binding[MessageT]:
    """Refuse all of it, or leave out what stands in closed groups and refuse the rest."""
    group_of = [group for group, span in enumerate(revision.spans) for _ in range(span.start, span.end)]
    if policy == "refuse":
        return Binding(tuple(_refusal(bound, group_of, change)))
    fixed = [entry for entry in bound if not revision.spans[group_of[entry]].closed]
    bare = {entry: _bare(revision, entry) for entry in bound if entry not in fixed}
    fixed += [entry for entry, message in bare.items() if message is None]
    stripped = tuple((entry, message) for entry, message in bare.items() if message is not None)
    return Binding(tuple(_refusal(sorted(fixed), group_of, change)), stripped)


def bound_entries(proposal: Proposal[MessageT]) -> list[int]:
    """Return the kept entries behind the first change that hold bound reasoning, ascending."""
    facts = proposal.revision.facts
    late = (item.entry for position, item in proposal.kept if position >= proposal.first_change)
    return sorted({entry for entry in late if facts[entry].bound})


def _bare(revision: Revision[MessageT], entry: int) -> MessageT | None:
    return revision.dialect.without_reasoning(revision.messages[entry])


def _refusal(entries: list[int], group_of: Sequence[int], change: str) -> list[Violation]:
    if not entries:
        return []
    groups = tuple(sorted({group_of[entry] for entry in entries}))
    detail = (
        f"Reasoning in {entries_text(entries)} is bound to {change}; keep everything before them, drop their groups, "
        "or use bound_reasoning='strip' for closed groups"
    )
    return [Violation("bound_reasoning", detail, groups, tuple(entries))]
