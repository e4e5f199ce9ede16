"""Processors and conditions that are known by one letter, and what holds of them in a scope."""

from __future__ import annotations

from typing import Any

from kedi_compile.conversation.scope import current_scope
from kedi_compile.history.policy import HistoryPolicy
from toy import Message


class Named:
    """A callback that is known by one letter."""

    def __init__(self, letter: str) -> None:
        self.letter = letter

    def __call__(self, given: Any) -> Any:
        return given


A, O, I = Named("A"), Named("O"), Named("I")  # noqa: E741  # the adapter's, the outer and the inner processor
a, o, i = Named("a"), Named("o"), Named("i")  # and their conditions


def letters(policy: HistoryPolicy[Message]) -> str:
    """Write what holds for an adapter with this policy, here."""
    found = current_scope().policy(policy)
    named = [one.letter for one in (found.processor, found.condition) if isinstance(one, Named)]
    return "".join(named) or "-"
