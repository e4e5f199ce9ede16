"""Which lane of a conversation a request belongs to, read off the request the host is about to make.

Tools count by name and schema, output by its mode and schemas, MCP servers by their ids; what names server-side state
is the conversation's own business and no part of the key. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, cast

from pydantic_ai.models import ModelRequestContext, ModelRequestParameters
from pydantic_ai.tools import RunContext, ToolDefinition
from pydantic_ai.toolsets import AbstractToolset

from kedi_compile.conversation.lanes import SAMPLING, TRANSPORT, LaneKey, lane_key
from kedi_compile.history.continuation import STATE_KEYS
from kedi_pydantic_ai.continuation import STATE_SETTINGS
from kedi_pydantic_ai.dialect import DIALECT

_OWN: Final = STATE_SETTINGS | {"openai_store", "openai_user", "openai_logprobs", "openai_top_logprobs"}
"""The host's own settings that shape neither prompt nor reasoning."""

_CACHING: Final = ("anthropic_cache", "bedrock_cache", "openai_prompt_cache")
"""How settings begin that say what a provider may cache."""

_SECRET: Final = frozenset({"authorization_token", "headers"})
"""Fields of a tool that let the request in somewhere."""


def key_of(ctx: RunContext[Any], request: ModelRequestContext) -> LaneKey:
    """Return the key of the lane that a request continues."""
    parameters = request.model_request_parameters
    return lane_key(
        DIALECT.adapter_shortname,
        request.model.model_id,
        settings=_shaping(cast("Mapping[str, Any]", request.model_settings or {})),
        servers=_servers(ctx),
        tools=[*map(_contract, parameters.function_tools), *map(_native, parameters.native_tools)],
        output=_output(parameters),
    )


def _shaping(settings: Mapping[str, Any]) -> dict[str, Any]:
    kept = {name: value for name, value in settings.items() if name not in _OWN and not name.startswith(_CACHING)}
    body = kept.pop("extra_body", None)
    if isinstance(body, Mapping):
        kept |= {f"body {name}": value for name, value in body.items() if name not in STATE_KEYS | SAMPLING | TRANSPORT}
    return kept


def _contract(tool: ToolDefinition) -> list[object]:
    """Name and schema of a tool that the program runs."""
    return [tool.name, tool.parameters_json_schema]


def _native(tool: Any) -> list[object]:
    """A tool that the provider runs; what lets it in somewhere is no part of its contract."""
    return [type(tool).__name__, {name: value for name, value in vars(tool).items() if name not in _SECRET}]


def _output(parameters: ModelRequestParameters) -> list[object]:
    """What the output is asked for by: its mode, its schema, and the tools that return it."""
    schema = parameters.output_object.json_schema if parameters.output_object is not None else None
    return [parameters.output_mode, schema, list(map(_contract, parameters.output_tools))]


def _servers(ctx: RunContext[Any]) -> Iterable[str]:
    found: list[str] = []

    def visit(toolset: AbstractToolset[Any]) -> None:
        if type(toolset).__module__.startswith("pydantic_ai.mcp"):
            found.append(toolset.id or type(toolset).__name__)

    if ctx.tool_manager is not None:
        ctx.tool_manager.toolset.apply(visit)
    return found
