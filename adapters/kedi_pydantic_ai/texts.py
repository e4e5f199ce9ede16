"""New text messages: how one is built, and what makes a message a callback added more or less than a bare text.

The rule: a new message holds plain, non-blank text that can be written as UTF-8, of the user or the assistant; every
other part or field belongs to the host or a provider. Source: History specification, Atomic Groups.
"""

from __future__ import annotations

import dataclasses
from typing import Any, Final

from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

from kedi_compile.dialect import TextFlaw, TextRole

_BARE_FIELDS: Final[dict[type, frozenset[str]]] = {
    ModelRequest: frozenset({"parts", "timestamp", "kind"}),
    ModelResponse: frozenset({"parts", "timestamp", "kind", "usage"}),
    m.UserPromptPart: frozenset({"content", "timestamp", "part_kind"}),
    m.TextPart: frozenset({"content", "part_kind"}),
}
"""The fields a bare text may set; `usage` is looked at apart, since its default is an object."""


def text_message(text: str, role: TextRole) -> ModelMessage:
    """Build a message that holds only `text`."""
    if role == "user":
        return ModelRequest(parts=[m.UserPromptPart(text)])
    return ModelResponse(parts=[m.TextPart(text)])


def text_flaw(message: ModelMessage) -> TextFlaw | None:
    """Say why `message` is more or less than a bare text, or None if it is one."""
    return _system_flaw(message) or _record_flaw(message) or _text_flaw(message)


def _system_flaw(message: ModelMessage) -> TextFlaw | None:
    if any(isinstance(part, m.SystemPromptPart) for part in message.parts):
        return TextFlaw("system_altered", "holds system text; system entries are not the callback's to add")
    return None


def _record_flaw(message: ModelMessage) -> TextFlaw | None:
    """Find anything beside text: another kind of part, or a field that only a host or a provider may set."""
    text_part = m.UserPromptPart if isinstance(message, ModelRequest) else m.TextPart
    if strange := sorted({type(part).__name__ for part in message.parts if type(part) is not text_part}):
        return TextFlaw("fabricated_record", f"holds {', '.join(strange)}; a new message may hold text only")
    if not all(isinstance(getattr(part, "content", None), str) for part in message.parts):
        return TextFlaw("fabricated_record", "holds content that is no str; a new message may hold text only")
    if used := _set_fields(message) + [name for part in message.parts for name in _set_fields(part)]:
        return TextFlaw("fabricated_record", f"sets {', '.join(used)}; build it with `ctx.text_message`")
    if isinstance(message, ModelResponse) and message.usage.has_values():
        return TextFlaw("fabricated_record", "carries the usage of a real response; build it with `ctx.text_message`")
    return None


def _set_fields(value: Any) -> list[str]:
    """Name the fields that hold something a bare text does not."""
    return [
        field.name
        for field in dataclasses.fields(value)
        if field.name not in _BARE_FIELDS[type(value)] and not _is_unset(field, getattr(value, field.name))
    ]


def _is_unset(field: dataclasses.Field[Any], value: object) -> bool:
    return value is None or (field.default is not dataclasses.MISSING and value == field.default)


def _text_flaw(message: ModelMessage) -> TextFlaw | None:
    texts = [str(getattr(part, "content", "")) for part in message.parts]
    if not texts or not all(text.strip() for text in texts):
        return TextFlaw("blank_text", "its text is empty or only white space; say something or leave it out")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError as error:
        return TextFlaw("unencodable_text", f"its text cannot be written as UTF-8: {error.reason}")
    return None
