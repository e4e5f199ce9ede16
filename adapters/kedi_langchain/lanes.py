"""Which lane of a conversation a request belongs to, read off the chat model, its settings and its tools.

Tools count by name and schema, output by its format, MCP servers by all but what lets the request in; sampling,
transport, tracing and what names server-side state are no part of the key. Measured on langchain-core 1.8, langchain
1.5, langchain-openai and langchain-anthropic 1.7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from langchain.agents.structured_output import ToolStrategy
from langchain_core.language_models import BaseChatModel
from langchain_core.utils.function_calling import convert_to_openai_tool

from kedi_compile.canonical import digest
from kedi_compile.conversation.lanes import LaneKey, lane_key
from kedi_compile.history.continuation import STATE_KEYS
from kedi_langchain.dialect import DIALECT
from kedi_langchain.editing import request_info

_OUTPUT: Final = ("response_format", "ls_structured_output_format", "structured_output_format")
"""Arguments that say how the output is to look."""

_IDENTITY: Final = frozenset({"model", "model_name", "model_id", "_type", "default_request_timeout"})
"""The model's names, which stand in the key by themselves, and a time limit."""

_CARRIERS: Final = ("model_kwargs", "extra_body")
"""Settings that hold settings."""

_SERVERS: Final = "mcp_servers"

_SHAPING: Final = ("context_management",)
"""Fields that shape the prompt and that a model does not name among what identifies it."""

_TRACING: Final = frozenset({"run_id", "run_name", "tags"})
"""What `invoke` hands to `generate` beside the arguments of the request, and `stream` does not."""

_SECRET: Final = frozenset({"authorization", "authorization_token", "headers"})
"""Fields of a tool or a server that let the request in."""


def key_of(
    model: BaseChatModel, arguments: Mapping[str, Any], tools: Sequence[Any] = (), output: object = None
) -> LaneKey:
    """Return the key of the lane that a request to `model` continues.

    `arguments` are those of the call or of a binding; they may hold tools and an output format too.
    """
    given = dict(arguments)
    offered = [*tools, *(given.pop("tools", None) or given.pop("functions", None) or ())]
    formats = [_format(given.pop(name)) for name in _OUTPUT if name in given]
    servers = given.pop(_SERVERS, None) or getattr(model, _SERVERS, None) or ()
    own = {name: getattr(model, name, None) for name in _SHAPING}
    return lane_key(
        DIALECT.adapter_shortname,
        request_info(model).model_id,
        settings=_shaping({**own, **model._identifying_params, **given}),  # noqa: SLF001  # how core names it
        servers=[digest(_public(server)).hex() for server in servers],
        tools=list(map(_contract, offered)),
        output=[*formats, _format(output)] if formats or output is not None else None,
    )


def _shaping(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The settings with those inside their carriers, but for what identifies the model or names server-side state."""
    flat = {name: value for name, value in settings.items() if name not in _CARRIERS}
    for name in _CARRIERS:
        if isinstance(inner := settings.get(name), Mapping):
            flat |= inner
    left_out = _IDENTITY | STATE_KEYS | _TRACING
    return {name: value for name, value in flat.items() if name not in left_out and value is not None}


def _contract(tool: Any) -> list[object]:
    """Name and schema of a tool; of one that the provider runs, all but what lets it in somewhere."""
    if not isinstance(tool, Mapping):
        tool = convert_to_openai_tool(tool)
    function = tool.get("function", tool)
    schema = function.get("parameters", function.get("input_schema"))
    if schema is None:
        return [_public(tool)]
    return [function.get("name"), schema]


def _public(given: Mapping[str, Any]) -> list[tuple[str, Any]]:
    """What a tool or a server is, but for what lets the request in."""
    return sorted((name, value) for name, value in given.items() if name not in _SECRET)


def _format(output: object) -> object:
    """An output format by its schemas; what an agent does about a wrong answer is no part of it."""
    schema = output if isinstance(output, type) else getattr(output, "schema", None)
    if schema is None:
        return output
    return [type(output).__name__, *((spec.name, spec.json_schema) for spec in ToolStrategy(schema).schema_specs)]
