"""Reasoning that a provider wants back: when it protects a group, and when an edit invalidates it.

Two rules. Signed reasoning protects its group for good, or with `reasoning_protection="open_cycle"` only while the
group is the current or an unfinished one. Prefix-bound reasoning, on the models of the table, is valid only while
every earlier message is as it was: an edit before it is refused, or strips it from kept closed groups. Source:
History specification, Atomic Groups; the binding models: vendor documentation of preserved thinking, 2026-09.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from kedi_compile.dialect import ProtectedReason
from kedi_compile.history.groups import Span

ReasoningProtection = Literal["always", "open_cycle"]
BoundReasoning = Literal["refuse", "strip"]

BINDING_MODELS: tuple[str, ...] = (
    r"claude-fable-5[-.][12]",
    r"claude-mythos-5[-.]2",
    r"claude-opus-5[-.]5",
    r"claude-sonnet-5[-.]5",
    r"claude-haiku-5[-.]5",
)
"""Models that bind thinking to its prefix, as patterns on the model name, wherever they are served.

Checked on 2026-11-30. For accounts created since 2026-08-31 the API answers 400 to a broken prefix; for the two
`5.2` models of Fable and Mythos on every account.
"""

_BINDING = re.compile("|".join(f"(?:{pattern})(?![0-9])" for pattern in BINDING_MODELS))


def binds_reasoning(model_names: Iterable[str]) -> bool:
    """Tell whether any of the models that may serve a request is known to bind reasoning to its prefix."""
    return any(_BINDING.search(name) for name in model_names)


def protect_reasoning(spans: Sequence[Span], protection: ReasoningProtection) -> list[Span]:
    """Return the spans with signed reasoning counted as a reason where `protection` says so."""
    if protection == "always":
        return list(spans)
    free = frozenset({ProtectedReason.SIGNED_REASONING})
    return [span._replace(reasons=span.reasons - free) if span.closed else span for span in spans]
