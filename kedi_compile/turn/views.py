"""What one call shows of a record: the steps from projecting to rendering pass these on.

A view is made for one compilation and thrown away with it. It holds the durable part of a content and, under
`call_sections`, what holds for the current call alone. Source: Turn specification, D1 and D2.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any
from uuid import UUID

from kedi_compile.errors import TurnCompileError

from .records import Instruction
from .refusals import blaming


@dataclass(frozen=True, slots=True)
class InstructionView:
    """An instruction as this one call shows it.

    `result_ids` are the records that the last items of `prompt_context` come from; `call_sections` are plain values by
    their titles.
    """

    record_id: UUID
    instruction: Any = None
    guidance: Any = None
    prompt_context: tuple[Any, ...] = ()
    plain_content: str | None = None
    images: tuple[str, ...] = ()
    image_detail: str | None = None
    result_ids: tuple[UUID, ...] = ()
    call_sections: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, slots=True)
class AssistantView:
    """An answer as this one call shows it; of several in a row, `record_id` is the first one's."""

    record_id: UUID
    assistant_response: str


View = InstructionView | AssistantView


def view_of(record: Instruction) -> InstructionView:
    """Return the durable part of an instruction as a view.

    Raises:
        TurnCompileError: the context or the images are no list.
    """
    content = record.content
    with blaming(record.id):
        return InstructionView(
            record_id=record.id,
            instruction=content.instruction,
            guidance=content.guidance,
            prompt_context=_several(content.prompt_context, "prompt_context"),
            plain_content=content.plain_content,
            images=_several(content.images, "images"),
            image_detail=content.image_detail,
        )


def _several(values: object, field: str) -> tuple[Any, ...]:
    if isinstance(values, list | tuple):
        return tuple(values)
    raise TurnCompileError(f"`{field}` is a {type(values).__name__}; it must be a list", path=field)


def is_absent(value: Any) -> bool:
    """Tell whether a section has nothing to show: None, empty text, or an empty list, tuple or mapping."""
    return value is None or (isinstance(value, str | list | tuple | dict) and not value)
