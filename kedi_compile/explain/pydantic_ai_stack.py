"""Pydantic AI's saved histories: what `ModelMessagesTypeAdapter.dump_json` wrote."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Final

from pydantic import ValidationError
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, TextContent

from kedi_compile.explain.reading import UnreadableHistory
from kedi_compile.explain.stacks import Stack, first_error, first_text
from kedi_pydantic_ai.dialect import DIALECT


def load(index: int, message: Mapping[str, object]) -> ModelMessage:
    """Read one message.

    Raises:
        UnreadableHistory: it is none of Pydantic AI's.
    """
    try:
        return ModelMessagesTypeAdapter.validate_json(json.dumps([message]))[0]
    except ValidationError as error:
        raise UnreadableHistory(f"Message {index} is no message of Pydantic AI: {first_error(error, 1)}") from error
    except RecursionError as error:
        raise UnreadableHistory(f"Message {index} is nested too deeply") from error


def words(message: ModelMessage) -> str:
    """Return the first text of a message."""
    return first_text(list(_texts(message)))


def _texts(message: ModelMessage) -> Iterator[object]:
    for part in message.parts:
        content = getattr(part, "content", None)
        for item in content if isinstance(content, (list, tuple)) else [content]:
            yield item.content if isinstance(item, TextContent) else item


STACK: Final = Stack("pydantic-ai", DIALECT, load, words)
