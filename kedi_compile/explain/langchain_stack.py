"""LangChain's saved histories: what `messages_to_dict` made, written as JSON."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from langchain_core.messages import BaseMessage, messages_from_dict
from pydantic import ValidationError

from kedi_compile.explain.reading import UnreadableHistory
from kedi_compile.explain.stacks import Stack, first_error, first_text
from kedi_langchain.dialect import DIALECT


def load(index: int, message: Mapping[str, object]) -> BaseMessage:
    """Read one message.

    Raises:
        UnreadableHistory: it is none of LangChain's, or no history message.
    """
    try:
        (loaded,) = messages_from_dict([dict(message)])
    except ValidationError as error:
        raise UnreadableHistory(f"Message {index} is no message of LangChain: {first_error(error)}") from error
    except Exception as error:  # whatever the host's classes raise for fields that are none of theirs
        why = f"{type(error).__name__}: {' '.join(str(error).split())[:200]}"
        raise UnreadableHistory(f"Message {index} is no message of LangChain: {why}") from error
    if not DIALECT.is_native(loaded):
        raise UnreadableHistory(f"Message {index} is a {type(loaded).__name__}, which is no history message")
    return loaded


def words(message: BaseMessage) -> str:
    """Return the first text of a message."""
    if isinstance(message.content, str):
        return message.content
    return first_text([block.get("text") if isinstance(block, Mapping) else block for block in message.content])


STACK: Final = Stack("langchain", DIALECT, load, words)
