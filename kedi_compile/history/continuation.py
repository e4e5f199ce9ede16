"""Which server-side state a request may still refer to after a rewrite.

The rule: once a rewrite is staged, no later request of the run may name a fixed response id or a server-owned
conversation from before it, or the server would bring removed history back; an automatic chain may resume from a
response made after the rewrite. Which settings hold such ids is the adapters' business. Source: History
specification, Persistence and Continuation.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

STATE_KEYS: Final = frozenset({"previous_response_id", "conversation", "previous_interaction_id"})
"""Fields of a provider's request that name server-side state."""


@dataclass(frozen=True, slots=True)
class Continuation:
    """The generation of a run and what follows from it; a value, replaced at each staged or undone rewrite."""

    generation: int = 0

    @property
    def may_name_old_state(self) -> bool:
        """Whether fixed response ids and server conversations may still be sent."""
        return self.generation == 0

    def rewritten(self) -> Continuation:
        """Return the continuation after one more rewrite."""
        return replace(self, generation=self.generation + 1)
