"""The history every row works on: mixed text, tool calls and tool results, about 1.3 KB of JSON a message.

A cycle is four messages: the user asks, the model calls a tool, the tool answers, the model answers. A history of `n`
messages is n/4 cycles and the prompt of the current request behind them. All texts are ASCII and seeded.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime
from typing import Any

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)
from pydantic_ai.usage import RequestUsage

_WORDS = ("alpha", "beta", "gamma", "delta", "the", "of", "cost", "tool", "result", "order", "invoice", "shipped")
_WHEN = datetime(2026, 1, 1, tzinfo=UTC)


class Author:
    """Writes the messages of one conversation; two authors with one seed write the same."""

    def __init__(self, seed: int = 1) -> None:
        self._random = random.Random(seed)  # noqa: S311  # texts, not secrets
        self._calls = 0

    def history(self, count: int) -> list[ModelMessage]:
        """Return `count` messages (a multiple of four) and the prompt of the current request."""
        cycles = [message for _ in range(count // 4) for message in self._cycle()]
        return [*cycles, _request(UserPromptPart("And now?", timestamp=_WHEN))]

    def call(self) -> ModelResponse:
        """Return a model response that says a sentence and calls a tool."""
        self._calls += 1
        options = {"limit": self._calls, "tags": [self._text(2), self._text(2)], "body": self._text(90)}
        args: dict[str, Any] = {"query": self._text(30), "options": options}
        return self._response(TextPart(self._text(20)), ToolCallPart("search", args, tool_call_id=self._call_id))

    def result(self) -> ModelRequest:
        """Return the request that carries the result of the last `call`."""
        rows = [{"id": row, "text": self._text(18), "ok": True} for row in range(8)]
        content = {"rows": rows, "next": None}
        return _request(ToolReturnPart("search", content, tool_call_id=self._call_id, timestamp=_WHEN))

    def answer(self) -> ModelResponse:
        """Return a model response that ends a cycle."""
        return self._response(TextPart(self._text(135)))

    def _cycle(self) -> list[ModelMessage]:
        prompt = _request(UserPromptPart(self._text(130), timestamp=_WHEN))
        return [prompt, self.call(), self.result(), self.answer()]

    def _response(self, *parts: TextPart | ToolCallPart) -> ModelResponse:
        usage = RequestUsage(input_tokens=1000, output_tokens=100)
        return ModelResponse(list(parts), usage=usage, model_name="bench", provider_name="bench", timestamp=_WHEN)

    @property
    def _call_id(self) -> str:
        return f"call_{self._calls}"

    def _text(self, words: int) -> str:
        return " ".join(self._random.choices(_WORDS, k=words))


def _request(part: UserPromptPart | ToolReturnPart) -> ModelRequest:
    return ModelRequest([part], timestamp=_WHEN)
