"""The provider's own count for a response, as one number."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage


def reported_tokens(response: BaseMessage) -> int | None:
    """Return input plus output tokens of a response, or None where none were reported (an answer from a cache)."""
    usage = response.usage_metadata if isinstance(response, AIMessage) else None
    return (usage.get("input_tokens", 0) + usage.get("output_tokens", 0)) or None if usage else None
