"""Step 1: which records a turn reads, in which order.

The order is the request's, else the branch's; never the time of creation. Every id must be there, each once. Source:
Turn specification, D2 (Resolve and validate the history view).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from uuid import UUID

from kedi_compile.errors import TurnCompileError

from .branch import Branch
from .ids import ids_of, named
from .records import Message


def select(branch: Branch, progression: Sequence[UUID] | None, current: UUID) -> list[Message]:
    """Return the records a turn reads, in reading order; `current` is the id of the instruction asked after them.

    Raises:
        TurnCompileError: ids are missing from the branch, or occur more than once, the current one included; every
            such id is named.
    """
    order = ids_of(branch.progression if progression is None else progression)
    records = branch.msgs.lookup(order)
    if repeated := [record_id for record_id, count in Counter(order).items() if count > 1]:
        raise TurnCompileError(f"The progression names {named(repeated)} more than once", record_ids=repeated)
    if current in order:
        raise TurnCompileError(
            f"The progression names the current instruction {current}, which is asked after it; append it to the "
            "branch once the model has answered, or leave its id out",
            record_ids=[current],
        )
    return records
