"""Step 1: which records a turn reads, in which order.

The order is the request's, else the branch's; never the time of creation. Every id must be there, each once. Source:
Turn specification, D2 (Resolve and validate the history view).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from kedi_compile.errors import TurnCompileError

from .branch import Branch, ids_of
from .records import Message


def select(branch: Branch, progression: Iterable[UUID] | None) -> list[Message]:
    """Return the records a turn reads, in reading order.

    Raises:
        TurnCompileError: ids are missing from the branch, or occur more than once; every such id is named.
    """
    order = ids_of(branch.progression if progression is None else progression)
    messages = branch.msgs.messages
    _refuse_missing(order, messages)
    _refuse_repeated(order)
    return [messages[record_id] for record_id in order]


def _refuse_missing(order: Sequence[UUID], messages: Mapping[UUID, Message]) -> None:
    missing = list(dict.fromkeys(record_id for record_id in order if record_id not in messages))
    if missing:
        raise TurnCompileError(
            f"The progression names {len(missing)} record(s) that the branch does not hold: {_listed(missing)}",
            record_ids=missing,
        )


def _refuse_repeated(order: Sequence[UUID]) -> None:
    repeated = [record_id for record_id, count in Counter(order).items() if count > 1]
    if repeated:
        raise TurnCompileError(
            f"The progression names {len(repeated)} record(s) more than once: {_listed(repeated)}", record_ids=repeated
        )


def _listed(ids: Iterable[UUID]) -> str:
    return ", ".join(map(str, ids))
