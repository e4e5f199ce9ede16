"""A branch: the records of one conversation, the order they are read in, and its system record.

A small container for records that live in this process; it stores and orders, and assigns no meaning. What a
progression means to a model is the compiler's business. Source: Turn specification, D2 (Resolve and validate the
history view).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from copy import deepcopy
from types import MappingProxyType
from typing import Any, Self
from uuid import UUID

from kedi_compile.errors import TurnCompileError
from kedi_compile.message import MessageRole

from .ids import ids_of, named, optional_id
from .literal import literal_content
from .records import Message, System, record_from_dict
from .refusals import refuse_other

CURRENT_PROGRESSION = "current_progression"
"""The key of a branch's metadata under which an order stands that is read instead of the branch's own."""


class MessageManager:
    """The records of a branch by id, and the order they came in."""

    def __init__(self, system: System | None, records: Iterable[Message], progression: Sequence[UUID] | None) -> None:
        refuse_other(system, (System, type(None)), "The system of a branch is a System record")
        refuse_other(records, Iterable, "The records of a branch are a list")
        self.system = system
        self._records: dict[UUID, Message] = {}
        self._insert([] if system is None else [system])
        self._insert([record for record in records if record is not system])
        self._progression = list(self._records) if progression is None else ids_of(progression)

    def _insert(self, records: Sequence[Message]) -> None:
        """Take all the records in, or none of them."""
        for record in records:
            refuse_other(record, Message, "A branch holds records")
        counts = Counter(record.id for record in records)
        if repeated := [record_id for record_id, count in counts.items() if count > 1 or record_id in self._records]:
            raise TurnCompileError(f"The branch would hold {named(repeated)} more than once", record_ids=repeated)
        self._records.update((record.id, record) for record in records)

    @property
    def messages(self) -> Mapping[UUID, Message]:
        """Every record by its id; a view that follows the branch."""
        return MappingProxyType(self._records)

    @property
    def progression(self) -> tuple[UUID, ...]:
        """The ids in the branch's own order."""
        return tuple(self._progression)

    def append(self, *records: Message) -> None:
        """Add records and their places at the end of the order, all or none."""
        self._insert(records)
        self._progression += [record.id for record in records]

    def lookup(self, order: Sequence[UUID]) -> list[Message]:
        """Return the records of these ids.

        Raises:
            TurnCompileError: ids are missing from the branch; every one is named.
        """
        if missing := list(dict.fromkeys(record_id for record_id in order if record_id not in self._records)):
            raise TurnCompileError(f"The branch does not hold {named(missing)}", record_ids=missing)
        return [self._records[record_id] for record_id in order]

    def to_chat_msgs(self, progression: Sequence[UUID] | None = None) -> list[dict[str, Any]]:
        """Return the records as they are, one message each, with nothing folded, merged or left out.

        This is a literal projection to look at and is no request: action records have a role that no provider takes.
        Only routed records, which have no role, are missing.

        Raises:
            TurnCompileError: an id is missing from the branch, or a record cannot be written.
        """
        records = self.lookup(self.progression if progression is None else ids_of(progression))
        shown = [record for record in records if record.role != MessageRole.UNSET]
        return [{"role": str(record.role), "content": literal_content(record)} for record in shown]


class Branch:
    """One conversation.

    For one task or thread that writes; any number may compile from it meanwhile. The branch keeps the records it is
    given, not copies. Without a `progression` the system record comes first and then `records` in their order.
    `metadata["current_progression"]` replaces the order for reading and not for `msgs`.
    """

    def __init__(
        self,
        system: System | str | None = None,
        records: Iterable[Message] = (),
        progression: Sequence[UUID] | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        self.msgs = MessageManager(System.create(system) if isinstance(system, str) else system, records, progression)
        refuse_other(metadata, (dict, type(None)), "The metadata of a branch are a dict")
        self.metadata: dict[str, Any] = {} if metadata is None else metadata

    @property
    def progression(self) -> tuple[UUID, ...]:
        """The ids in the order the branch is read in; an override in `metadata` comes first, also an empty one."""
        override = self.metadata.get(CURRENT_PROGRESSION)
        return self.msgs.progression if override is None else tuple(ids_of(override))

    def append(self, *records: Message) -> None:
        """Add records at the end of the order, and of the override where there is one, all or none."""
        override = self.metadata.get(CURRENT_PROGRESSION)
        followed = None if override is None else ids_of(override)
        self.msgs.append(*records)
        if followed is not None:
            self.metadata[CURRENT_PROGRESSION] = [*followed, *(record.id for record in records)]

    def to_dict(self) -> dict[str, Any]:
        """Return the branch as a mapping of deep copies, ids and times as text.

        The values inside contents and metadata are as they are: for JSON, let them be JSON's own.
        """
        system, metadata = self.msgs.system, deepcopy(self.metadata)
        if metadata.get(CURRENT_PROGRESSION) is not None:
            metadata[CURRENT_PROGRESSION] = [str(record_id) for record_id in self.progression]
        return {
            "system": None if system is None else str(system.id),
            "records": [record.to_dict() for record in self.msgs.messages.values()],
            "progression": [str(record_id) for record_id in self.msgs.progression],
            "metadata": metadata,
        }

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Build a branch from `to_dict`'s result; it keeps none of the containers in `data`.

        Raises:
            TurnCompileError: a part is missing or cannot be read, or the system is not among the records.
        """
        refuse_other(data, Mapping, "A serialised branch is a mapping")
        if "system" not in data:
            raise TurnCompileError("`system` of a serialised branch is missing; it is an id, or None", path="system")
        if unknown := sorted(map(str, data.keys() - _PARTS.keys() - {"system"})):
            raise TurnCompileError(f"A serialised branch has no part {', '.join(unknown)}", path=unknown[0])
        for name, kind in _PARTS.items():
            refuse_other(data.get(name), kind, f"`{name}` of a serialised branch is a {kind.__name__}", name)
        records = [record_from_dict(item) for item in data["records"]]
        named_so = optional_id(data["system"])
        system: Any = next((record for record in records if record.id == named_so), None)
        if system is None and named_so is not None:
            raise TurnCompileError(f"The system {named_so} is not among the records", path="system")
        return cls(system, records, ids_of(data["progression"]), deepcopy(dict(data["metadata"])))


_PARTS: dict[str, type] = {"records": list, "progression": list, "metadata": dict}
"""What a serialised branch has beside the id of its system."""
