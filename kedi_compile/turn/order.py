"""Step 3: the order a conversation must have, and the merging of answers in a row.

Source: Turn specification, D2 (Validate conversation ordering and merge assistant runs).
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby, pairwise
from typing import Any

from kedi_compile.errors import TurnCompileError

from .views import AssistantView, InstructionView, View

CONSECUTIVE = "Consecutive instructions require an intervening assistant response"
FIRST = "First message in progression must be an Instruction or System"


def arrange(history: Sequence[View], *, has_system: bool) -> list[View]:
    """Return the history with answers in a row merged, once its order is proved.

    Two instructions in a row are refused inside the history only: the last one may stand right before the current.

    Raises:
        TurnCompileError: with one of the two texts above.
    """
    for view, following in pairwise(history):
        if isinstance(view, InstructionView) and isinstance(following, InstructionView):
            raise TurnCompileError(CONSECUTIVE, record_ids=[view.record_id, following.record_id])
    if has_system and history and not isinstance(history[0], InstructionView):
        raise TurnCompileError(FIRST, record_ids=[history[0].record_id])
    return _merged(history)


def _merged(history: Sequence[View]) -> list[View]:
    merged: list[View] = []
    for kind, run in groupby(history, type):
        views = list(run)
        merged += [_joined(views)] if kind is AssistantView else views
    return merged


def _joined(run: Sequence[Any]) -> AssistantView:
    """Join one answer or several; one alone stays what it says."""
    return AssistantView(run[0].record_id, "\n\n".join(view.assistant_response for view in run))
