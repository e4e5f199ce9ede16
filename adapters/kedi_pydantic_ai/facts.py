"""The facts of one Pydantic AI message: what it is for, which calls it opens and answers, what protects it.

What each part kind means is a table in `parts.py`; this file walks the parts. Origins are read here too, since they
name the same parts.
"""

from __future__ import annotations

from typing import Final

from pydantic_ai import messages as m
from pydantic_ai.messages import ModelRequest, ModelRequestPart, ModelResponse

from kedi_compile import EntryKind, HistoryOrigin, ProtectedReason
from kedi_compile.dialect import CHECKPOINT_MARK, GUIDANCE_MARK, MessageFacts, Role
from kedi_pydantic_ai.parts import (
    CHECKPOINT,
    FRAMEWORK,
    GUIDANCE,
    NOTHING,
    PROVIDER,
    PYDANTIC_AI_METADATA,
    REQUEST_PARTS,
    UNFINISHED_STATES,
    UNKNOWN_REQUEST_PART,
    LegacyRetryPart,
    RequestPart,
    details_reasons,
    kind_reasons,
    thinking_reasons,
)

_UNFINISHED: Final = frozenset({ProtectedReason.UNFINISHED})
_FEEDBACK: Final = REQUEST_PARTS[m.RetryFeedbackPart]


_BY_METADATA: Final = {PYDANTIC_AI_METADATA: FRAMEWORK, GUIDANCE_MARK: GUIDANCE}
"""What a key of a request's metadata protects it by."""


def request_facts(message: ModelRequest) -> MessageFacts:
    """Read the facts off a request; one without parts stands for a prompt made of instructions alone."""
    results: list[str] = []
    system = feedback = False
    authored = not message.parts
    reasons = _request_reasons(message)
    for part in message.parts:
        if (call_id := _answered_call(part)) is not None:
            results.append(call_id)
            reasons |= _result_reasons(part)
            continue
        meaning = _meaning(part)
        system, authored, feedback = (
            system or meaning.system,
            authored or meaning.authored,
            feedback or meaning.feedback,
        )
        reasons |= meaning.reasons
        if meaning.authored:
            reasons |= _content_reasons(part)
    kind, role = _kind_and_role(results=bool(results), authored=authored, feedback=feedback, system=system)
    return MessageFacts(kind, role, (), tuple(results), authored, system, reasons)


def response_facts(message: ModelResponse) -> MessageFacts:
    """Read the facts off a response."""
    calls: list[str] = []
    bound = False
    reasons = _UNFINISHED if message.state in UNFINISHED_STATES else NOTHING
    if message.provider_details:
        reasons |= details_reasons(message.provider_details)
    for part in message.parts:
        if isinstance(part, m.TextPart) and part.provider_details is None:
            continue
        if isinstance(part, m.ToolCallPart):
            calls.append(part.tool_call_id)
        if isinstance(part, m.ThinkingPart):
            reasons |= thinking_reasons(part)
            bound = bound or bool(part.signature)
        reasons |= kind_reasons(type(part))
        if isinstance(part, m.BaseToolCallPart) and part.tool_kind is not None:
            reasons |= FRAMEWORK
        if not isinstance(part, m.CompactionPart):  # its own details are what it is made of
            reasons |= details_reasons(getattr(part, "provider_details", None))
    return MessageFacts(EntryKind.ASSISTANT, "assistant", tuple(calls), (), reasons=reasons, bound=bound)


def part_origins(
    message: ModelRequest | ModelResponse, run_id: str | None, location: str | None
) -> list[tuple[object, tuple[HistoryOrigin, ...]]]:
    """List the origins of the parts of a message, for the run that made it; a response is its first part's."""
    out: list[tuple[object, tuple[HistoryOrigin, ...]]] = []
    for index, part in enumerate(message.parts):
        answer = [HistoryOrigin("assistant", run_id, location)] if not index and message.kind == "response" else []
        out.append((part, (*answer, *_part_origin(part, run_id, location))))
    return [(part, origins) for part, origins in out if origins]


def failed_calls(message: ModelRequest | ModelResponse) -> list[str]:
    """Return the ids of the calls that it answers with anything but a success."""
    if not isinstance(message, ModelRequest):
        return []
    answers = ((part, _answered_call(part)) for part in message.parts)
    return [call for part, call in answers if call is not None and getattr(part, "outcome", "retried") != "success"]


def archived_references(message: ModelRequest | ModelResponse) -> list[str]:
    """Return the references of the records that it stands for, or that a checkpoint merged with it does."""
    prompts = (part.content for part in message.parts if isinstance(part, m.UserPromptPart))
    items = (item for content in prompts if not isinstance(content, str) for item in content)
    return [mark for item in items if (mark := _mark(item)) is not None]


def _mark(item: object) -> str | None:
    metadata = item.metadata if isinstance(item, m.TextContent) else None
    mark = metadata.get(CHECKPOINT_MARK) if isinstance(metadata, dict) else None
    return mark if isinstance(mark, str) else None


def _part_origin(part: object, run_id: str | None, location: str | None) -> list[HistoryOrigin]:
    if isinstance(part, m.UserPromptPart):
        return [HistoryOrigin("user", run_id, location)]
    if isinstance(part, m.BaseToolCallPart):
        return [HistoryOrigin("tool-call", run_id, location, part.tool_name, part.tool_call_id)]
    if isinstance(part, m.BaseToolReturnPart):
        return [HistoryOrigin("tool-result", run_id, location, part.tool_name, part.tool_call_id)]
    return []


def _request_reasons(message: ModelRequest) -> frozenset[ProtectedReason]:
    reasons = _UNFINISHED if message.state == "interrupted" else NOTHING
    if not message.metadata:
        return reasons
    held = (reason for key, reason in _BY_METADATA.items() if key in message.metadata)
    return reasons.union(*held)


def _answered_call(part: ModelRequestPart) -> str | None:
    if isinstance(part, m.BaseToolReturnPart) or (isinstance(part, LegacyRetryPart) and part.tool_name is not None):
        return part.tool_call_id
    return None


def _meaning(part: ModelRequestPart) -> RequestPart:
    if isinstance(part, LegacyRetryPart):
        return _FEEDBACK
    return REQUEST_PARTS.get(type(part), UNKNOWN_REQUEST_PART)


def _result_reasons(part: ModelRequestPart) -> frozenset[ProtectedReason]:
    typed = isinstance(part, m.BaseToolReturnPart) and part.tool_kind is not None
    return _content_reasons(part) | (FRAMEWORK if typed else NOTHING)


def _content_reasons(part: object) -> frozenset[ProtectedReason]:
    """An uploaded file is a handle to something the provider holds, a marked text is a checkpoint."""
    content = getattr(part, "content", None)
    if isinstance(content, str):
        return NOTHING
    items = content if isinstance(content, (list, tuple)) else (content,)
    held = PROVIDER if any(isinstance(item, m.UploadedFile) for item in items) else NOTHING
    marked = isinstance(part, m.UserPromptPart) and any(_mark(item) is not None for item in items)
    return held | CHECKPOINT if marked else held


def _kind_and_role(*, results: bool, authored: bool, feedback: bool, system: bool) -> tuple[EntryKind, Role]:
    if results:
        return EntryKind.TOOL_RESULT, "tool"
    if authored:
        return EntryKind.USER, "user"
    if feedback:
        return EntryKind.FEEDBACK, "user"
    return (EntryKind.SYSTEM, "system") if system else (EntryKind.STATE, "user")
