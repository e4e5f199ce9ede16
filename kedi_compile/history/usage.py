"""Provider-measured usage, bound to the exact history it was measured on.

The rule: the input and output tokens of the last response count for a later history only if that history begins with
exactly the measured messages and the response; tool results appended after it are added by estimate. Any edit, reorder
or foreign message makes the measurement void. Source: History specification, Context Budget Accounting.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import is_
from typing import Generic, TypeVar

from kedi_compile.history.memory import Row
from kedi_compile.history.revision import Revision

MessageT = TypeVar("MessageT")


@dataclass(frozen=True, slots=True)
class UsageCheckpoint(Generic[MessageT]):
    """Measured tokens (input plus output) of a history, whose rows say what it was."""

    tokens: int
    rows: tuple[Row[MessageT], ...]


def bind_usage(revision: Revision[MessageT], tokens: int) -> UsageCheckpoint[MessageT]:
    """Bind `tokens` to a history that ends with the response they were reported for.

    The host still stamps the last request and the response, so these two are bound by their digest.
    """
    for row in revision.rows[-2:]:
        row.digest(revision.dialect)
    return UsageCheckpoint(tokens, tuple(revision.rows))


def measured_tokens(checkpoint: UsageCheckpoint[MessageT] | None, revision: Revision[MessageT]) -> int | None:
    """Return the measured tokens of `revision`, or None where the checkpoint says nothing about it."""
    if checkpoint is None or len(revision.rows) < len(checkpoint.rows):
        return None
    count = len(checkpoint.rows)
    if not all(map(is_, checkpoint.rows[:-2], revision.rows)):
        return None
    if not all(
        new.digest(revision.dialect) == old.digest(revision.dialect) for new, old in _tail(checkpoint, revision)
    ):
        return None
    if not all(fact.results for fact in revision.facts[count:]):
        return None
    return checkpoint.tokens + sum(revision.tokens[count:])


def _tail(
    checkpoint: UsageCheckpoint[MessageT], revision: Revision[MessageT]
) -> Iterator[tuple[Row[MessageT], Row[MessageT]]]:
    count = len(checkpoint.rows)
    return zip(revision.rows[max(0, count - 2) : count], checkpoint.rows[-2:], strict=True)
