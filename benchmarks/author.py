"""The conversation every row works on: mixed text, tool calls and tool results, about 1.3 KB of JSON a message.

A cycle is four messages: the user asks, the model calls a tool, the tool answers, the model answers. A history of `n`
messages is n/4 cycles and the prompt of the current request behind them. All texts are ASCII and seeded, so both
stacks get the same words; how a message holds them is in the `histories.py` of each.
"""

from __future__ import annotations

import random
from abc import ABC, abstractmethod
from typing import Any, Generic, TypeVar

MessageT = TypeVar("MessageT")

_WORDS = ("alpha", "beta", "gamma", "delta", "the", "of", "cost", "tool", "result", "order", "invoice", "shipped")


class Author(ABC, Generic[MessageT]):
    """Writes the messages of one conversation; two authors with one seed write the same."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)  # noqa: S311  # texts, not secrets
        self._calls = 0

    def history(self, count: int) -> list[MessageT]:
        """Return `count` messages (a multiple of four) and the prompt of the current request."""
        cycles = [message for _ in range(count // 4) for message in self._cycle()]
        return [*cycles, self._prompt("And now?")]

    def call(self) -> MessageT:
        """Return a model response that says a sentence and calls a tool."""
        self._calls += 1
        options = {"limit": self._calls, "tags": [self._text(2), self._text(2)], "body": self._text(90)}
        args: dict[str, Any] = {"query": self._text(30), "options": options}
        return self._call(self._text(20), args, f"call_{self._calls}")

    def result(self) -> MessageT:
        """Return the message that carries the result of the last `call`."""
        rows = [{"id": row, "text": self._text(18), "ok": True} for row in range(8)]
        return self._result({"rows": rows, "next": None}, f"call_{self._calls}")

    def answer(self) -> MessageT:
        """Return a model response that ends a cycle."""
        return self._answer(self._text(135))

    def _cycle(self) -> list[MessageT]:
        return [self._prompt(self._text(130)), self.call(), self.result(), self.answer()]

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(_WORDS, k=words))

    @abstractmethod
    def _prompt(self, text: str) -> MessageT: ...

    @abstractmethod
    def _call(self, text: str, args: dict[str, Any], call_id: str) -> MessageT: ...

    @abstractmethod
    def _result(self, content: dict[str, Any], call_id: str) -> MessageT: ...

    @abstractmethod
    def _answer(self, text: str) -> MessageT: ...
