"""The OpenTelemetry span around one request's history processing; needs `opentelemetry-api`.

The rule: a span names the model and holds numbers of the edit, never a text of the conversation; of what a user's
callback raised it holds the type alone, because such a message may quote anything. Attributes follow the GenAI
conventions where those have a word for it; they have none for this operation, so `gen_ai.operation.name` is left out.
Times are OpenTelemetry's own. Whether there is a span at all is in `tracing.py`.
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping
from typing import Final

from opentelemetry import context as otel_context
from opentelemetry import trace

from kedi_compile.errors import HistoryProcessingValidationError

SPAN_NAME: Final = "process history"

tracer = trace.get_tracer("kedi_compile")

_PROVIDERS: Final = {
    "amazon_bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "bedrock": "aws.bedrock",
    "google": "gcp.gemini",
    "google-cloud": "gcp.vertex_ai",
    "google-gla": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "google_genai": "gcp.gemini",
    "google_vertexai": "gcp.vertex_ai",
    "grok": "x_ai",
    "mistral": "mistral_ai",
    "mistralai": "mistral_ai",
    "watsonx": "ibm.watsonx.ai",
    "xai": "x_ai",
}
"""A provider as the frameworks name it -> its name in the conventions, where the two differ."""


class HistorySpan:
    """A recording span, current from its making to its end; made and ended in the same context."""

    def __init__(self, span: trace.Span, model_id: str) -> None:
        self._span = span
        provider, _, model = model_id.partition(":")
        self._span.set_attributes(
            {"gen_ai.provider.name": _PROVIDERS.get(provider, provider), "gen_ai.request.model": model}
        )
        self._token = otel_context.attach(trace.set_span_in_context(span))

    def end(self, facts: Mapping[str, str | int]) -> None:
        """End it with what is known of the edit, by name."""
        self._span.set_attributes({f"kedi.history.{name}": value for name, value in facts.items()})
        self._finish()

    def fail(self, error: BaseException) -> None:
        """End it with what kept the request from being sent; a cancelled one is no error."""
        outcome = "refused" if isinstance(error, Exception) else "cancelled"
        self._span.set_attribute("kedi.history.outcome", outcome)
        if isinstance(error, Exception):
            self._record(error)
        self._finish()

    def _record(self, error: Exception) -> None:
        name = type(error.__cause__ or error).__qualname__
        self._span.set_attribute("error.type", name)
        if isinstance(error, HistoryProcessingValidationError):
            # Without the errors behind it and its notes, which are other people's and may quote anything.
            stack = "".join(traceback.format_tb(error.__traceback__))
            self._span.record_exception(error, {"exception.stacktrace": f"{stack}{name}: {error}"})
            self._span.set_status(trace.StatusCode.ERROR, str(error))
        else:
            self._span.add_event("exception", {"exception.type": name})
            self._span.set_status(trace.StatusCode.ERROR, name)

    def _finish(self) -> None:
        otel_context.detach(self._token)
        self._span.end()


def begin(model_id: str) -> HistorySpan | None:
    """Begin a span and make it current, unless nobody records it; then nothing else is done."""
    span = tracer.start_span(SPAN_NAME)
    return HistorySpan(span, model_id) if span.is_recording() else None
