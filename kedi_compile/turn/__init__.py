"""Turn compilation: durable records and a turn request become one exact, provider-neutral request.

`records` and `branch` are what a conversation is kept in, `request` is the contract of one turn, `compiler` the way
from one to the other: `select` -> `project` -> `order` -> `fold` -> `render`, a file each. No provider is known here,
and nothing is sent. Source: Turn specification.
"""

from .branch import Branch, MessageManager
from .compiler import compile_chat_request, guided, provider_messages
from .contents import (
    ActionRequestContent,
    ActionResponseContent,
    AssistantResponseContent,
    InstructionContent,
    MessageContent,
    SystemContent,
)
from .records import (
    ActionRequest,
    ActionResponse,
    AssistantResponse,
    Instruction,
    Message,
    System,
    record_from_dict,
)
from .request import CompiledChatRequest, ContextBlock, TurnRequest

__all__ = [
    "ActionRequest",
    "ActionRequestContent",
    "ActionResponse",
    "ActionResponseContent",
    "AssistantResponse",
    "AssistantResponseContent",
    "Branch",
    "CompiledChatRequest",
    "ContextBlock",
    "Instruction",
    "InstructionContent",
    "Message",
    "MessageContent",
    "MessageManager",
    "System",
    "SystemContent",
    "TurnRequest",
    "compile_chat_request",
    "guided",
    "provider_messages",
    "record_from_dict",
]
