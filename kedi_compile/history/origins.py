"""What the runs of one adapter know about where each message came from, kept beside the messages.

The rule: lineage is recorded for messages a run itself made and is found again by the message object, never by its
text. Copies, imported history and summaries therefore have none. Records go when their message goes. Source: History
specification, Recent Groups and Origins.
"""

from __future__ import annotations

import weakref
from typing import Any

from kedi_compile.dialect import HistoryOrigin


class OriginLedger:
    """Origins by message object; may be shared by concurrent runs of one adapter.

    Messages must allow weak references.
    """

    def __init__(self) -> None:
        self._records: dict[int, tuple[weakref.ref[Any], tuple[HistoryOrigin, ...]]] = {}

    def record(self, message: object, origins: tuple[HistoryOrigin, ...]) -> None:
        """Remember `origins` for this very object, replacing what was known."""
        key = id(message)
        records = self._records
        records[key] = (weakref.ref(message, lambda _: records.pop(key, None)), origins)

    def find(self, message: object) -> tuple[HistoryOrigin, ...]:
        """Return what is known about this very object; an equal copy has nothing."""
        found = self._records.get(id(message))
        return found[1] if found is not None and found[0]() is message else ()

    def carry(self, old: object, new: object) -> None:
        """Give `new`, which the host or an edit put in the place of `old`, the lineage of `old`."""
        if origins := self.find(old):
            self.record(new, origins)
