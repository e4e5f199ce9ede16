"""The host's mark of where a run's new messages begin, kept right when an edit is taken back.

The host counts the mark on the list its before-hooks leave, and does not count again when a request fails, so putting
removed messages back would move old ones into `new_messages()`. Nothing public reaches the mark: it is found through
the innermost handlers, and where those have another shape it is left alone. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

from typing import Any


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
