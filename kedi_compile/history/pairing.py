"""Which tool result answers which tool call, by occurrence.

The rule: walk the entries in order; a result answers the oldest open call with its id. A call that uses an id anew
while an older call with it is still open takes the id over, and the older one stays unanswered. An id that was
answered may start a new pair. "Some id matches" is not pairing.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kedi_compile.dialect import MessageFacts


class Call(NamedTuple):
    """One tool call occurrence; `answer` is the 0-based entry index of its result, or None."""

    call_id: str
    entry: int
    answer: int | None


class Pairing(NamedTuple):
    """All calls of a history in order, and the results that answer none, as `(entry index, id)`."""

    calls: tuple[Call, ...]
    orphans: tuple[tuple[int, str], ...]


def pair(facts: Sequence[MessageFacts]) -> Pairing:
    """Pair the calls and results of a history."""
    calls: list[tuple[str, int]] = []
    answers: list[int | None] = []
    orphans: list[tuple[int, str]] = []
    waiting: dict[str, list[int]] = {}
    for index, fact in enumerate(facts):
        for call_id in fact.calls:
            queue = waiting.setdefault(call_id, [])
            if queue and calls[queue[0]][1] != index:
                queue.clear()
            queue.append(len(calls))
            calls.append((call_id, index))
            answers.append(None)
        for call_id in fact.results:
            if queue := waiting.get(call_id, []):
                answers[queue.pop(0)] = index
            else:
                orphans.append((index, call_id))
    paired = tuple(Call(call_id, entry, answer) for (call_id, entry), answer in zip(calls, answers, strict=True))
    return Pairing(paired, tuple(orphans))
