"""The literal text of one record: nothing is folded, merged or left out.

For people who want to look at records; a request is made by `compiler.py` and by nothing else. Source: Turn
specification, D6.
"""

from __future__ import annotations

from collections.abc import Callable
from copy import deepcopy
from typing import Any

from .contents import text_of
from .minimal_yaml.plain import plain
from .records import ActionRequest, ActionResponse, AssistantResponse, Instruction, Message, System
from .refusals import blaming
from .render import instruction_content, sections_text
from .views import view_of


def literal_content(record: Message) -> Any:
    """Return what one record says, as text or with images as parts; of an unknown kind, a copy of its content.

    Raises:
        TurnCompileError: a value of the record cannot be written.
    """
    with blaming(record.id):
        for kind, literal in _LITERAL:
            if isinstance(record, kind):
                return literal(record)
        return deepcopy(record.content)


def _action_request(record: ActionRequest) -> str:
    return _written(record, ("function", "arguments"))


def _action_response(record: ActionResponse) -> str:
    return _written(record, ("function", "arguments", "output"))


def _written(record: Message, fields: tuple[str, ...]) -> str:
    return sections_text({field.title(): plain(getattr(record.content, field), field) for field in fields})


_LITERAL: tuple[tuple[type[Message], Callable[[Any], Any]], ...] = (
    (System, lambda record: record.content.rendered),
    (Instruction, lambda record: instruction_content(view_of(record))),
    (AssistantResponse, lambda record: text_of(record.content.assistant_response, "assistant_response")),
    (ActionRequest, _action_request),
    (ActionResponse, _action_response),
)
