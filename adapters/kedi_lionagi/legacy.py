"""LionAGI's older entry point to a prepared message list, kept for its callers and deprecated.

It shapes nothing itself: the compiler does. Options that gave the same history another meaning are refused. Source:
Turn specification, D6.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from kedi_compile import TurnCompileError, TurnRequest, compile_chat_request, provider_messages
from kedi_compile.turn import Branch, System
from kedi_compile.turn.ids import ids_of
from kedi_lionagi.branch import record_of, to_instruction

if TYPE_CHECKING:  # importing LionAGI takes as long as all the rest
    from lionagi.protocols.messages import Instruction as LionInstruction


def prepare_messages_for_chat(  # noqa: PLR0917  # LionAGI's signature
    messages: Iterable[Any],
    progression: Iterable[Any] | None = None,
    new_instruction: LionInstruction | None = None,
    to_chat: bool = True,  # noqa: FBT001, FBT002
    system_prefix: str | None = None,
    aggregate_actions: bool = False,  # noqa: FBT001, FBT002
    round_notifications: bool = False,  # noqa: FBT001, FBT002
    scratchpad: dict[str, str] | None = None,
) -> list[dict[str, Any]]:
    """Return the provider's messages for a history and a new instruction; use `compile_chat_request` instead.

    The history's first record in `progression` is the system record if it is one; an empty `progression` means all.

    Raises:
        TurnCompileError: the history makes no turn, there is no `new_instruction`, or an option is given that the
            compiler has no meaning for.
    """
    warnings.warn(
        "prepare_messages_for_chat is deprecated; use kedi_lionagi.to_branch and compile_chat_request",
        DeprecationWarning,
        stacklevel=2,
    )
    if new_instruction is None:
        raise TurnCompileError("Pass `new_instruction`: a turn has one", path="new_instruction")
    options = {
        "to_chat=False": not to_chat,
        "system_prefix": system_prefix,
        "aggregate_actions": aggregate_actions,
        "round_notifications": round_notifications,
        "scratchpad": scratchpad,
    }
    if given := [name for name, value in options.items() if value]:
        raise TurnCompileError(f"Leave out {', '.join(given)}: the compiler gives a history one meaning only")
    records = [record_of(message) for message in messages]
    order = ids_of(progression or [record.id for record in records])
    leading = next((record for record in records if record.id in order[:1]), None)
    branch = Branch(leading if isinstance(leading, System) else None, records, order)
    return provider_messages(compile_chat_request(branch, TurnRequest(to_instruction(new_instruction))))
