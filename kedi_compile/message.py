"""The neutral message: what a model is told, before any provider's wire format.

A `CompiledMessage` is a role and its rendered content and nothing else; ids and metadata of the records it came from
never enter a request. Source: Turn specification, D1 and D2 (Render immutable provider-neutral messages).
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Any


class MessageRole(StrEnum):
    """Whose turn a record is; a record that is nobody's (`UNSET`) never reaches a model."""

    SYSTEM = "system"
    USER = "user"
    ASSISTANT = "assistant"
    ACTION = "action"
    UNSET = "unset"


@dataclass(frozen=True, slots=True)
class CompiledMessage:
    """One message of a compiled request.

    `content` is text, or a list of parts: one `{"type": "text", "text": ...}` and then one
    `{"type": "image_url", "image_url": {"url": ..., "detail": ...}}` for each image. The list belongs to the message.
    """

    role: MessageRole
    content: str | list[dict[str, Any]]
