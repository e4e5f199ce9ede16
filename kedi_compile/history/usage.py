"""Provider-measured usage, bound to the exact history it was measured on.

The rule: the input and output tokens of the last response count for a later history only if that history begins with
exactly the measured messages and the response; tool results appended after it are added by estimate. Any edit, reorder
or foreign message makes the measurement void. Source: History specification, Context Budget Accounting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar

from kedi_compile.canonical import combine
from kedi_compile.history.revision import Revision

MessageT = TypeVar("MessageT")


@dataclass(frozen=True, slots=True)
class UsageCheckpoint:
    """Measured tokens (input plus output) of a history of `length` messages with the given digest."""

    tokens: int
    digest: bytes
    length: int


def bind_usage(revision: Revision[MessageT], tokens: int) -> UsageCheckpoint:
    """Bind `tokens` to a history that ends with the response they were reported for."""
    return UsageCheckpoint(tokens, combine(revision.digests), len(revision.messages))


def measured_tokens(checkpoint: UsageCheckpoint | None, revision: Revision[MessageT]) -> int | None:
    """Return the measured tokens of `revision`, or None where the checkpoint says nothing about it."""
    if checkpoint is None or len(revision.messages) < checkpoint.length:
        return None
    if not all(fact.results for fact in revision.facts[checkpoint.length :]):
        return None
    if combine(revision.digests[: checkpoint.length]) != checkpoint.digest:
        return None
    return checkpoint.tokens + sum(revision.tokens[checkpoint.length :])
