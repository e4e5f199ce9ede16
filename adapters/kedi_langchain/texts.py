"""New text messages: how one is built, and what makes a message a callback added more or less than a bare text.

The rule: a new message holds plain, non-blank text that can be written as UTF-8, of the user or the assistant; every
other field belongs to the host or a provider. Source: History specification, Atomic Groups.
"""

from __future__ import annotations

from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage

from kedi_compile.dialect import CHECKPOINT_MARK, TextFlaw, TextRole, fabricated, flaw_of_texts
from kedi_langchain.facts import all_fields

_BARE_FIELDS: Final = frozenset({"content", "example"})
_TYPES: Final[dict[type, str]] = {HumanMessage: "human", AIMessage: "ai"}


def text_message(text: str, role: TextRole) -> BaseMessage:
    """Build a message that holds only `text`."""
    return HumanMessage(text) if role == "user" else AIMessage(text)


def checkpoint(text: str, reference: str) -> BaseMessage:
    """Build the message of the user's side that stands for an archived record."""
    return HumanMessage(text, response_metadata={CHECKPOINT_MARK: reference})


def text_flaw(message: BaseMessage) -> TextFlaw | None:
    """Say why `message` is more or less than a bare text, or None if it is one."""
    if isinstance(message, SystemMessage):
        return TextFlaw("system_altered", "holds system text; system entries are not the callback's to add")
    if type(message) not in _TYPES:
        return fabricated(f"is a {type(message).__name__}; a new message is a HumanMessage or an AIMessage")
    if not isinstance(message.content, str):
        return fabricated("holds content that is no str; a new message may hold text only")
    fields = all_fields(message)
    if fields.pop("type") != _TYPES[type(message)]:
        return fabricated("sets type; build it with `ctx.text_message`")
    if used := [name for name, value in fields.items() if name not in _BARE_FIELDS and _is_set(value)]:
        return fabricated(f"sets {', '.join(used)}; build it with `ctx.text_message`")
    return flaw_of_texts([message.content])


def text(message: BaseMessage) -> str:
    """Return the text of a message that was built here."""
    return message.content if isinstance(message.content, str) else message.text


def _is_set(value: Any) -> bool:
    return value is not None and value not in ({}, [], "")
