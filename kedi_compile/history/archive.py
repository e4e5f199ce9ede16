"""Which tool exchanges of the running cycle are archived, and the checkpoint that takes their place.

The rule: an exchange is an assistant message with tool calls and all their results, or several where a result answers
calls of more than one. It may be archived if it is complete, stands before the recent tail, and none of its entries is
protected or holds bound reasoning or a user's words. Only the running cycle is looked at: a closed one is a group,
which a processor may drop or replace as a whole, and a checkpoint in it would protect it for good. The checkpoint
stands right behind the cycle's opening request and the checkpoints that are there, on the user's side: no group
boundary moves, and no two answers stand in a row, which some providers refuse. Nothing here stores anything. Source:
History specification, Atomic Groups (`history_archive=`).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Final, Generic, NamedTuple, TypeVar

from kedi_compile.dialect import EntryKind, MessageFacts
from kedi_compile.history.archive_record import READ_ARCHIVE
from kedi_compile.history.archive_settings import HistoryArchiveSettings
from kedi_compile.history.pairing import Call
from kedi_compile.history.proposal import Added, Item, Kept, Proposal
from kedi_compile.history.revision import Revision

MessageT = TypeVar("MessageT")

Exchange = tuple[int, ...]
"""The entries of one completed tool exchange, ascending."""

_KINDS: Final = frozenset({EntryKind.ASSISTANT, EntryKind.TOOL_RESULT})


class ArchivePlan(NamedTuple):
    """What may be archived, and before which entry the checkpoint goes."""

    exchanges: tuple[Exchange, ...]
    place: int

    @property
    def entries(self) -> list[int]:
        """All entries of the exchanges, ascending."""
        return sorted(entry for exchange in self.exchanges for entry in exchange)


class Outcomes(Generic[MessageT]):
    """How often each tool of archived entries succeeded and failed."""

    def __init__(self, revision: Revision[MessageT], entries: Sequence[int]) -> None:
        self.ok: Counter[str] = Counter()
        self.failed: Counter[str] = Counter()
        names: dict[str | None, str] = {}
        for entry in entries:
            self._count(revision, entry, names)

    def _count(self, revision: Revision[MessageT], entry: int, names: dict[str | None, str]) -> None:
        message = revision.messages[entry]
        failed = Counter(revision.dialect.failed_calls(message))
        for _, origins in revision.dialect.origins(message, None, None):
            for origin in origins:
                if origin.kind == "tool-call" and origin.tool_name is not None:
                    names[origin.tool_call_id] = origin.tool_name
        for call_id in revision.facts[entry].results:
            tally = self.failed if failed[call_id] else self.ok
            failed[call_id] -= bool(failed[call_id])
            tally[names.get(call_id, "a tool")] += 1

    def __str__(self) -> str:
        return "; ".join(self._lines())

    def _lines(self) -> Iterator[str]:
        for name in dict.fromkeys([*self.ok, *self.failed]):
            counts = [f"{tally[name]} {word}" for tally, word in ((self.ok, "ok"), (self.failed, "failed"))]
            yield f"{name} {', '.join(count for count in counts if not count.startswith('0 '))}"


def plan_archive(revision: Revision[Any], settings: HistoryArchiveSettings) -> ArchivePlan | None:
    """Return what the settings say is to be archived now, or None."""
    if not revision.messages or revision.estimated_tokens <= settings.threshold_tokens:
        return None
    exchanges = tuple(find_exchanges(revision, _tail_start(revision.tokens, settings.preserve_recent_tokens)))
    if not exchanges:
        return None
    plan = ArchivePlan(exchanges, _place(revision))
    saved = sum(revision.tokens[entry] for entry in plan.entries)
    return plan if saved >= settings.minimum_reduction_tokens else None


def find_exchanges(revision: Revision[Any], end: int) -> Iterator[Exchange]:
    """Yield the exchanges of the running cycle that may be archived and stand before entry `end`, in order."""
    calls, orphans = revision.pairing
    unsettled = {entry for entry, _ in orphans} | {call.entry for call in calls if call.answer is None}
    for exchange in _answered(calls, revision.spans[-1].start):
        is_over = exchange[-1] < end and unsettled.isdisjoint(exchange)
        if is_over and all(_may_go(revision.facts[entry]) for entry in exchange):
            yield exchange


def _answered(calls: Sequence[Call], start: int) -> list[Exchange]:
    """The entries from `start` on that belong together because calls and results do, in order."""
    together: dict[int, set[int]] = {}
    for _, entry, answer in calls:
        if entry >= start and answer is not None:
            joined = {entry, answer} | together.get(entry, set()) | together.get(answer, set())
            together.update(dict.fromkeys(joined, joined))
    return sorted({tuple(sorted(entries)) for entries in together.values()})


def _may_go(fact: MessageFacts) -> bool:
    return fact.kind in _KINDS and not (fact.reasons or fact.bound or fact.authored or fact.holds_system)


def _tail_start(tokens: Sequence[int], preserved: int) -> int:
    """The first entry of the recent tail, which holds at least the current request."""
    behind = 0
    for entry in range(len(tokens) - 1, -1, -1):
        behind += tokens[entry]
        if behind >= preserved:
            return entry
    return 0


def _place(revision: Revision[Any]) -> int:
    """The entry the checkpoint goes before: behind the opening request, and the checkpoints that are there."""
    span = revision.spans[-1]
    return next(entry for entry in range(span.start, span.end) if revision.facts[entry].role != "user")


def checkpoint_text(revision: Revision[Any], plan: ArchivePlan, reference: str) -> str:
    """Say what a checkpoint stands for, and how it is read back."""
    exchanges, entries = len(plan.exchanges), len(plan.entries)
    return (
        f"Archived {exchanges} completed tool exchange{'s' if exchanges != 1 else ''} ({entries} messages) of this "
        f"task, unchanged. Outcomes: {Outcomes(revision, plan.entries)}. "
        f"To read them back: {READ_ARCHIVE}(reference={reference!r}, page=1)."
    )


def propose_archive(
    revision: Revision[MessageT], plan: ArchivePlan, checkpoint: MessageT | None = None
) -> Proposal[MessageT]:
    """Return the history with the plan carried out; without a checkpoint it is only good for judging the plan."""
    gone = set(plan.entries)
    items: list[Item[Any]] = []
    for entry in range(len(revision.messages)):
        if entry == plan.place:
            items.append(Added(checkpoint, None))
        if entry not in gone:
            items.append(Kept(entry, altered=False))
    return Proposal(revision, tuple(items))
