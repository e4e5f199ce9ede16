"""Pydantic AI keeps two lists: the request's messages, and the run's own history; an edit is written to both.

The rule: the request gets the edited list; the run's history gets the same, less the messages another capability
showed to this request only, and with those it kept from it. What was written can be taken back as if it had never
been, also when the host has added messages behind it. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelResponse


@dataclass(frozen=True, slots=True)
class Written:
    """An edit in the run's `history`: what the list held before and after."""

    history: list[ModelMessage]
    old: tuple[ModelMessage, ...]
    new: tuple[ModelMessage, ...]

    @property
    def is_answered(self) -> bool:
        """Whether the host has put a response behind the edited messages."""
        return any(isinstance(message, ModelResponse) for message in self.history[len(self.new) :])

    @property
    def removed(self) -> int:
        """How many messages fewer the edit left; negative if it added some."""
        return len(self.old) - len(self.new)

    def undo(self) -> None:
        """Put the old messages back in place of the edited ones; what the host added since stays behind them.

        The current request is left to the host, which may have replaced it by a copy with more in it.
        """
        history, prefix = self.history, len(self.new) - 1
        if _ids(history[:prefix]) == _ids(self.new[:-1]):
            history[:prefix] = self.old[:-1]
        else:
            known = _ids(self.new) | _ids(self.old)
            history[:] = [*self.old, *(message for message in history if id(message) not in known)]


def write(history: list[ModelMessage], shown: Sequence[ModelMessage], edited: Sequence[ModelMessage]) -> Written:
    """Replace the run's `history` in place by the edit of what was `shown`, and return how to take it back."""
    old = tuple(history)
    persistent = _ids(history)
    request_only = _ids(shown) - persistent
    new = [message for message in edited if id(message) not in request_only]
    hidden = persistent - _ids(shown)
    if hidden:
        new = _with_hidden(old, new, hidden)
    history[:] = new
    return Written(history, old, tuple(new))


def _with_hidden(old: Sequence[ModelMessage], new: list[ModelMessage], hidden: set[int]) -> list[ModelMessage]:
    """Put messages the edit never saw back behind the one they followed, or first."""
    out = list(new)
    before: ModelMessage | None = None
    for message in old:
        if id(message) in hidden:
            place = next((index + 1 for index, kept in enumerate(out) if kept is before), 0)
            out.insert(place, message)
            before = message
        elif any(kept is message for kept in new):
            before = message
    return out


def _ids(messages: Sequence[ModelMessage]) -> set[int]:
    return {id(message) for message in messages}
