"""Provider-measured usage, bound to the exact history it was measured on.

The rule: the input and output tokens of the last response count for a later history only if that history begins with
exactly the measured messages and the response; tool results appended after it are added by estimate. Any edit, reorder
or foreign message makes the measurement void. Binding costs a look at every byte, so it begins when a callback of the
run first asks. Source: History specification, Context Budget Accounting.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

from kedi_compile.canonical import combine
from kedi_compile.history.revision import Revision

MessageT = TypeVar("MessageT")


@dataclass(frozen=True, slots=True)
class UsageCheckpoint:
    """Measured tokens (input plus output) of a history of `length` messages with the given digest."""

    tokens: int
    digest: bytes
    length: int


class UsageMeter(Generic[MessageT]):
    """The usage checkpoint of one run, and whether a callback has asked for it."""

    def __init__(self, checkpoint: UsageCheckpoint | None = None, *, is_asked: bool = False) -> None:
        self.checkpoint = checkpoint
        self.is_asked = is_asked
        self._seen: Revision[MessageT] | None = None

    def bind(self, tokens: int | None, measured: Callable[[], Revision[MessageT]]) -> None:
        """Bind `tokens` to the `measured` history, which ends with the response; forget an older measurement.

        A message that was looked at before the request is not looked at again: if it changed meanwhile, the digest from
        before fits neither what was sent nor what is there now, and the measurement is void as it should be.
        """
        self.checkpoint = None
        if tokens is not None and self.is_asked:
            revision = measured()
            digests = self._digests(revision)
            self.checkpoint = UsageCheckpoint(tokens, combine(digests), len(digests))
        self._seen = None

    def _digests(self, revision: Revision[MessageT]) -> list[bytes]:
        seen = self._seen
        if seen is None:
            return revision.digests
        # The last one seen is the current request, which the host goes on completing.
        known = {id(message): found for message, found in zip(seen.messages[:-1], seen.digests, strict=False)}
        return [known.get(id(message)) or revision.dialect.digest(message) for message in revision.messages]

    def measure(self, revision: Revision[MessageT]) -> int | None:
        """Return the measured tokens of `revision`, or None where the checkpoint says nothing about it."""
        self.is_asked = True
        known = self.checkpoint
        if known is None or len(revision.messages) < known.length:
            return None
        if not all(fact.results for fact in revision.facts[known.length :]):
            return None
        self._seen = revision
        if combine(revision.digests[: known.length]) != known.digest:
            return None
        return known.tokens + sum(revision.tokens[known.length :])
