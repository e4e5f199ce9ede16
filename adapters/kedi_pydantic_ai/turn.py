"""A compiled turn as Pydantic AI messages.

Only roles, text and images are translated. Tools and the output type go to the agent natively, as parameters of its
own; nothing is read back from records. Source: Turn specification, D4.
"""

from __future__ import annotations

import base64
import re
from typing import Any

from pydantic_ai import BinaryContent, ImageUrl
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserContent, UserPromptPart

from kedi_compile import CompiledChatRequest, MessageRole
from kedi_compile.dialect import GUIDANCE_MARK
from kedi_compile.turn import guided

_DATA_URI = re.compile(r"data:(?P<media>[^;]+);base64,", re.IGNORECASE)


def to_model_messages(compiled: CompiledChatRequest) -> list[ModelMessage]:
    """Return the messages as a history for `Agent.run(message_history=...)`.

    The current instruction is the last of them, so the run takes no prompt. The messages share nothing with
    `compiled`, and an image's detail is in its `vendor_metadata`. The message that holds the policy says so in its
    `metadata`, which no model reads: a history processor cannot drop it.
    """
    place = guided(compiled)
    return [
        _message(message.role, message.content, number == place) for number, message in enumerate(compiled.messages)
    ]


def _message(role: MessageRole, content: str | list[dict[str, Any]], is_guided: bool) -> ModelMessage:  # noqa: FBT001
    if role is MessageRole.ASSISTANT:
        assert isinstance(content, str)  # only an instruction has images
        return ModelResponse(parts=[TextPart(content)])
    shown = content if isinstance(content, str) else [_part(part) for part in content]
    return ModelRequest(parts=[UserPromptPart(shown)], metadata={GUIDANCE_MARK: True} if is_guided else None)


def _part(part: dict[str, Any]) -> UserContent:
    if part["type"] == "text":
        return str(part["text"])
    url, detail = part["image_url"]["url"], part["image_url"]["detail"]
    vendor = None if detail is None else {"detail": detail}
    if (data := _DATA_URI.match(url)) is None:
        return ImageUrl(url, vendor_metadata=vendor)
    media = data["media"].lower().replace("image/jpg", "image/jpeg")
    return BinaryContent(base64.b64decode(url[data.end() :]), media_type=media, vendor_metadata=vendor)
