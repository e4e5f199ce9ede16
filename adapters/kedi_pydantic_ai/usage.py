"""The provider's own count for a response, as one number."""

from __future__ import annotations

from pydantic_ai.messages import ModelResponse


def reported_tokens(response: ModelResponse) -> int | None:
    """Return input plus output tokens of a response, or None where the provider reported none."""
    usage = response.usage
    return (usage.input_tokens + usage.output_tokens) or None
