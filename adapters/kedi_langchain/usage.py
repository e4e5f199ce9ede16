"""The provider's own counts for a response."""

from __future__ import annotations

from langchain_core.messages import AIMessage, BaseMessage

from kedi_compile.dump.schema import UsageDump


def reported_tokens(response: BaseMessage) -> int | None:
    """Return input plus output tokens of a response, or None where none were reported (an answer from a cache)."""
    usage = response.usage_metadata if isinstance(response, AIMessage) else None
    return (usage.get("input_tokens", 0) + usage.get("output_tokens", 0)) or None if usage else None


def reported_usage(response: BaseMessage | None) -> UsageDump:
    """Return what the provider reported, None for each count that it did not."""
    usage = response.usage_metadata if isinstance(response, AIMessage) else None
    if not usage:
        return UsageDump()
    details = usage.get("input_token_details") or {}
    return UsageDump(
        input=usage.get("input_tokens"),
        output=usage.get("output_tokens"),
        cache_read=details.get("cache_read"),
        cache_write=details.get("cache_creation"),
    )
