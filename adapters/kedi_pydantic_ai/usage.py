"""The provider's own counts for a response."""

from __future__ import annotations

from pydantic_ai.messages import ModelResponse

from kedi_compile.dump.schema import UsageDump


def reported_tokens(response: ModelResponse) -> int | None:
    """Return input plus output tokens of a response, or None where the provider reported none."""
    usage = response.usage
    return (usage.input_tokens + usage.output_tokens) or None


def reported_usage(response: ModelResponse | None) -> UsageDump:
    """Return what the provider reported, None for each count that it did not."""
    if response is None or not response.usage.has_values():
        return UsageDump()
    usage = response.usage
    return UsageDump(
        input=usage.input_tokens,
        output=usage.output_tokens,
        cache_read=usage.cache_read_tokens,
        cache_write=usage.cache_write_tokens,
    )
