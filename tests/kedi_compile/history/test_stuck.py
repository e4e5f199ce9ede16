"""What is said where a processor could free nothing."""

from __future__ import annotations

import pytest

from kedi_compile import HistoryGroup, ProtectedReason
from kedi_compile.history.context import Retention
from kedi_compile.history.stuck import stuck_text


def held(*reasons: ProtectedReason) -> Retention:
    """Return what a call found that had to keep one group for each of these reasons."""
    groups = tuple(
        HistoryGroup(f"g{number}", number, number + 1, closed=True, protected_reasons=frozenset({reason}), origins=())
        for number, reason in enumerate(reasons)
    )
    return Retention(eligible=0, limit=0, held=groups)


@pytest.mark.parametrize(
    ("reason", "way_out"),
    [
        (ProtectedReason.SYSTEM, "Keep system text out of the history, for example in an agent's instructions. "),
        (
            ProtectedReason.UNFINISHED,
            (
                "A turn that ends with a tool result, as structured output by a tool does, counts as unfinished; let "
                "turns end with an answer of the model. "
            ),
        ),
        (ProtectedReason.GUIDANCE, "Give the policy to the framework, and compile the turn without a system record. "),
        (
            ProtectedReason.SIGNED_REASONING,
            "Allow whole old groups to go with reasoning_protection='open_cycle'. ",
        ),
        (ProtectedReason.PENDING_TOOL_CALL, ""),
    ],
)
def test_a_protection_comes_with_its_way_out(reason: ProtectedReason, way_out: str) -> None:
    """One that nobody can do anything about is named alone."""
    assert stuck_text(held(reason)) == (
        "The history processor could free nothing: every group before the current request is protected "
        f"(1 by {reason}). {way_out}Silence with warnings.filterwarnings('ignore', category=HistoryProtectedWarning)"
    )


def test_protections_are_named_once_in_order() -> None:
    """However many groups each of them holds."""
    reasons = (ProtectedReason.UNFINISHED, ProtectedReason.SYSTEM, ProtectedReason.UNFINISHED)

    assert "(3 by system, unfinished)" in stuck_text(held(*reasons))
