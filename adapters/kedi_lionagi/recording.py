"""Recording a turn in a LionAGI branch: its instruction and what answered it, next to each other.

Turns that end at the same time are recorded one after the other, never one within the other, which would leave two
instructions in a row and a branch that no turn can be compiled from. Source: Turn specification, D4.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from kedi_compile.turn import Instruction
from kedi_lionagi.host import instruction_of
from kedi_lionagi.transcript import Entry

if TYPE_CHECKING:  # importing LionAGI takes as long as all the rest
    from lionagi import Branch as LionBranch

_LOCKS: WeakKeyDictionary[Any, tuple[asyncio.AbstractEventLoop, asyncio.Lock]] = WeakKeyDictionary()


async def record(branch: LionBranch, instruction: Instruction, entries: Sequence[Entry]) -> None:
    """Add the instruction and its answers to the branch, all of them also when the task is cancelled meanwhile.

    An instruction that the branch holds already stays where it is. What a listener of the branch raises comes out once
    everything is recorded.
    """
    manager: Any = branch.msgs  # typed for pydantic's own plugin only
    held = instruction.id in manager.messages
    added = [*([] if held else [{"instruction": instruction_of(instruction)}]), *(entry.added_as for entry in entries)]
    adding = asyncio.ensure_future(_add(manager, added))
    try:
        await asyncio.shield(adding)
    except asyncio.CancelledError:
        await asyncio.wait([adding])
        raise


async def _add(manager: Any, added: Sequence[Mapping[str, Any]]) -> None:
    failures: list[Exception] = []
    async with _lock_of(manager):
        for arguments in added:
            try:
                await manager.a_add_message(**arguments)
            except Exception as exc:  # noqa: BLE001  # a listener's: the message is in the branch by then
                failures.append(exc)
    if failures:
        raise failures[0]


def _lock_of(manager: Any) -> asyncio.Lock:
    loop = asyncio.get_running_loop()
    known = _LOCKS.get(manager)
    if known is None or known[0] is not loop:
        known = _LOCKS[manager] = (loop, asyncio.Lock())
    return known[1]
