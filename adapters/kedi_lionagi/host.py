"""What this adapter makes with LionAGI's own classes; the one file that imports it, at its first use.

LionAGI brings a database toolkit and a tokenizer along, which a program that only compiles must not load. Everything
else is reached through attributes of the objects that a caller hands over.
"""

from __future__ import annotations

from functools import cache
from typing import Any

from kedi_compile.turn import (
    ActionRequest,
    ActionResponse,
    AssistantResponse,
    Instruction,
    Message,
    System,
)
from kedi_compile.turn.refusals import refuse_other


@cache
def kinds() -> tuple[tuple[type[Any], type[Message]], ...]:
    """Return each conversational class of LionAGI with the record it becomes."""
    from lionagi.protocols import messages as lion

    return (
        (lion.System, System),
        (lion.Instruction, Instruction),
        (lion.AssistantResponse, AssistantResponse),
        (lion.ActionRequest, ActionRequest),
        (lion.ActionResponse, ActionResponse),
    )


def is_instruction(value: object) -> bool:
    """Tell whether a value is an instruction of LionAGI."""
    from lionagi.protocols.messages import Instruction as LionInstruction

    return isinstance(value, LionInstruction)


def refuse_strangers(branch: object, param: object) -> None:
    """Refuse what is no branch and what are no parameters of LionAGI.

    Raises:
        TurnCompileError: one of the two is something else.
    """
    from lionagi import Branch
    from lionagi.operations.types import ChatParam

    for name, value, kind in (("branch", branch, Branch), ("param", param, ChatParam)):
        refuse_other(value, kind, f"`{name}` must be LionAGI's {kind.__name__}", name)


def instruction_of(record: Instruction) -> Any:
    """Return a record as an instruction of LionAGI with the same identity."""
    from lionagi.protocols.messages import Instruction as LionInstruction

    content = {name: value for name, value in record.content.to_dict().items() if value is not None and value != []}
    fields = {
        "id": record.id,
        "created_at": record.created_at.timestamp(),
        "content": content,
        "sender": record.sender,
        "recipient": record.recipient,
        "metadata": dict(record.metadata),
    }
    made = LionInstruction.model_validate(fields)
    for name, value in content.items():
        if not value:  # LionAGI reads 0 and False as absent
            setattr(made.content, name, value)
    return made


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
