"""The conversation as Pydantic AI's messages."""

from __future__ import annotations

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

from benchmarks.author import Author

_WHEN = datetime(2026, 1, 1, tzinfo=UTC)


class PydanticAuthor(Author[ModelMessage]):
    """Writes requests and responses."""

    def _prompt(self, text: str) -> ModelRequest:
        return ModelRequest([UserPromptPart(text, timestamp=_WHEN)], timestamp=_WHEN)

    def _call(self, text: str, args: dict[str, Any], call_id: str) -> ModelResponse:
        return _response(TextPart(text), ToolCallPart("search", args, tool_call_id=call_id))

    def _result(self, content: dict[str, Any], call_id: str) -> ModelRequest:
        part = ToolReturnPart("search", content, tool_call_id=call_id, timestamp=_WHEN)
        return ModelRequest([part], timestamp=_WHEN)

    def _answer(self, text: str) -> ModelResponse:
        return _response(TextPart(text))


def _response(*parts: TextPart | ToolCallPart) -> ModelResponse:
    usage = RequestUsage(input_tokens=1000, output_tokens=100)
    return ModelResponse(list(parts), usage=usage, model_name="bench", provider_name="bench", timestamp=_WHEN)
