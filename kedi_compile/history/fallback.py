"""What an attempt at a model that came late, behind a fallback, may break: reasoning that this model binds.

The rule: the edit was proved, and the request assembled, for another model. One that binds reasoning refuses what the
edit left behind a change, and what earlier runs assembled texts around. Which models bind is in `reasoning.py`; what an
edit does about it in time is in `binding.py`. Source: provider documentation of preserved thinking; History
specification, Editing Boundaries.
"""

from __future__ import annotations

from typing import Any

from kedi_compile.errors import Violation, entries_text
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.flow import Staged
from kedi_compile.history.revision import Revision


def refused_edit(staged: Staged[Any], model_names: tuple[str, ...]) -> Violation | None:
    """Return why one of these models, which bind reasoning, refuses an edit; None where none does."""
    if not staged.bound:
        return None
    return _refusal(
        staged.bound,
        f"the unedited history by {model_names[0]}; keep what stands before them, drop their groups, or use "
        "bound_reasoning='strip'",
    )


def refused_assembly(revision: Revision[Any], info: RequestInfo, model_names: tuple[str, ...]) -> Violation | None:
    """Return why one of these models refuses an assembled request with this history; None where none does.

    Reasoning of the current run is none of it: the texts around that are sent again.
    """
    own = 0 if info.request_index == 1 or not revision.spans else len(revision.messages) - revision.spans[-1].start
    earlier = revision.facts[: len(revision.messages) - own]
    bound = tuple(entry for entry, fact in enumerate(earlier) if fact.bound)
    if not bound:
        return None
    return _refusal(
        bound,
        f"what earlier runs assembled around it by {model_names[0]}; fall back to a model that does not bind it, or "
        "set bound_reasoning='strip', which holds for every model",
    )


def _refusal(entries: tuple[int, ...], to_what: str) -> Violation:
    return Violation("bound_reasoning", f"Reasoning in {entries_text(entries)} is bound to {to_what}", entries=entries)
