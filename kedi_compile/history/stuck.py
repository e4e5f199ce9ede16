"""What is said where a processor could free nothing, because every group before the current request is protected.

The rule: name how many groups had to stay, by what, and for each protection that the caller can do something about what
that is. When it is said, and how often, is in `session.py`. Source: History specification, Atomic Groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from kedi_compile.dialect import ProtectedReason
from kedi_compile.history.context import Retention

_WAYS_OUT: Final[Mapping[ProtectedReason, str]] = MappingProxyType(
    {
        ProtectedReason.SYSTEM: "Keep system text out of the history, for example in an agent's instructions. ",
        ProtectedReason.UNFINISHED: "A turn that ends with a tool result, as structured output by a tool does, counts "
        "as unfinished; let turns end with an answer of the model. ",
        ProtectedReason.GUIDANCE: "Give the policy to the framework, and compile the turn without a system record. ",
        ProtectedReason.SIGNED_REASONING: "Allow whole old groups to go with reasoning_protection='open_cycle'. ",
    }
)
"""Protection -> what a caller can do about it."""


def stuck_text(found: Retention) -> str:
    """Return the text of the warning about a call of `keep_recent_groups` that is stuck."""
    reasons = sorted({reason for group in found.held for reason in group.protected_reasons})
    ways_out = "".join(_WAYS_OUT[reason] for reason in reasons if reason in _WAYS_OUT)
    return (
        "The history processor could free nothing: every group before the current request is protected "
        f"({len(found.held)} by {', '.join(reasons)}). {ways_out}Silence with "
        "warnings.filterwarnings('ignore', category=HistoryProtectedWarning)"
    )
