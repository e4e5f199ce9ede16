"""What an edit means for prefix-bound reasoning that stands after it.

The rule: reasoning that stands behind the first changed position was made for another prefix. With `"refuse"` such an
edit is a violation that names the entries; with `"strip"` the reasoning of kept closed groups behind the edit is left
out, whole, and reasoning in the current or an unfinished group still refuses. Source: provider documentation of
preserved thinking; History specification, Editing Boundaries.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

from kedi_compile.errors import Violation, entries_text
from kedi_compile.history.proposal import Proposal
from kedi_compile.history.reasoning import BoundReasoning

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
    bound = bound_entries(proposal)
    if policy == "refuse":
        return Binding(tuple(_refusal(proposal, bound)))
    spans, group_of = proposal.revision.spans, proposal.group_of
    fixed = [entry for entry in bound if not spans[group_of[entry]].closed]
    bare = {entry: _bare(proposal, entry) for entry in bound if entry not in fixed}
    fixed += [entry for entry, message in bare.items() if message is None]
    stripped = tuple((entry, message) for entry, message in bare.items() if message is not None)
    return Binding(tuple(_refusal(proposal, sorted(fixed))), stripped)


def bound_entries(proposal: Proposal[MessageT]) -> list[int]:
    """Return the kept entries behind the first change that hold bound reasoning, ascending."""
    facts = proposal.revision.facts
    late = (item.entry for position, item in proposal.kept if position >= proposal.first_change)
    return sorted({entry for entry in late if facts[entry].bound})


def _bare(proposal: Proposal[MessageT], entry: int) -> MessageT | None:
    revision = proposal.revision
    return revision.dialect.without_reasoning(revision.messages[entry])


def _refusal(proposal: Proposal[MessageT], entries: list[int]) -> list[Violation]:
    if not entries:
        return []
    groups = tuple(sorted({proposal.group_of[entry] for entry in entries}))
    detail = (
        f"Reasoning in {entries_text(entries)} is bound to the messages before it, and the list changes "
        f"at position {proposal.first_change}; keep everything before them, drop their groups, or use "
        "bound_reasoning='strip' for closed groups"
    )
    return [Violation("bound_reasoning", detail, groups, tuple(entries))]
