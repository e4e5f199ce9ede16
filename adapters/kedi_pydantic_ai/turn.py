"""A compiled turn as Pydantic AI messages.

Only roles, text and images are translated. Tools and the output type go to the agent natively, as parameters of its
own; nothing is read back from records. Source: Turn specification, D4.
"""

from __future__ import annotations

import base64
import re
from itertools import groupby
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
    `compiled`, and an image's detail is in its `vendor_metadata`. Messages of the user in a row are the parts of one
    request, which the host would make of them too. The request that holds the policy says so in its `metadata`, which
    no model reads: a history processor cannot drop it.
    """
    place = guided(compiled)
    messages: list[ModelMessage] = []
    for is_user, run in groupby(enumerate(compiled.messages), lambda item: item[1].role is MessageRole.USER):
        numbers, contents = zip(*((number, message.content) for number, message in run), strict=True)
        if is_user:
            metadata = {GUIDANCE_MARK: True} if place in numbers else None
            messages.append(ModelRequest(parts=[_prompt(content) for content in contents], metadata=metadata))
        else:
            messages.append(ModelResponse(parts=[TextPart(str(content)) for content in contents]))
    return messages


def _prompt(content: str | list[dict[str, Any]]) -> UserPromptPart:
    return UserPromptPart(content if isinstance(content, str) else [_part(part) for part in content])


def _part(part: dict[str, Any]) -> UserContent:
    if part["type"] == "text":
        return str(part["text"])
    url, detail = part["image_url"]["url"], part["image_url"]["detail"]
    vendor = None if detail is None else {"detail": detail}
    if (data := _DATA_URI.match(url)) is None:
        return ImageUrl(url, vendor_metadata=vendor)
    media = data["media"].lower().replace("image/jpg", "image/jpeg")
    return BinaryContent(base64.b64decode(url[data.end() :]), media_type=media, vendor_metadata=vendor)
