"""The phase of the work, from the tool calls that were observed; never from words in a message.

The rule: all mapped calls of the task epoch are of one phase, and that is it; of several, and it is `mixed`; of none,
and there is no phase. So a phase never flips back and forth within an epoch. Source: Assembly specification, Contract
selection policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum


class Phase(StrEnum):
    """What the work is about right now."""

    EXPLORE = "explore"
    PLAN = "plan"
    IMPLEMENT = "implement"
    VERIFY = "verify"
    MIXED = "mixed"


@dataclass(frozen=True, slots=True)
class ObservedPhase:
    """A phase, None for none, and why."""

    phase: Phase | None
    reason: str


def observe_phase(calls: Iterable[str], tool_phases: Mapping[str, Phase]) -> ObservedPhase:
    """Return the phase of an epoch in which the tools named by `calls` were called, in order."""
    seen: dict[Phase, list[str]] = {}
    for name in calls:
        if (phase := tool_phases.get(name)) is not None and name not in seen.setdefault(phase, []):
            seen[phase].append(name)
    if not seen:
        return ObservedPhase(None, "no tool with a phase was called")
    if len(seen) == 1:
        phase, names = seen.popitem()
        return ObservedPhase(phase, f"observed from calls of {', '.join(names)}")
    found = "; ".join(f"{', '.join(names)} ({phase})" for phase, names in seen.items())
    return ObservedPhase(Phase.MIXED, f"observed from calls of {found}")
