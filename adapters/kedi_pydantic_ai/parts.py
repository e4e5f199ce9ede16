"""What each kind of Pydantic AI part means to the history: one table for requests, one for responses.

A part that no table knows protects its group: it may be a record a provider wants back. Source: the message types of
pydantic-ai-slim 2.68; History specification, Atomic Groups.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pydantic_ai import messages as m

from kedi_compile import ProtectedReason

LegacyRetryPart = m.RetryPromptPart  # pyright: ignore[reportDeprecated]  # older histories hold it
"""What `RetryFeedbackPart` and retried results were before."""

SYSTEM: Final = frozenset({ProtectedReason.SYSTEM})
GUIDANCE: Final = frozenset({ProtectedReason.GUIDANCE})
SIGNED: Final = frozenset({ProtectedReason.SIGNED_REASONING})
PROVIDER: Final = frozenset({ProtectedReason.PROVIDER_RECORD})
CHECKPOINT: Final = frozenset({ProtectedReason.CHECKPOINT})
FRAMEWORK: Final = frozenset({ProtectedReason.FRAMEWORK_STATE})
NOTHING: Final[frozenset[ProtectedReason]] = frozenset()


class RequestPart(NamedTuple):
    """What a request part is: system text, user content, feedback or state, and what it protects."""

    system: bool = False
    authored: bool = False
    feedback: bool = False
    reasons: frozenset[ProtectedReason] = NOTHING


REQUEST_PARTS: Final[dict[type, RequestPart]] = {
    m.SystemPromptPart: RequestPart(system=True, reasons=SYSTEM),
    m.UserPromptPart: RequestPart(authored=True),
    m.SpeechPart: RequestPart(authored=True),
    m.RetryFeedbackPart: RequestPart(feedback=True),
    m.CompactionPart: RequestPart(reasons=CHECKPOINT),
    m.InstructionBaselinePart: RequestPart(reasons=FRAMEWORK),
    m.InstructionDeltaPart: RequestPart(reasons=FRAMEWORK),
    m.ToolAvailabilityDeltaPart: RequestPart(reasons=FRAMEWORK),
    m.CapabilityLoadDeltaPart: RequestPart(reasons=FRAMEWORK),
    m.ModelSettingsDeltaPart: RequestPart(reasons=FRAMEWORK),
}
"""Request parts that answer no tool call."""

UNKNOWN_REQUEST_PART: Final = RequestPart(reasons=PROVIDER)

RESPONSE_PARTS: Final[dict[type, frozenset[ProtectedReason]]] = {
    m.TextPart: NOTHING,
    m.FilePart: NOTHING,
    m.ToolCallPart: NOTHING,
    m.ThinkingPart: NOTHING,
    m.SpeechPart: NOTHING,
    m.CompactionPart: CHECKPOINT,
    m.NativeToolCallPart: PROVIDER,
    m.NativeToolReturnPart: PROVIDER,
}
"""What a response part protects by its kind alone."""

PART_DETAILS: Final[dict[str, frozenset[ProtectedReason]]] = {
    "thought_signature": SIGNED,
    "raw_content": SIGNED,
    "encrypted_content": PROVIDER,
    "citations": PROVIDER,
    "container_id": PROVIDER,
    "compaction": CHECKPOINT,
}
"""Keys of `provider_details`, on a part or a response, that a provider wants back."""

UNFINISHED_STATES: Final = frozenset({"suspended", "interrupted", "incomplete"})

PYDANTIC_AI_METADATA: Final = "__pydantic_ai__"
"""The namespace in `ModelRequest.metadata` that models themselves read."""


def details_reasons(details: Mapping[str, Any] | None) -> frozenset[ProtectedReason]:
    """Return what a `provider_details` mapping protects; an empty value is no record."""
    if not details:
        return NOTHING
    found = [PART_DETAILS[key] for key, value in details.items() if key in PART_DETAILS and value]
    return NOTHING.union(*found)


def kind_reasons(kind: type) -> frozenset[ProtectedReason]:
    """Return what a response part protects by its kind; a typed tool part counts as its base kind."""
    if kind not in _KNOWN_KINDS:
        found = (reasons for base, reasons in RESPONSE_PARTS.items() if issubclass(kind, base))
        _KNOWN_KINDS[kind] = next(found, PROVIDER)
    return _KNOWN_KINDS[kind]


_KNOWN_KINDS: Final = dict(RESPONSE_PARTS)


def thinking_reasons(part: m.ThinkingPart) -> frozenset[ProtectedReason]:
    """Return what a thinking part protects: a signature, or an id by which a provider wants it back."""
    return SIGNED if part.signature or part.id else NOTHING
