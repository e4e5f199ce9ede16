"""The compiler: a branch and a turn request become one exact request, in five steps.

Each step has its own file and names what it refuses. Nothing the caller owns changes, and nothing of it is kept; the
same branch and request give the same bytes. There is one compilation: how a request is executed (streamed, resumed,
with a deadline) is not decided here and never enters it. Source: Turn specification, D1, D2, D4 and D5.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeVar

from kedi_compile.errors import TurnCompileError
from kedi_compile.message import MessageRole

from .branch import Branch
from .call_sections import call_sections
from .contents import InstructionContent
from .fold import fold
from .order import arrange
from .project import project
from .records import Instruction
from .refusals import blaming, refuse_other
from .render import GUIDANCE, render
from .request import CompiledChatRequest, TurnRequest
from .select import select

T = TypeVar("T")

RESERVED = "provider_kwargs must not contain reserved key 'messages'"


def compile_chat_request(branch: Branch, request: TurnRequest) -> CompiledChatRequest:
    """Return the exact request of one turn.

    Raises:
        TurnCompileError: the records and the request make no turn; the first broken rule, in the order of the steps.
    """
    _refuse_unusable(branch, request)
    system = branch.msgs.system
    records = select(branch, request.progression, request.instruction.id)
    history, current = project(records, request.instruction)
    ordered = arrange(history, has_system=system is not None)
    asked = replace(current, call_sections=call_sections(request))
    messages = render(fold(ordered, asked, system, request.context_blocks))
    kwargs = _copied(dict(request.provider_kwargs), "provider_kwargs")
    return CompiledChatRequest(durable(request.instruction), messages, MappingProxyType(kwargs))


_KINDS: tuple[tuple[str, type | tuple[type, ...], str], ...] = (
    ("instruction", Instruction, "`instruction` must be a record, made by Instruction.create"),
    ("tool_schemas", (list, tuple), "`tool_schemas` must be a tuple of mappings"),
    ("context_blocks", (list, tuple), "`context_blocks` must be a tuple of ContextBlock"),
    ("provider_kwargs", Mapping, "`provider_kwargs` must be a mapping"),
)
"""What the fields of a request must be, in a sentence."""


def _refuse_unusable(branch: object, request: TurnRequest) -> None:
    refuse_other(
        branch, Branch, "`branch` must be a kedi_compile.turn.Branch, as kedi_lionagi.to_branch makes", "branch"
    )
    refuse_other(request, TurnRequest, "`request` must be a TurnRequest", "request")
    for name, kinds, right in _KINDS:
        refuse_other(getattr(request, name), kinds, right, name)
    for place, schema in enumerate(request.tool_schemas):
        refuse_other(schema, Mapping, f"`tool_schemas[{place}]` must be a mapping", f"tool_schemas[{place}]")
    for key in request.provider_kwargs:
        refuse_other(key, str, "`provider_kwargs` must have text as its keys", "provider_kwargs")
    if "messages" in request.provider_kwargs:
        raise TurnCompileError(RESERVED, path="provider_kwargs.messages")


def durable(instruction: Instruction) -> Instruction:
    """Return a copy of the record to keep: its identity, and the content's durable fields alone.

    Raises:
        TurnCompileError: a value in it cannot be copied.
    """
    with blaming(instruction.id):
        return Instruction(
            content=_copied(InstructionContent.of(instruction.content), "content"),
            id=instruction.id,
            created_at=instruction.created_at,
            sender=instruction.sender,
            recipient=instruction.recipient,
            metadata=_copied(instruction.metadata, "metadata"),
        )


def _copied(value: T, path: str) -> T:
    try:
        return deepcopy(value)
    except Exception as exc:
        raise TurnCompileError(f"`{path}` holds a value that cannot be copied ({exc})", path=path) from exc


def guided(compiled: CompiledChatRequest) -> int | None:
    """Return the place of the first user message if it shows guidance, into which policy and context are folded.

    Whoever edits the messages as a history must keep this one, or the policy is gone.
    """
    for place, message in enumerate(compiled.messages):
        if message.role is MessageRole.USER:
            text = message.content if isinstance(message.content, str) else message.content[0]["text"]
            return place if text.startswith(f"{GUIDANCE}:") else None
    return None


def provider_messages(compiled: CompiledChatRequest) -> list[dict[str, Any]]:
    """Return the messages as the role-and-content mappings that chat APIs take; the lists in them are copies.

    An adapter starts from here or from `compiled.messages` and never goes back to the records.
    """
    return [{"role": message.role.value, "content": deepcopy(message.content)} for message in compiled.messages]
