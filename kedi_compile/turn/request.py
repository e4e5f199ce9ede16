"""What a caller hands to the compiler for one turn, and what comes back.

The exact contract of the specification: frozen, so no field is reassigned. What a request holds is the caller's; the
compiled request holds copies of its own and a read-only view of the provider's keyword arguments. Source: Turn
specification, D1.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from uuid import UUID

from pydantic import BaseModel

from kedi_compile.message import CompiledMessage

from .records import Instruction

ResponseFormat = type[BaseModel] | BaseModel | dict[str, Any]


@dataclass(frozen=True, slots=True)
class ContextBlock:
    """Retrieved text with the name of its source; it is data, and no one's policy.

    Both fields must be non-empty when a request with the block is compiled.
    """

    provider_name: str
    content: str


@dataclass(frozen=True, slots=True)
class TurnRequest:
    """One turn: what is asked, which records it is asked after, and what holds for this call alone.

    - `progression`: the ids to read, in order; None for the branch's own order, an empty tuple for no history.
    - `tool_schemas`: shown to the model as text, one mapping for each tool.
    - `response_format`: a pydantic model or its class, shown by its schema and an example, or a mapping that is the
      example.
    - `structure`: accepted, and not shown in this version.
    - `context_blocks`: retrieved text, shown in this order.
    - `provider_kwargs`: arguments for whoever sends the request; "messages" is not among them.
    """

    instruction: Instruction
    progression: tuple[UUID, ...] | None = None
    tool_schemas: tuple[dict[str, Any], ...] = ()
    response_format: ResponseFormat | None = None
    structure: type[Any] | str | None = None
    context_blocks: tuple[ContextBlock, ...] = ()
    provider_kwargs: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class CompiledChatRequest:
    """One exact request.

    `instruction` is the record to keep once the model has answered: the caller's, copied, without what held for this
    call alone. `messages` are in the order they are sent. Nothing in here is shared with the branch or the request.
    """

    instruction: Instruction
    messages: tuple[CompiledMessage, ...]
    provider_kwargs: Mapping[str, Any]
