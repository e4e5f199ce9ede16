"""The phase of the work, from the tool calls that were observed; never from words in a message.

The rule: all mapped calls of the task epoch are of one phase, and that is it; of several, and it is `mixed`, which
stands for each of them; of none, and there is no phase. So a phase never flips back and forth within an epoch, and what
applied in it goes on applying. Source: Assembly specification, Contract selection policy.
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
    """A phase, None for none, and why; where it is `mixed`, `parts` are the phases it is mixed of."""

    phase: Phase | None
    reason: str
    parts: frozenset[Phase] = frozenset()

    @property
    def phases(self) -> frozenset[Phase]:
        """Every phase that selects contracts: the phase itself, and what it is mixed of."""
        return self.parts if self.phase is None else self.parts | {self.phase}


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
    return ObservedPhase(Phase.MIXED, f"observed from calls of {found}", frozenset(seen))
