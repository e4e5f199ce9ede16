"""Where messages came from, found again although a checkpointer or a conversation hands out new objects.

A message with an id is found by that, as long as the content is the same to the byte; a copy under another id, or with
other content, has no lineage. One without an id that a conversation reads back gets the lineage of the message of the
same content, if there is exactly one; equal messages are ambiguous and get none.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import Any, Final, TypeVar

from langchain_core.messages import BaseMessage

from kedi_compile import HistoryOrigin
from kedi_compile.history.origins import OriginLedger
from kedi_langchain.dialect import DIALECT

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")

_KEPT: Final = 10_000
"""How many messages are known by id, and how many by content; the longest unused go first."""


class ThreadOrigins(OriginLedger):
    """Origins by message object, and by message id and content."""

    def __init__(self) -> None:
        super().__init__()
        self._by_id: OrderedDict[str, tuple[bytes, tuple[HistoryOrigin, ...]]] = OrderedDict()
        self._by_content: OrderedDict[bytes, tuple[HistoryOrigin, ...]] = OrderedDict()

    def __bool__(self) -> bool:
        """Whether anything is known about any message."""
        return super().__bool__() or bool(self._by_id)

    def record(self, carrier: Any, origins: tuple[HistoryOrigin, ...]) -> None:
        """Remember `origins` for this message, replacing what was known."""
        super().record(carrier, origins)
        if not isinstance(carrier, BaseMessage):
            return
        if carrier.id:
            _remember(self._by_id, carrier.id, (_content(carrier), origins))
        else:
            content = _content(carrier)
            is_ambiguous = self._by_content.get(content, origins) != origins
            _remember(self._by_content, content, () if is_ambiguous else origins)

    def adopt(self, messages: Sequence[BaseMessage]) -> None:
        """Give messages without ids that were read back what is known about those of their content."""
        if not self._by_content:
            return
        contents = {id(one): _content(one) for one in messages if not one.id}
        times = Counter(contents.values())
        for message in messages:
            content = contents.get(id(message), b"")
            if times[content] == 1 and (origins := self._by_content.get(content)):
                super().record(message, origins)

    def find(self, carrier: Any) -> tuple[HistoryOrigin, ...]:
        """Return what is known about this very object, or about the message of its id if the content is the same."""
        return super().find(carrier) or self._find_by_id(carrier)

    def _find_by_id(self, carrier: Any) -> tuple[HistoryOrigin, ...]:
        known = self._by_id.get(carrier.id) if isinstance(carrier, BaseMessage) and carrier.id else None
        return known[1] if known is not None and known[0] == _content(carrier) else ()


def _remember(known: OrderedDict[KeyT, ValueT], key: KeyT, value: ValueT) -> None:
    known[key] = value
    known.move_to_end(key)
    if len(known) > _KEPT:
        known.popitem(last=False)


def _content(message: BaseMessage) -> bytes:
    return DIALECT.fingerprint(message)
