"""The host's mark of where a run's new messages begin, kept right when an edit is taken back.

The host counts the mark on the list its before-hooks leave, and does not count again when a request fails, so putting
removed messages back would move old ones into `new_messages()`. Nothing public reaches the mark: it is found through
the innermost handler, and where that has another shape it is left alone. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

from typing import Any


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
