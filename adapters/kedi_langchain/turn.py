"""A compiled turn as LangChain messages.

Only roles, text and images are translated. Tools and the output type go to the model natively, by `bind_tools` and
`with_structured_output`; nothing is read back from records. Source: Turn specification, D4.
"""

from __future__ import annotations

from typing import Any

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from kedi_compile import CompiledChatRequest, MessageRole
from kedi_compile.dialect import GUIDANCE_MARK
from kedi_compile.turn import guided


def to_messages(compiled: CompiledChatRequest) -> list[BaseMessage]:
    """Return the messages as the whole input of a chat model or an agent.

    The current instruction is the last of them. A thread that a checkpointer keeps has the earlier ones already: there
    the messages of each turn would be added to those of the turns before. The messages share nothing with `compiled`;
    an image whose detail is unset has none. The message that holds the policy says so in its `response_metadata`,
    which no model reads: a history processor cannot drop it.
    """
    place = guided(compiled)
    return [
        _message(message.role, message.content, number == place) for number, message in enumerate(compiled.messages)
    ]


def _message(role: MessageRole, content: str | list[dict[str, Any]], is_guided: bool) -> BaseMessage:  # noqa: FBT001
    if role is MessageRole.ASSISTANT:
        assert isinstance(content, str)  # only an instruction has images
        return AIMessage(content)
    shown = content if isinstance(content, str) else [_part(part) for part in content]
    return HumanMessage(shown, response_metadata={GUIDANCE_MARK: True} if is_guided else {})


def _part(part: dict[str, Any]) -> str | dict[str, Any]:
    if part["type"] == "text":
        return dict(part)
    shown = {name: value for name, value in part["image_url"].items() if value is not None}
    return {"type": "image_url", "image_url": shown}
