"""What the host keeps of a run beside its messages: where the new ones begin, and the prompt; kept right.

The host counts its mark on the list its before-hooks leave, and does not count again when a request fails, so putting
removed messages back would move old ones into `new_messages()`. Nothing public reaches mark and prompt: they are found
through the innermost handler, and where that has another shape they are left alone. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import UserContent
from pydantic_ai.tools import RunContext

Prompt = str | Sequence[UserContent]


def run_marks(handler: Any) -> Any:
    """Return the object that holds a run's marks, given the host's own request handler, or None."""
    names: tuple[str, ...] = getattr(getattr(handler, "__code__", None), "co_freevars", ())
    cells: tuple[Any, ...] = getattr(handler, "__closure__", None) or ()
    cell = next((cell for name, cell in zip(names, cells, strict=False) if name == "ctx"), None)
    return None if cell is None else getattr(cell.cell_contents, "deps", None)


def shift(marks: Any, by: int) -> None:
    """Move the marks by a number of messages."""
    for name in ("new_message_index", "resumed_request_index"):
        if isinstance(index := getattr(marks, name, None), int):
            setattr(marks, name, index + by)


def show_prompt(marks: Any, ctx: RunContext[Any], prompt: Prompt) -> None:
    """Make the edited prompt the one that hooks and tools see as `ctx.prompt`, in this step and in later ones.

    The tools of the first step hold a context that the host made before any request.
    """
    ctx.prompt = prompt
    if ctx.tool_manager is not None and ctx.tool_manager.ctx is not None:
        ctx.tool_manager.ctx.prompt = prompt
    if hasattr(marks, "prompt"):
        marks.prompt = prompt
