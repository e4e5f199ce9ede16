"""A compiled turn as LangChain messages.

Only roles, text and images are translated. Tools and the output type go to the model natively, by `bind_tools` and
`with_structured_output`; nothing is read back from records. Source: Turn specification, D4.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from kedi_compile import CompiledChatRequest
from kedi_compile.message import MessageRole


def to_messages(compiled: CompiledChatRequest) -> list[BaseMessage]:
    """Return the messages as the input of a chat model or of an agent's thread.

    The current instruction is the last of them. The messages share nothing with `compiled`; an image whose detail is
    unset has none.
    """
    return [_message(message.role, message.content) for message in compiled.messages]


def _message(role: MessageRole, content: str | list[dict[str, Any]]) -> BaseMessage:
    if role is MessageRole.ASSISTANT:
        assert isinstance(content, str)  # only an instruction has images
        return AIMessage(content)
    return HumanMessage(content if isinstance(content, str) else [_part(part) for part in content])


def _part(part: dict[str, Any]) -> str | dict[str, Any]:
    if part["type"] == "text":
        return dict(part)
    shown = {name: value for name, value in part["image_url"].items() if value is not None}
    return {"type": "image_url", "image_url": shown}
