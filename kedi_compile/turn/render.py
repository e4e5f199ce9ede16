"""Step 5: views become messages, and records their literal text.

Source: Turn specification, D2 (Render immutable provider-neutral messages).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kedi_compile.errors import TurnCompileError
from kedi_compile.message import CompiledMessage, MessageRole

from .blame import blaming
from .contents import text_of
from .images import image_part
from .minimal_yaml import minimal_yaml
from .project import AssistantView, InstructionView, View, view_of
from .records import ActionRequest, ActionResponse, AssistantResponse, Instruction, Message, System
from .sections import sections_of, system_text

Content = str | list[dict[str, Any]]


def render(contents: Iterable[View]) -> tuple[CompiledMessage, ...]:
    """Return the messages in their order; content that renders to nothing is left out.

    Raises:
        TurnCompileError: a value or an image cannot be written, or a text has no UTF-8 form.
    """
    messages = map(_message, contents)
    return tuple(message for message in messages if message.content)


def _message(view: View) -> CompiledMessage:
    with blaming(view.record_id):
        if isinstance(view, AssistantView):
            return CompiledMessage(MessageRole.ASSISTANT, _sendable(view.assistant_response))
        return CompiledMessage(MessageRole.USER, _instruction(view))


def _sendable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        found = f"character {exc.start} is half of a surrogate pair"
        raise TurnCompileError(f"The text cannot be sent: {found}") from exc
    return text


def _instruction(view: InstructionView) -> Content:
    text = _sendable(_instruction_text(view))
    if not view.images:
        return text
    images = [image_part(image, view.image_detail, f"images[{place}]") for place, image in enumerate(view.images)]
    return [{"type": "text", "text": text}, *images]


def _instruction_text(view: InstructionView) -> str:
    if view.plain_content:
        return text_of(view.plain_content, "plain_content")
    return _yaml_of(sections_of(view))


def _yaml_of(sections: dict[str, Any]) -> str:
    return minimal_yaml(sections, "").strip()


def render_record(record: Message) -> Any:
    """Return the literal text of one record, folded into nothing; a record of an unknown kind shows its content."""
    for kind, renderer in _LITERAL:
        if isinstance(record, kind):
            return renderer(record)
    return record.content


def _action_request(record: ActionRequest) -> str:
    return _yaml_of({"Function": record.content.function, "Arguments": record.content.arguments})


def _action_response(record: ActionResponse) -> str:
    content = record.content
    return _yaml_of({"Function": content.function, "Arguments": content.arguments, "Output": content.output})


_LITERAL: tuple[tuple[type[Message], Callable[[Any], Any]], ...] = (
    (System, system_text),
    (Instruction, lambda record: _instruction(view_of(record))),
    (AssistantResponse, lambda record: record.content.assistant_response),
    (ActionRequest, _action_request),
    (ActionResponse, _action_response),
)
