"""The names this adapter takes from LionAGI, all of them public; the one file that imports it, at its first use.

LionAGI brings a database toolkit and a tokenizer along, which a program that only compiles must not load.
"""

from __future__ import annotations

from datetime import UTC, datetime
from functools import cache
from typing import Any

from kedi_compile.turn import (
    ActionRequest,
    ActionRequestContent,
    ActionResponse,
    ActionResponseContent,
    AssistantResponse,
    AssistantResponseContent,
    Instruction,
    InstructionContent,
    Message,
    MessageContent,
    System,
    SystemContent,
)

Kind = tuple[type[Any], type[Message], type[MessageContent]]


@cache
def kinds() -> tuple[Kind, ...]:
    """Return each conversational class of LionAGI with the record and the content it becomes."""
    from lionagi.protocols import messages as lion

    return (
        (lion.System, System, SystemContent),
        (lion.Instruction, Instruction, InstructionContent),
        (lion.AssistantResponse, AssistantResponse, AssistantResponseContent),
        (lion.ActionRequest, ActionRequest, ActionRequestContent),
        (lion.ActionResponse, ActionResponse, ActionResponseContent),
    )


def is_instruction(value: object) -> bool:
    """Tell whether a value is an instruction of LionAGI."""
    return isinstance(value, kinds()[1][0])


def instruction_of(record: Instruction) -> Any:
    """Return a record as an instruction of LionAGI with the same identity."""
    from lionagi.protocols.messages import Instruction as LionInstruction

    fields = {
        "id": record.id,
        "created_at": record.created_at.timestamp(),
        "content": {name: value for name, value in record.content.to_dict().items() if value},  # absent is unset there
        "sender": record.sender,
        "recipient": record.recipient,
        "metadata": dict(record.metadata),
    }
    return LionInstruction.model_validate(fields)


def answer_of(response: object, branch: Any) -> Any:
    """Return a provider's response as an answer of LionAGI to a branch's user."""
    from lionagi.protocols.messages import AssistantResponse as LionAnswer

    return LionAnswer.from_response(response, sender=branch.id, recipient=branch.user)


def answer_with(text: str, thinking: str, branch: Any) -> Any:
    """Return streamed text as an answer of LionAGI; thinking that came before it stands in its metadata."""
    answer = branch.msgs.create_assistant_response(
        assistant_response=text, sender=branch.id, recipient=branch.user or "user"
    )
    if thinking:
        answer.metadata["thinking"] = thinking
    return answer


def moment(seconds: float) -> datetime:
    """Return LionAGI's `created_at` as a time in UTC."""
    return datetime.fromtimestamp(seconds, UTC)
