"""What each content block and each extra field of a LangChain message means to the history, as tables.

Content is read raw: `content_blocks` is a lossy view. A block type no table knows protects its group: it may be a
record a provider wants back. Source: the formats of langchain-core 1.8, langchain-openai 1.7, langchain-anthropic 1.7
and langchain-google-genai 4.4; History specification, Atomic Groups.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Final

from kedi_compile import ProtectedReason

Content = str | list[str | dict[Any, Any]]
"""What a message holds: a text, or blocks."""

Reasons = frozenset[ProtectedReason]

SIGNED: Final[Reasons] = frozenset({ProtectedReason.SIGNED_REASONING})
PROVIDER: Final[Reasons] = frozenset({ProtectedReason.PROVIDER_RECORD})
CHECKPOINT: Final[Reasons] = frozenset({ProtectedReason.CHECKPOINT})
UNFINISHED: Final[Reasons] = frozenset({ProtectedReason.UNFINISHED})
NOTHING: Final[Reasons] = frozenset()

BLOCKS: Final[dict[str, Reasons]] = {
    # text and what a caller may send
    **dict.fromkeys(("text", "text-plain", "refusal", "input_text", "output_text"), NOTHING),
    **dict.fromkeys(("image", "image_url", "input_image", "audio", "input_audio", "video", "media"), NOTHING),
    **dict.fromkeys(("file", "input_file", "document", "search_result"), NOTHING),
    # the model's own calls, which stand in `tool_calls` too
    **dict.fromkeys(("tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call"), NOTHING),
    **dict.fromkeys(("function_call", "custom_tool_call", "input_json_delta", "tool_result"), NOTHING),
    # reasoning, judged by its fields
    **dict.fromkeys(("thinking", "reasoning", "reasoning_content"), NOTHING),
    "redacted_thinking": SIGNED,
    "compaction": CHECKPOINT,
}
"""What a block protects by its type alone; `non_standard` is judged by its value, where that can be read."""

REASONING: Final = frozenset({"thinking", "redacted_thinking", "reasoning", "reasoning_content"})
"""Block types that are reasoning and nothing else."""

CALL_BLOCKS: Final = frozenset({"tool_use", "tool_call", "tool_call_chunk", "function_call", "input_json_delta"})
"""Block types that repeat what `tool_calls` holds."""

_CALLS: Final = frozenset({"tool_use", "tool_call", "function_call"})

_FILE_HOLDERS: Final = ("extras", "file", "source")
"""Where a block keeps the handle of an uploaded file, beside its own fields."""

FIELDS: Final[dict[str, Reasons]] = {
    "signature": SIGNED,
    "thought_signature": SIGNED,
    "encrypted_content": SIGNED,
    "file_id": PROVIDER,
    "file_uri": PROVIDER,
    "caller": PROVIDER,
    "toolset_name": PROVIDER,
    "citations": PROVIDER,
}
"""Fields of a block, or of its `extras`, that a provider wants back; an empty value is no record."""

EXTRA_FIELDS: Final[dict[str, Reasons]] = {
    "reasoning": SIGNED,
    "reasoning_content": SIGNED,
    "reasoning_details": SIGNED,
    "__gemini_function_call_thought_signatures__": SIGNED,
    "tool_outputs": PROVIDER,
    "audio": PROVIDER,
}
"""Keys of `additional_kwargs` that a provider wants back."""

METADATA_FIELDS: Final[dict[str, Reasons]] = {"container": PROVIDER}
"""Keys of `response_metadata` that a provider wants back."""

UNFINISHED_VALUES: Final = frozenset({"incomplete", "pause_turn"})
"""Values of `status` and `stop_reason` in `response_metadata` that mean the answer goes on."""


def content_blocks(content: object) -> Iterator[Mapping[str, Any]]:
    """Yield the blocks of raw content; text that stands alone is no block."""
    if isinstance(content, list):
        for block in content:
            if isinstance(block, Mapping):
                yield inner_block(block)


def inner_block(block: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what a `non_standard` block wraps, or the block itself."""
    value = block.get("value") if block.get("type") == "non_standard" else None
    return value if isinstance(value, Mapping) else block


def block_reasons(block: Mapping[str, Any]) -> Reasons:
    """Return what one block protects, by its type, its fields and its extras."""
    kind = block.get("type")
    reasons = BLOCKS.get(kind, PROVIDER) if isinstance(kind, str) else PROVIDER
    if has_type(block, REASONING) and block.get("id"):
        reasons |= SIGNED
    if kind == "compaction":
        return reasons
    inner = block.get("reasoning_content")
    for source in (block, inner, *map(block.get, _FILE_HOLDERS)):
        if isinstance(source, Mapping):
            reasons |= field_reasons(source, FIELDS)
    return reasons | PROVIDER if block.get("source_type") == "id" else reasons


def field_reasons(source: Mapping[str, Any], table: Mapping[str, Reasons]) -> Reasons:
    """Return what the non-empty fields of `source` protect."""
    if table.keys().isdisjoint(source):
        return NOTHING
    return NOTHING.union(*(reasons for name, reasons in table.items() if source.get(name)))


def has_type(block: Mapping[str, Any], types: frozenset[str]) -> bool:
    """Whether a block's type is one of `types`; what is no str is none."""
    kind = block.get("type")
    return isinstance(kind, str) and kind in types


def call_id(block: Mapping[str, Any]) -> str | None:
    """Return the id of the tool call a content block opens, or None; `tool_calls` may not hold it too."""
    found = block.get("call_id") or block.get("id")
    return found if has_type(block, _CALLS) and isinstance(found, str) else None


def is_bound(block: Mapping[str, Any]) -> bool:
    """Whether a block is reasoning that a provider may have bound to everything before it."""
    if not has_type(block, REASONING):
        return False
    sources = (block, block.get("extras"), block.get("reasoning_content"))
    return any(isinstance(one, Mapping) and (one.get("signature") or one.get("data")) for one in sources)
