"""The conversation as LangChain's messages, with the ids a graph gives each of them."""

from __future__ import annotations

from typing import Any

import orjson
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolCall, ToolMessage
from langchain_core.messages.ai import UsageMetadata

from benchmarks.author import Author


class LangChainAuthor(Author[BaseMessage]):
    """Writes human, AI and tool messages."""

    def _prompt(self, text: str) -> HumanMessage:
        return HumanMessage(text, id=self._id())

    def _call(self, text: str, args: dict[str, Any], call_id: str) -> AIMessage:
        return self._response(text, ToolCall(name="search", args=args, id=call_id, type="tool_call"))

    def _result(self, content: dict[str, Any], call_id: str) -> ToolMessage:
        return ToolMessage(orjson.dumps(content).decode(), name="search", tool_call_id=call_id, id=self._id())

    def _answer(self, text: str) -> AIMessage:
        return self._response(text)

    def _response(self, text: str, *calls: ToolCall) -> AIMessage:
        return AIMessage(
            text,
            tool_calls=list(calls),
            usage_metadata=UsageMetadata(input_tokens=1000, output_tokens=100, total_tokens=1100),
            response_metadata={"model_name": "bench", "model_provider": "bench", "stop_reason": "end_turn"},
            id=self._id(),
        )

    def _id(self) -> str:
        return f"{self._random.getrandbits(128):032x}"
