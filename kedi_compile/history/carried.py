"""What one session hands to the next of the same conversation, as a value and as plain data.

A host may keep it between requests (a graph's state), a conversation between turns. Source: History specification,
Persistence and Continuation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kedi_compile.history.usage import UsageCheckpoint


@dataclass(frozen=True, slots=True)
class Carried:
    """What a session takes over from the one before.

    `generation` counts the rewrites so far. `usage` is the last measured count, None where none holds; `asks_usage`
    says whether anybody has asked for one, as only then it is measured. `may_warn` is False once something was freed in
    the run, or it was warned that nothing could be.
    """

    generation: int = 0
    usage: UsageCheckpoint | None = None
    asks_usage: bool = False
    may_warn: bool = True

    def to_plain(self) -> dict[str, Any]:
        """Return it as plain values that any store can hold."""
        usage = self.usage and {
            "tokens": self.usage.tokens,
            "digest": self.usage.digest.hex(),
            "length": self.usage.length,
        }
        return {
            "generation": self.generation,
            "usage": usage,
            "asks_usage": self.asks_usage,
            "may_warn": self.may_warn,
        }

    @classmethod
    def from_plain(cls, plain: Mapping[str, Any]) -> Carried:
        """Read back what `to_plain` returned; what is missing is as in a new run."""
        known = plain.get("usage")
        usage = UsageCheckpoint(known["tokens"], bytes.fromhex(known["digest"]), known["length"]) if known else None
        return cls(
            int(plain.get("generation", 0)),
            usage,
            bool(plain.get("asks_usage", False)),
            bool(plain.get("may_warn", True)),
        )
