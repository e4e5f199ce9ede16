"""Step 1: which records a turn reads, in which order.

The order is the request's, else the branch's; never the time of creation. Every id must be there, each once. Source:
Turn specification, D2 (Resolve and validate the history view).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from kedi_compile.errors import TurnCompileError

from .branch import Branch, ids_of, named
from .records import Message


def select(branch: Branch, progression: Sequence[UUID] | None) -> list[Message]:
    """Return the records a turn reads, in reading order.

    Raises:
        TurnCompileError: ids are missing from the branch, or occur more than once; every such id is named.
    """
    order = ids_of(branch.progression if progression is None else progression)
    records = branch.msgs.in_order(order)
    if repeated := [record_id for record_id, count in Counter(order).items() if count > 1]:
        raise TurnCompileError(f"The progression names {named(repeated)} more than once", record_ids=repeated)
    return records
