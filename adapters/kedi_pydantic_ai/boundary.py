"""What the host keeps of a run beside its messages: where the new ones begin, and the prompt; kept right.

The host counts its mark on the list its before-hooks leave, and does not count again when a request fails, so putting
removed messages back would move old ones into `new_messages()`. Nothing public reaches mark and prompt: they are found
through the innermost handlers; where those have another shape they are left alone. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pydantic_ai.messages import UserContent

Prompt = str | Sequence[UserContent]


def step_marks(handler: Any) -> Any:
    """Return the object that holds a run's marks, given the host's own handler of a request, or None."""
    return getattr(_held(handler, "ctx"), "deps", None)


def run_marks(handler: Any) -> Any:
    """Return the same object, given the host's own handler of a whole run, or None."""
    return getattr(getattr(_held(_held(handler, "build_result"), "agent_run"), "ctx", None), "deps", None)


def _held(function: Any, name: str) -> Any:
    """What a nested function holds of the one around it, or None."""
    names: tuple[str, ...] = getattr(getattr(function, "__code__", None), "co_freevars", ())
    cells: tuple[Any, ...] = getattr(function, "__closure__", None) or ()
    cell = next((cell for held, cell in zip(names, cells, strict=False) if held == name), None)
    return None if cell is None else cell.cell_contents


def shift(marks: Any, by: int) -> None:
    """Move the marks by a number of messages."""
    for name in ("new_message_index", "resumed_request_index"):
        if isinstance(index := getattr(marks, name, None), int):
            setattr(marks, name, index + by)


def show_prompt(marks: Any, prompt: Prompt) -> None:
    """Make the edited prompt the one that prompt functions, tools and hooks see as `ctx.prompt` from now on."""
    if hasattr(marks, "prompt"):
        marks.prompt = prompt
