"""What stands in an instruction, in which order, and what counts as not there.

Source: Turn specification, D2 (Render immutable provider-neutral messages).
"""

from __future__ import annotations

from typing import Any

from .contents import text_of
from .project import InstructionView
from .records import System
from .response_format import example_text, schema_of


def is_absent(value: Any) -> bool:
    """Tell whether a section has nothing to show: None, empty text, or an empty list, tuple or mapping."""
    return value is None or (isinstance(value, str | list | tuple | dict) and not value)


def sections_of(view: InstructionView) -> dict[str, Any]:
    """Return the sections of an instruction that have something to show, in their order."""
    sections = {
        "Guidance": view.guidance,
        "Instruction": view.instruction,
        "Context": view.prompt_context,
        "Tools": view.tool_schemas,
        "ResponseSchema": schema_of(view.response_format),
        "ResponseFormat": example_text(view.response_format),
    }
    return {name: value for name, value in sections.items() if not is_absent(value)}


def system_text(system: System) -> str:
    """Return the text of a system record: the time it is told, if any, an empty line, and its message."""
    content = system.content
    parts = [f"System Time: {content.system_datetime}"] if content.system_datetime else []
    return "\n\n".join([*parts, text_of(content.system_message, "system_message")])
