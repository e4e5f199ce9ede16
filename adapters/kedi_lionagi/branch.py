"""A LionAGI branch as a branch of the compiler: a snapshot, taken through public attributes.

Contents are read by the names of their fields, so a field that another version lacks has its default. The current
call's options that LionAGI keeps on an instruction are not read. Source: Turn specification, D1 and D2.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from kedi_compile import MessageRole, TurnCompileError, UnknownRecordError
from kedi_compile.turn import Branch, Instruction, Message, System
from kedi_compile.turn.branch import CURRENT_PROGRESSION
from kedi_compile.turn.ids import ids_of
from kedi_lionagi.host import is_instruction, kinds

if TYPE_CHECKING:  # importing LionAGI takes as long as all the rest
    from lionagi import Branch as LionBranch
    from lionagi.protocols.messages import Instruction as LionInstruction

RestoredSystem = Literal["refuse", "use", "ignore"]
"""What to do with a branch that holds a system record and has none: LionAGI's own `from_dict` makes such branches."""


def to_branch(branch: LionBranch, *, restored_system: RestoredSystem = "refuse") -> Branch:
    """Return a snapshot of a LionAGI branch that the compiler reads.

    The snapshot has records of its own; the values inside their contents are the branch's. Take it under
    `async with branch.msgs.messages` where another task may change the branch.

    Raises:
        TurnCompileError: the branch has no system although its records hold one, as after `Branch.from_dict`, so the
            policy would be lost; "use" takes the one record, "ignore" sends none.
    """
    manager: Any = branch.msgs  # typed for pydantic's own plugin only
    records = [record_of(message) for message in manager.messages]
    systems = {record.id: record for record in records if isinstance(record, System)}
    if manager.system is None:
        system: Any = _restored(systems, restored_system)
    else:
        system = systems.get(manager.system.id) or record_of(manager.system)
    override = branch.metadata.get(CURRENT_PROGRESSION)
    metadata = {} if override is None else {CURRENT_PROGRESSION: _order(override)}
    return Branch(system, records, _order(manager.progression), metadata)


def _restored(systems: Mapping[UUID, System], restored: RestoredSystem) -> System | None:
    if not systems or restored == "ignore":
        return None
    if restored == "use" and len(systems) == 1:
        return next(iter(systems.values()))
    raise TurnCompileError(
        f"The branch has no system, but its records hold {len(systems)} system record(s), as after from_dict. Pass "
        "restored_system='use' to take it, if it is one, or 'ignore' to send none",
        record_ids=systems,
    )


def _order(progression: Any) -> list[UUID]:
    """Ids from a `Progression`, a list, or the mapping a `Progression` is serialised as; text is read as a UUID."""
    return ids_of(progression.get("order", ()) if isinstance(progression, Mapping) else progression)


def to_instruction(instruction: LionInstruction) -> Instruction:
    """Return a LionAGI instruction as a record, without the options of a single call that it may carry.

    Raises:
        TurnCompileError: it is something else.
    """
    record = record_of(instruction) if is_instruction(instruction) else None
    if isinstance(record, Instruction):
        return record
    raise TurnCompileError(f"A {type(instruction).__name__} is no instruction of LionAGI")


def record_of(message: Any) -> Message:
    """Return a LionAGI message as a record of the same identity.

    A message of a kind LionAGI does not have itself keeps its name and role, and the compiler decides.
    """
    identity: dict[str, Any] = {
        "id": message.id,
        "created_at": datetime.fromtimestamp(message.created_at, UTC),
        "sender": _address(message.sender),
        "recipient": _address(message.recipient),
        "metadata": dict(message.metadata),
    }
    for lion, ours in kinds():
        if isinstance(message, lion) and ours.content_type is not None:
            return ours(content=ours.content_type.of(message.content), **identity)
    return _foreign(type(message).__name__, _role(message))(content=message.content, **identity)


def _address(value: Any) -> str | None:
    """A name, an id, or a role of LionAGI's, whose value is its name."""
    return None if value is None else str(getattr(value, "value", value))


def _role(message: Any) -> MessageRole:
    role = str(_address(message.role))
    try:
        return MessageRole(role)
    except ValueError as exc:
        raise UnknownRecordError(
            f"Record {message.id} is a {type(message).__name__} with the unknown role {role!r}", record_ids=[message.id]
        ) from exc


@cache
def _foreign(name: str, role: MessageRole) -> type[Message]:
    return type(name, (Message,), {"role": role, "__slots__": ()})
