"""One request step of a run: what it has done so far, and what the core is told about its request.

The hooks that fill it are in `adapter.py`; a step is one logical request, with all attempts at it.
"""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequestPart, ModelResponse, ModelResponsePart
from pydantic_ai.models import Model
from pydantic_ai.tools import RunContext

from kedi_compile.assembly.run import AssembledStep
from kedi_compile.dump.recording import RequestRecord
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.flow import Staged
from kedi_pydantic_ai import lists
from kedi_pydantic_ai.continuation import serving_names


class Step:
    """What one request step has done so far."""

    def __init__(self, marks: Any = None) -> None:
        self.marks = marks
        self.info: RequestInfo | None = None
        self.staged: Staged[ModelMessage] | None = None
        self.snapshot: tuple[ModelRequestPart | ModelResponsePart, ...] = ()
        self.written: lists.Written | None = None
        self.validated: list[ModelMessage] = []
        self.response: ModelResponse | None = None
        self.assembled: AssembledStep | None = None
        self.system: str | None = None
        self.record: RequestRecord | None = None
        self.stream_error: Exception | None = None


def request_info(ctx: RunContext[Any], model: Model) -> RequestInfo:
    """Return what the core is told about the request of a step, which goes to `model`."""
    location = (ctx.metadata or {}).get("source_location")
    return RequestInfo(
        model_id=model.model_id,
        request_index=ctx.run_step,
        run_id=ctx.run_id,
        source_location=location if isinstance(location, str) else None,
        model_names=serving_names(model),
        conversation_id=ctx.conversation_id,
        context=ctx.deps,
    )
