"""A LionAGI branch as a branch of the compiler: a snapshot, taken through public attributes.

Contents are read by the names of their fields, so a field that another version lacks has its default. The current
call's options that LionAGI keeps on an instruction are not read. Source: Turn specification, D1 and D2.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import fields
from functools import cache
from typing import TYPE_CHECKING, Any, Literal
from uuid import UUID

from kedi_compile import TurnCompileError, UnknownRecordError
from kedi_compile.message import MessageRole
from kedi_compile.turn import Branch, Instruction, Message, MessageContent, System
from kedi_compile.turn.branch import CURRENT_PROGRESSION, ids_of
from kedi_lionagi.host import kinds, moment

if TYPE_CHECKING:  # importing LionAGI takes as long as all the rest
    import lionagi

RestoredSystem = Literal["refuse", "use", "ignore"]
"""What to do with a branch that holds a system record and has none: LionAGI's own `from_dict` makes such branches."""


def to_branch(branch: lionagi.Branch, *, restored_system: RestoredSystem = "refuse") -> Branch:
    """Return a snapshot of a LionAGI branch that the compiler reads.

    The snapshot has records of its own; the values inside their contents are the branch's. Take it under
    `async with branch.msgs.messages` where another task may change the branch.

    Raises:
        TurnCompileError: the branch has no system although its records hold one, as after `Branch.from_dict`, so the
            policy would be lost; "use" takes the one record, "ignore" sends none.
    """
    manager: Any = branch.msgs
    records = [record_of(record) for record in manager.messages]
    system = _system_of(manager.system, records, restored_system)
    override = branch.metadata.get(CURRENT_PROGRESSION)
    metadata = {} if override is None else {CURRENT_PROGRESSION: _order(override)}
    return Branch(system, records, _order(manager.progression), metadata)


def _system_of(current: Any, records: Iterable[Message], restored: RestoredSystem) -> System | None:
    systems = {record.id: record for record in records if isinstance(record, System)}
    if current is not None:
        return systems.get(current.id) or _system(record_of(current))
    if not systems or restored == "ignore":
        return None
    if restored == "use" and len(systems) == 1:
        return next(iter(systems.values()))
    raise TurnCompileError(
        f"The branch has no system, but its records hold {len(systems)} system record(s), as after from_dict. Set it "
        "again with branch.msgs.set_system, or pass restored_system='use' (one record) or 'ignore'",
        record_ids=systems,
    )


def _system(record: Message) -> System:
    assert isinstance(record, System)  # LionAGI's `msgs.system` is one
    return record


def _order(progression: Any) -> list[UUID]:
    """Ids from a `Progression`, a list, or the mapping a `Progression` is serialised as; text is read as a UUID."""
    return ids_of(progression.get("order", ()) if isinstance(progression, Mapping) else progression)


def to_instruction(instruction: lionagi.Instruction) -> Instruction:
    """Return a LionAGI instruction as a record, without the options of a single call that it may carry."""
    record = record_of(instruction)
    if not isinstance(record, Instruction):
        raise TurnCompileError(f"A {type(instruction).__name__} is no instruction of LionAGI")
    return record


def record_of(message: Any) -> Message:
    """Return a LionAGI message as a record of the same identity.

    A message of a kind LionAGI does not have itself keeps its name and role, and the compiler decides.
    """
    for lion, ours, content in kinds():
        if isinstance(message, lion):
            return ours(content=_content(message.content, content), **_identity(message))
    return _foreign(type(message).__name__, _role(message))(content=message.content, **_identity(message))


def _content(held: Any, kind: type[MessageContent]) -> MessageContent:
    names = [field.name for field in fields(kind)]
    return kind(**{name: getattr(held, name) for name in names if hasattr(held, name)})


def _identity(message: Any) -> dict[str, Any]:
    return {
        "id": message.id,
        "created_at": moment(message.created_at),
        "sender": _address(message.sender),
        "recipient": _address(message.recipient),
        "metadata": dict(message.metadata),
    }


def _address(value: Any) -> str | None:
    return None if value is None else _text(value)


def _text(value: Any) -> str:
    return str(getattr(value, "value", value))


def _role(message: Any) -> MessageRole:
    role = _text(message.role)
    try:
        return MessageRole(role)
    except ValueError as exc:
        raise UnknownRecordError(
            f"Record {message.id} is a {type(message).__name__} with the unknown role {role!r}", record_ids=[message.id]
        ) from exc


@cache
def _foreign(name: str, role: MessageRole) -> type[Message]:
    return type(name, (Message,), {"role": role, "__slots__": ()})
