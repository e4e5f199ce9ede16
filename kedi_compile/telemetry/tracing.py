"""Whether history processing is traced: it is where `opentelemetry-api` is installed and somebody records spans.

The extra `otel` installs it, and some frameworks bring it along. What a span holds is in `span.py`. Without the API
there is one question to answer for each request, and nothing else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol


class RequestSpan(Protocol):
    """The span of one request, current until it is ended by one of these, in the context that began it."""

    def end(self, facts: Mapping[str, str | int]) -> None:
        """End it with what is known of the edit, by name."""
        ...

    def fail(self, error: BaseException) -> None:
        """End it with what kept the request from being sent."""
        ...


_begin: Callable[[str], RequestSpan | None] | None
try:
    from kedi_compile.telemetry.span import begin as _begin
except ImportError:  # the API is not installed
    _begin = None


def begin_span(model_id: str) -> RequestSpan | None:
    """Begin the span of one request to `provider:name`, and make it current; None where nobody records it."""
    return None if _begin is None else _begin(model_id)
