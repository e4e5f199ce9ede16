"""What the runs of one adapter know about where each piece of history came from, kept beside the messages.

The rule: lineage is recorded for what a run itself made, under the native object that carries it (a message, or one of
its parts where the host rebuilds messages), and is found again by that object, never by its text. Copies, imported
history and summaries therefore have none. Records go when their object goes. Source: History specification, Recent
Groups and Origins.
"""

from __future__ import annotations

import weakref
from typing import Any

from kedi_compile.dialect import HistoryOrigin


class OriginLedger:
    """Origins by native object; may be shared by concurrent runs of one adapter.

    The objects must allow weak references.
    """

    def __init__(self) -> None:
        self._records: dict[int, tuple[weakref.ref[Any], tuple[HistoryOrigin, ...]]] = {}

    def __reduce__(self) -> tuple[type[OriginLedger], tuple[()]]:
        """Copy and pickle as an empty ledger: origins live with the objects of one process."""
        return type(self), ()

    def __bool__(self) -> bool:
        """Whether anything is known about any object."""
        return bool(self._records)

    def record(self, carrier: object, origins: tuple[HistoryOrigin, ...]) -> None:
        """Remember `origins` for this very object, replacing what was known."""
        key = id(carrier)
        records = self._records
        records[key] = (weakref.ref(carrier, lambda _: records.pop(key, None)), origins)

    def find(self, carrier: object) -> tuple[HistoryOrigin, ...]:
        """Return what is known about this very object; an equal copy has nothing."""
        found = self._records.get(id(carrier))
        return found[1] if found is not None and found[0]() is carrier else ()
