"""`user_prompt_submit`: the user's prompt as it enters a turn.

The rule: the hook runs once, before anything of the turn is measured, stored or sent, so transport, budget, telemetry
and history all hold what it returned, which is of the prompt's own kind: text for text, a sequence for a sequence.
Source: History specification, Stateful Conversation History.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from typing import Any, TypeVar

from kedi_compile.errors import HistoryProcessingError
from kedi_compile.question import Question

PromptT = TypeVar("PromptT")

UserPromptSubmit = Callable[[Any], Any]
"""A function of the prompt that returns the prompt to use, or an awaitable of it.

Whether it takes a text or a sequence is for its author to know: a function of texts alone is as good as one of both.
"""


def submit(hook: UserPromptSubmit, prompt: PromptT) -> Generator[Question, object, PromptT]:
    """Ask the hook for the prompt to use.

    Raises:
        HistoryProcessingError: the hook failed, or returned another kind of prompt.
    """
    edited = yield Question("prompt", hook, prompt)
    if _kind(edited) is not _kind(prompt):
        msg = (
            f"`user_prompt_submit` returned {type(edited).__name__}; it must return {_kind(prompt).__name__}, as given"
        )
        raise HistoryProcessingError(msg)
    return edited  # type: ignore[return-value]  # its kind was just checked


def _kind(prompt: object) -> type:
    if isinstance(prompt, str):
        return str
    return list if isinstance(prompt, Sequence) and not isinstance(prompt, bytes) else type(prompt)
