"""Recorded histories as the next request of a real run, and what that run puts on the wire.

A history that ends in a response gets what a user would do next: open calls are answered, otherwise a prompt is
added. `Stage` runs a real agent over it on an in-process transport, with or without an adapter, and keeps the bytes.
"""

import asyncio
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ToolReturnPart, UserPromptPart
from pydantic_ai.models import Model
from pydantic_ai.settings import ModelSettings
from pydantic_ai.toolsets import ExternalToolset

from bodies import APIS, SETTINGS, Api, tools_of
from kedi_pydantic_ai import PydanticAdapter
from recorded import Recording, histories
from wire.reading import Body, mapping_of
from wire.refusal import Refusal

NEXT = "And what follows from that?"
_THINKING = {"anthropic_thinking": {"type": "enabled", "budget_tokens": 1_024}}
_OWN_SETTINGS: Mapping[str, Mapping[str, object]] = {
    # What the recorded requests were sent with.
    "anthropic_mcp_connector": _THINKING,
    "anthropic_redacted_thinking_2turns": _THINKING,
    "anthropic_signed_thinking_tool_loop": _THINKING,
    "anthropic_web_search_thinking": _THINKING,
    "openai_responses_modified_history_400": {"openai_send_reasoning_ids": False},
}


@dataclass(frozen=True)
class Stage:
    """A history ready for its next request, and the API it goes to."""

    name: str
    api: Api
    model_name: str
    history: tuple[ModelMessage, ...]
    settings: Mapping[str, object] = field(default_factory=dict)

    def sent(self, adapter: PydanticAdapter[Any] | None = None) -> list[bytes]:
        """Return the bytes of every request that a run over the history sends; the transport refuses each."""
        model, kept = _model(self.api.name, self.model_name)
        kept.clear()
        toolset: ExternalToolset[None] = ExternalToolset(tools_of(self.history).function_tools)
        agent = Agent(model, capabilities=[adapter] if adapter else [], toolsets=[toolset])
        settings = ModelSettings(**SETTINGS, **self.settings)  # type: ignore[typeddict-item]  # providers' own keys
        try:
            asyncio.run(agent.run(message_history=list(self.history), model_settings=settings))
        except ModelHTTPError as refused:
            assert refused.status_code == 400  # noqa: PT017  # the transport's own answer
        return list(kept)

    def refusals(self, sent: bytes, **known: Any) -> tuple[Refusal, ...]:
        """Return what the provider would answer to these bytes; empty means accepted."""
        return self.api.judge(parsed(sent), self.model_name, **known)


def parsed(sent: bytes) -> Body:
    """Return a request body as JSON."""
    return mapping_of(json.loads(sent))


def stages() -> tuple[Stage, ...]:
    """Return every history of the corpus as its next request."""
    return tuple(stage_of(recording) for recording in histories() if recording.messages)


def stage_of(recording: Recording) -> Stage:
    """Return one recorded history as its next request."""
    name = next(message.model_name for message in recording.messages if isinstance(message, ModelResponse))
    settings = _OWN_SETTINGS.get(recording.cassette, {})
    return Stage(recording.name, api_of(recording), name or "", continued(recording.messages), settings)


def api_of(recording: Recording) -> Api:
    """Return the API a recording was made with; its name begins with it."""
    name = recording.name.replace("deepseek_chat", "deepseek")
    return APIS[max((known for known in APIS if name.startswith(known)), key=len)]


def continued(messages: Sequence[ModelMessage]) -> tuple[ModelMessage, ...]:
    """Return the history with its next request: results for calls that wait for them, else a prompt."""
    last = messages[-1]
    if isinstance(last, ModelRequest):
        return tuple(messages)
    results = [ToolReturnPart(call.tool_name, "done", tool_call_id=call.tool_call_id) for call in last.tool_calls]
    return (*messages, ModelRequest(parts=list(results) or [UserPromptPart(NEXT)]))


@cache
def _model(api: str, model_name: str) -> tuple[Model, list[bytes]]:
    kept: list[bytes] = []
    return APIS[api].recorder(kept.append, model_name), kept
