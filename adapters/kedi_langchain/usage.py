"""The provider's own count for a response, as one number."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage


def reported_tokens(response: BaseMessage) -> int | None:
    """Return input plus output tokens of a response, or None where the provider reported none."""
    usage = response.usage_metadata if isinstance(response, AIMessage) else None
    return (usage["input_tokens"] + usage["output_tokens"]) or None if usage else None
