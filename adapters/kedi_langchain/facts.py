"""The facts of one LangChain message: what it is for, which calls it opens and answers, what protects it.

What each block and field means is a table in `blocks.py`. Invalid tool calls count as calls: the provider waits for
their results too. A legacy function call and its `FunctionMessage` have no ids and pair by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from langchain_core.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from kedi_compile import EntryKind, HistoryOrigin, ProtectedReason
from kedi_compile.dialect import CHECKPOINT_MARK, GUIDANCE_MARK, MessageFacts, Role
from kedi_langchain.blocks import (
    CHECKPOINT,
    EXTRA_FIELDS,
    METADATA_FIELDS,
    NOTHING,
    PROVIDER,
    UNFINISHED,
    UNFINISHED_VALUES,
    Reasons,
    block_reasons,
    call_id,
    content_blocks,
    field_reasons,
    is_bound,
)

_GUIDANCE: Final[Reasons] = frozenset({ProtectedReason.GUIDANCE})
_SYSTEM: Final[Reasons] = frozenset({ProtectedReason.SYSTEM})
_KINDS: Final[dict[Role, EntryKind]] = {
    "system": EntryKind.SYSTEM,
    "user": EntryKind.USER,
    "assistant": EntryKind.ASSISTANT,
    "tool": EntryKind.TOOL_RESULT,
}
_ROLES: Final[dict[type, Role]] = {
    SystemMessage: "system",
    HumanMessage: "user",
    AIMessage: "assistant",
    ToolMessage: "tool",
}
"""The common ones; their subclasses are looked at closer."""

_CHAT_ROLES: Final[dict[str, Role]] = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "human": "user",
    "assistant": "assistant",
    "ai": "assistant",
    "model": "assistant",
}


def all_fields(message: BaseMessage) -> dict[str, Any]:
    """Return all a message holds by name, extra attributes too; a new dict."""
    return {**vars(message), **(message.__pydantic_extra__ or {})}


def is_history(message: object) -> bool:
    """Tell whether `message` is a history message; a `RemoveMessage` is an order to the graph."""
    if type(message) in _ROLES:
        return True
    return isinstance(message, BaseMessage) and not isinstance(message, RemoveMessage)


def message_facts(message: BaseMessage) -> MessageFacts:
    """Read the facts off one message.

    Raises:
        TypeError: it is no message of the user, the assistant, a tool or the system.
    """
    role = message_role(message)
    blocks = [] if isinstance(message.content, str) else list(content_blocks(message.content))
    reasons = NOTHING.union(*map(block_reasons, blocks)) if blocks else NOTHING
    if message.additional_kwargs:
        reasons |= field_reasons(message.additional_kwargs, EXTRA_FIELDS)
    if message.response_metadata:
        reasons |= field_reasons(message.response_metadata, METADATA_FIELDS) | _state(message.response_metadata)
    return MessageFacts(
        kind=_KINDS[role],
        role=role,
        calls=tuple(_calls(message, blocks)) if role == "assistant" else (),
        results=tuple(_results(message)) if role == "tool" else (),
        authored=role == "user",
        holds_system=role == "system",
        reasons=reasons | _own_reasons(message, role),
        bound=bool(blocks) and any(map(is_bound, blocks)),
    )


def message_role(message: BaseMessage) -> Role:
    """Return who speaks.

    Raises:
        TypeError: it is no message of the user, the assistant, a tool or the system.
    """
    if (role := _ROLES.get(type(message))) is not None:
        return role
    match message:
        case SystemMessage():
            return "system"
        case AIMessage():
            return "assistant"
        case ToolMessage() | FunctionMessage():
            return "tool"
        case HumanMessage():
            return "user"
        case ChatMessage():
            return _CHAT_ROLES.get(message.role.lower(), "user")
        case _:
            msg = f"A {type(message).__name__} is no history message; take it out before the history is processed"
            raise TypeError(msg)


def message_origins(message: BaseMessage, run_id: str | None, location: str | None) -> tuple[HistoryOrigin, ...]:
    """List what the run knows about a message it made."""
    match message:
        case AIMessage():
            names = {call["id"]: call["name"] for call in message.tool_calls}
            calls = [HistoryOrigin("tool-call", run_id, location, name, key) for key, name in names.items()]
            return (HistoryOrigin("assistant", run_id, location), *calls)
        case ToolMessage():
            return (HistoryOrigin("tool-result", run_id, location, message.name, message.tool_call_id),)
        case HumanMessage():
            return (HistoryOrigin("user", run_id, location),)
        case _:
            return ()


def failed_calls(message: BaseMessage) -> list[str]:
    """Return the id of the call that it answers with an error, if it does."""
    return [message.tool_call_id] if isinstance(message, ToolMessage) and message.status == "error" else []


def archived_references(message: BaseMessage) -> list[str]:
    """Return the reference of the record that a checkpoint stands for."""
    mark = message.response_metadata.get(CHECKPOINT_MARK)
    return [mark] if isinstance(mark, str) else []


def _calls(message: BaseMessage, blocks: list[Mapping[str, Any]]) -> list[str]:
    if not isinstance(message, AIMessage):
        return []
    calls = [call["id"] for call in (*message.tool_calls, *message.invalid_tool_calls)]
    if blocks:
        calls += [call for call in map(call_id, blocks) if call not in calls]
    legacy = message.additional_kwargs.get("function_call")
    if not calls and isinstance(legacy, dict) and legacy.get("name"):
        calls.append(_legacy_id(legacy["name"]))
    return [call for call in calls if call]


def _results(message: BaseMessage) -> list[str]:
    if isinstance(message, FunctionMessage):
        return [_legacy_id(message.name)]
    return [message.tool_call_id] if isinstance(message, ToolMessage) else []


def _legacy_id(name: Any) -> str:
    return f"function:{name}"


def _own_reasons(message: BaseMessage, role: Role) -> Reasons:
    if role == "system":
        return _SYSTEM
    if GUIDANCE_MARK in message.response_metadata:
        return _GUIDANCE
    if CHECKPOINT_MARK in message.response_metadata:
        return CHECKPOINT
    if role == "tool":
        return PROVIDER if message.additional_kwargs.get("type") == "computer_call_output" else NOTHING
    if type(message) in _ROLES or not isinstance(message, ChatMessage):
        return NOTHING
    return NOTHING if message.role.lower() in _CHAT_ROLES else PROVIDER


def _state(metadata: dict[str, Any]) -> Reasons:
    states = [metadata.get("status"), metadata.get("stop_reason")]
    return NOTHING if UNFINISHED_VALUES.isdisjoint(filter(_is_text, states)) else UNFINISHED


def _is_text(value: object) -> bool:
    return isinstance(value, str)
