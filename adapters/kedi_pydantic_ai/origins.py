"""Where parts came from, found again in messages that were read back from a checkpoint or store.

While the host keeps its parts, lineage is found by the part itself. A message that was read back is a new object; it
gets the lineage of the committed message of the same content if there is exactly one, in this process. Equal messages
are ambiguous and get none.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Final

from pydantic_ai.messages import ModelMessage

from kedi_compile import HistoryOrigin
from kedi_compile.history.origins import OriginLedger
from kedi_pydantic_ai.dialect import DIALECT

_KEPT: Final = 10_000
"""How many committed messages are remembered; the oldest go first."""

Lineage = tuple[tuple[HistoryOrigin, ...], ...]


class PartOrigins(OriginLedger):
    """Origins by part, and by the fingerprint of the message that was committed with it."""

    def __init__(self) -> None:
        super().__init__()
        self._committed: OrderedDict[bytes, Lineage | None] = OrderedDict()

    def remember(self, messages: Sequence[ModelMessage]) -> None:
        """Remember what is known about messages that a turn commits and has made itself."""
        for message in messages:
            lineage = tuple(self.find(part) for part in message.parts)
            if any(lineage):
                found = DIALECT.fingerprint(message)
                self._committed[found] = lineage if self._committed.get(found, lineage) == lineage else None
        while len(self._committed) > _KEPT:
            self._committed.popitem(last=False)

    def adopt(self, messages: Sequence[ModelMessage]) -> None:
        """Give messages that were read back what is known about the committed ones."""
        if not self._committed:
            return
        prints = [DIALECT.fingerprint(message) for message in messages]
        times = Counter(prints)
        for message, found in zip(messages, prints, strict=True):
            lineage = self._committed.get(found)
            if lineage is not None and times[found] == 1 and len(lineage) == len(message.parts):
                for part, origins in zip(message.parts, lineage, strict=True):
                    if origins:
                        self.record(part, origins)
