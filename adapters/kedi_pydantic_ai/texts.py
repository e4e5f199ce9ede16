"""New text messages: how one is built, and what makes a message a callback added more or less than a bare text.

The rule: a new message holds plain, non-blank text that can be written as UTF-8, of the user or the assistant; every
other part or field belongs to the host or a provider. Source: History specification, Atomic Groups.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any, Final

from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from kedi_compile.dialect import CHECKPOINT_MARK, TextFlaw, TextRole, fabricated, flaw_of_texts

_TEXT_PARTS: Final[dict[type, type]] = {ModelRequest: m.UserPromptPart, ModelResponse: m.TextPart}
"""The only part a new message of each kind may hold."""

_FREE_FIELDS: Final = frozenset({"parts", "content", "usage", "timestamp"})
"""Fields that are looked at apart, each with a rule of its own."""


def text_message(text: str, role: TextRole) -> ModelMessage:
    """Build a message that holds only `text`."""
    if role == "user":
        return ModelRequest(parts=[m.UserPromptPart(text)])
    return ModelResponse(parts=[m.TextPart(text)])


def checkpoint(text: str, reference: str) -> ModelMessage:
    """Build the request that stands for an archived record.

    The mark is on the content itself, because the host merges neighbouring requests and keeps nothing but their parts.
    """
    marked = m.TextContent(text, metadata={CHECKPOINT_MARK: reference})
    return ModelRequest(parts=[m.UserPromptPart([marked])])


def text_flaw(message: ModelMessage) -> TextFlaw | None:
    """Say why `message` is more or less than a bare text, or None if it is one."""
    return _system_flaw(message) or _record_flaw(message) or flaw_of_texts(_words(message))


def text(message: ModelMessage) -> str:
    """Return the text of a message that was built here."""
    contents = [getattr(part, "content", "") for part in message.parts]
    return "\n".join(content if isinstance(content, str) else _joined(content) for content in contents)


def _joined(content: Any) -> str:
    return "\n".join(str(getattr(item, "content", item)) for item in content)


def _system_flaw(message: ModelMessage) -> TextFlaw | None:
    if not isinstance(message.parts, (list, tuple)):
        return fabricated("has no list of parts; build it with `ctx.text_message`")
    if any(isinstance(part, m.SystemPromptPart) for part in message.parts):
        return TextFlaw("system_altered", "holds system text; system entries are not the callback's to add")
    return None


def _record_flaw(message: ModelMessage) -> TextFlaw | None:
    """Find anything beside text: another kind of part, or a field that only a host or a provider may set."""
    text_part = _TEXT_PARTS.get(type(message))
    if text_part is None:
        return fabricated(f"is a {type(message).__name__}; build it with `ctx.text_message`")
    if strange := sorted({type(part).__name__ for part in message.parts if type(part) is not text_part}):
        return fabricated(f"holds {', '.join(strange)}; a new message may hold text only")
    if not all(isinstance(getattr(part, "content", None), str) for part in message.parts):
        return fabricated("holds content that is no str; a new message may hold text only")
    if used := [name for value in (message, *message.parts) for name in _set_fields(value)]:
        return fabricated(f"sets {', '.join(used)}; build it with `ctx.text_message`")
    if isinstance(message, ModelResponse) and message.usage.has_values():
        return fabricated("carries the usage of a real response; build it with `ctx.text_message`")
    return None


def _set_fields(value: Any) -> list[str]:
    """Name the fields that hold something a bare text does not; a kind must be the class's own."""
    used = [field.name for field in dataclasses.fields(value) if not _is_bare(field, getattr(value, field.name))]
    return used if isinstance(getattr(value, "timestamp", None), (dt.datetime, type(None))) else [*used, "timestamp"]


def _is_bare(field: dataclasses.Field[Any], value: object) -> bool:
    return field.name in _FREE_FIELDS or _is_unset(field, value)


def _is_unset(field: dataclasses.Field[Any], value: object) -> bool:
    return value is None or (field.default is not dataclasses.MISSING and value == field.default)


def _words(message: ModelMessage) -> list[str]:
    return [str(getattr(part, "content", "")) for part in message.parts]
