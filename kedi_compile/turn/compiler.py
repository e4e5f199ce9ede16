"""The compiler: a branch and a turn request become one exact request, in five steps.

Each step has its own file and names what it refuses. Nothing the caller owns changes, and nothing of it is kept; the
same branch and request give the same bytes. There is one compilation: how a request is executed (streamed, resumed,
with a deadline) is not decided here and never enters it. Source: Turn specification, D1, D2, D4 and D5.
"""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from types import MappingProxyType, UnionType
from typing import Any, TypeVar

from kedi_compile.errors import TurnCompileError

from .branch import Branch
from .contents import InstructionContent
from .fold import fold
from .order import in_order
from .project import project
from .records import Instruction
from .render import render
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
    records = select(branch, request.progression)
    history, current = project(records, request)
    ordered = in_order(history, has_system=system is not None)
    contents = fold(ordered, current, system, request.context_blocks)
    messages = render(contents)
    kwargs = _copied(dict(request.provider_kwargs), "provider_kwargs")
    return CompiledChatRequest(_durable(request.instruction), messages, MappingProxyType(kwargs))


def _refuse_unusable(branch: Branch, request: TurnRequest) -> None:
    _refuse_other("branch", branch, Branch, "it must be a kedi_compile.turn.Branch, which kedi_lionagi.to_branch makes")
    _refuse_other("request", request, TurnRequest, "it must be a TurnRequest")
    _refuse_other("instruction", request.instruction, Instruction, "it must be a record, made by Instruction.create")
    _refuse_other("tool_schemas", request.tool_schemas, list | tuple, "it must be a tuple of mappings")
    _refuse_other("context_blocks", request.context_blocks, list | tuple, "it must be a tuple of ContextBlock")
    _refuse_other("provider_kwargs", request.provider_kwargs, Mapping, "it must be a mapping")
    if "messages" in request.provider_kwargs:
        raise TurnCompileError(RESERVED)


def _refuse_other(name: str, value: object, kind: type | UnionType, right: str) -> None:
    if not isinstance(value, kind):
        found = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
        raise TurnCompileError(f"`{name}` is a {found}; {right}", path=name)


def _durable(instruction: Instruction) -> Instruction:
    """Copy the record to keep: its identity, and the content's durable fields alone."""
    held = instruction.content
    content = InstructionContent(
        instruction=held.instruction,
        guidance=held.guidance,
        prompt_context=held.prompt_context,
        plain_content=held.plain_content,
        images=held.images,
        image_detail=held.image_detail,
    )
    return Instruction(
        content=_copied(content, "content"),
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


def provider_messages(compiled: CompiledChatRequest) -> list[dict[str, Any]]:
    """Return the messages as the role-and-content mappings that chat APIs take; the lists in them are copies.

    An adapter starts from here or from `compiled.messages` and never goes back to the records.
    """
    return [{"role": message.role.value, "content": deepcopy(message.content)} for message in compiled.messages]
