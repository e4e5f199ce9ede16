"""Step 5: views become messages.

Source: Turn specification, D2 (Render immutable provider-neutral messages).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kedi_compile.errors import TurnCompileError
from kedi_compile.message import CompiledMessage, MessageRole

from .contents import text_of
from .images import image_part
from .minimal_yaml import write
from .minimal_yaml.plain import is_blank, plain
from .refusals import blaming
from .views import AssistantView, InstructionView, View

Content = str | list[dict[str, Any]]

GUIDANCE = "Guidance"
"""The title of the section that policy, context blocks and guidance are folded into."""


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
        return CompiledMessage(MessageRole.USER, instruction_content(view))


def _sendable(text: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as exc:
        found = f"character {exc.start} is half of a surrogate pair"
        raise TurnCompileError(f"The text cannot be sent: {found}") from exc
    return text


def instruction_content(view: InstructionView) -> Content:
    """Return the text of an instruction, or with images a list of its text and theirs.

    Raises:
        TurnCompileError: a value or an image cannot be written, or the text has no UTF-8 form.
    """
    text = _sendable(_instruction_text(view))
    if not view.images:
        return text
    images = [image_part(image, view.image_detail, f"images[{place}]") for place, image in enumerate(view.images)]
    return [{"type": "text", "text": text}, *images]


def _instruction_text(view: InstructionView) -> str:
    if view.plain_content:
        return text_of(view.plain_content, "plain_content")
    found = {
        GUIDANCE: plain(view.guidance, "guidance"),
        "Instruction": plain(view.instruction, "instruction"),
        "Context": _context(view),
        **view.call_sections,
    }
    return sections_text(found)


def sections_text(sections: Mapping[str, Any]) -> str:
    """Return sections of plain values by their titles as one text; those with nothing to show are left out."""
    return write({title: value for title, value in sections.items() if not is_blank(value)}).strip()


def _context(view: InstructionView) -> list[Any]:
    """The items of the context, and the results folded into it: a fault in a result is its own record's."""
    own = len(view.prompt_context) - len(view.result_ids)
    items = [plain(item, f"prompt_context[{place}]") for place, item in enumerate(view.prompt_context[:own])]
    for record_id, result in zip(view.result_ids, view.prompt_context[own:], strict=True):
        with blaming(record_id):
            items.append(plain(result, ""))
    return [item for item in items if not is_blank(item)]
