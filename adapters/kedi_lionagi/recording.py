"""Recording a turn in a LionAGI branch: its instruction and what answered it, all at once.

LionAGI's own way adds message by message and awaits listeners in between: turns that end at the same time would then
stand within one another, and a cancelled one would be there by half. Here all messages go in under the branch's lock
with nothing awaited between them, and the listeners are told afterwards. Source: Turn specification, D4.
"""

from __future__ import annotations

from collections.abc import Sequence
from inspect import isawaitable, iscoroutinefunction
from typing import TYPE_CHECKING, Any

from kedi_compile.turn import Instruction
from kedi_lionagi.host import instruction_of
from kedi_lionagi.transcript import Entry

if TYPE_CHECKING:  # importing LionAGI takes as long as all the rest
    from lionagi import Branch as LionBranch


async def add(branch: LionBranch, instruction: Instruction, entries: Sequence[Entry]) -> list[Any]:
    """Add the instruction and its answers to the branch, all or none, and return what was added.

    An instruction that the branch holds already stays where it is.
    """
    manager: Any = branch.msgs  # typed for pydantic's own plugin only
    asked = instruction_of(instruction)
    async with manager.messages:
        held = instruction.id in manager.messages
        added = [*([] if held else [{"instruction": asked}]), *(entry.added_as for entry in entries)]
        messages = [manager.create_message(**arguments) for arguments in added]
        for message in messages:
            manager.messages.update(message)
    return messages


async def tell(branch: LionBranch, messages: Sequence[Any]) -> None:
    """Tell the branch's listeners of messages: plain functions first, which keep the branch's own views.

    Raises:
        BaseException: what the first listener that failed raised, a cancellation included, once all of them were told.
    """
    manager: Any = branch.msgs
    failures: list[BaseException] = []
    for is_async in (False, True):
        for message in messages:
            for listener in list(manager._on_message_added):  # noqa: SLF001  # LionAGI has no public name for them
                if iscoroutinefunction(listener) is is_async:
                    failures += await _told(listener, message)
    if failures:
        raise failures[0]


async def _told(listener: Any, message: Any) -> list[BaseException]:
    try:
        told = listener(message)
        if isawaitable(told):
            await told
    except BaseException as exc:  # noqa: BLE001  # the listener's own; the others are to be told as well
        return [exc]
    return []
