"""Where messages came from, found again although a checkpointer hands every turn new objects.

A message of a thread keeps its id, so lineage is found by that id as long as the content is the same to the byte; a
copy under another id, or with other content, has none.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any, Final

from langchain_core.messages import BaseMessage

from kedi_compile import HistoryOrigin
from kedi_compile.history.origins import OriginLedger
from kedi_langchain.dialect import DIALECT

_KEPT: Final = 10_000
"""How many messages are known by id; the longest unused go first."""


class ThreadOrigins(OriginLedger):
    """Origins by message object, and by message id and content."""

    def __init__(self) -> None:
        super().__init__()
        self._by_id: OrderedDict[str, tuple[bytes, tuple[HistoryOrigin, ...]]] = OrderedDict()

    def __bool__(self) -> bool:
        """Whether anything is known about any message."""
        return super().__bool__() or bool(self._by_id)

    def record(self, carrier: Any, origins: tuple[HistoryOrigin, ...]) -> None:
        """Remember `origins` for this message, replacing what was known."""
        super().record(carrier, origins)
        if isinstance(carrier, BaseMessage) and carrier.id:
            self._by_id[carrier.id] = (_content(carrier), origins)
            self._by_id.move_to_end(carrier.id)
            if len(self._by_id) > _KEPT:
                self._by_id.popitem(last=False)

    def find(self, carrier: Any) -> tuple[HistoryOrigin, ...]:
        """Return what is known about this very object, or about the message of its id if the content is the same."""
        return super().find(carrier) or self._find_by_id(carrier)

    def _find_by_id(self, carrier: Any) -> tuple[HistoryOrigin, ...]:
        known = self._by_id.get(carrier.id) if isinstance(carrier, BaseMessage) and carrier.id else None
        return known[1] if known is not None and known[0] == _content(carrier) else ()


def _content(message: BaseMessage) -> bytes:
    return DIALECT.fingerprint(message)
