"""A turn of records with what was assembled for it: places 1 to 4 as its policy, 5 to 8 in the current instruction.

The turn compiler and the assembler know nothing of one another; this is the one place where both meet. What was
assembled holds for one request alone and is in no durable record. Source: Assembly specification, Deterministic
assembly order; Turn specification, D2.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from kedi_compile.assembly import AssembledRequest
from kedi_compile.assembly.typed import typed
from kedi_compile.errors import AssemblyError
from kedi_compile.turn import Branch, CompiledChatRequest, Instruction, InstructionContent, System, TurnRequest
from kedi_compile.turn.compiler import compile_chat_request, durable
from kedi_compile.turn.refusals import refuse_other


def compile_assembled_turn(branch: Branch, request: TurnRequest, assembled: AssembledRequest) -> CompiledChatRequest:
    """Return the exact request of one turn with the assembled texts in it; branch and request are left alone.

    The stable text stands in front of the branch's own policy, the late text around the instruction's. The record to
    keep holds none of it.

    Raises:
        UnknownInputError: `assembled` is no AssembledRequest.
        TurnCompileError: the records and the request make no turn.
        AssemblyError: the inputs hold a `current_message`, which the instruction is.
    """
    typed(assembled, AssembledRequest, "compile_assembled_turn")
    refuse_other(branch, Branch, "`branch` must be a kedi_compile.turn.Branch", "branch")
    refuse_other(request, TurnRequest, "`request` must be a TurnRequest", "request")
    if assembled.message is not None:
        msg = "The inputs hold a `current_message`, and a turn has one already, its instruction; leave it out of them"
        raise AssemblyError(msg)
    around = replace(request, instruction=_around(request.instruction, assembled))
    compiled = compile_chat_request(_with_policy(branch, assembled.system), around)
    return replace(compiled, instruction=durable(request.instruction))


def _with_policy(branch: Branch, text: str) -> Branch:
    """A branch of the same records, with the stable text in front of its policy."""
    own = branch.msgs.system
    if own is None:
        policy = System.create(text)
    else:
        policy = replace(own, content=replace(own.content, system_message=_joined(text, own.content.system_message)))
    others = [record for record in branch.msgs.messages.values() if record is not own]
    return Branch(policy, others, branch.msgs.progression, branch.metadata)


def _around(instruction: Instruction, assembled: AssembledRequest) -> Instruction:
    """A copy of the instruction whose text stands within the late text; any other value becomes the middle one."""
    content = InstructionContent.of(instruction.content)
    if content.plain_content:
        content.plain_content = _joined(assembled.before, content.plain_content, assembled.slot)
    elif isinstance(content.instruction, str):
        content.instruction = _joined(assembled.before, content.instruction, assembled.slot)
    else:
        middle: list[Any] = [] if content.instruction is None else [content.instruction]
        content.instruction = [text for text in (assembled.before, *middle, assembled.slot) if text]
    return replace(instruction, content=content)


def _joined(*texts: str) -> str:
    return "\n\n".join(text for text in texts if text)
