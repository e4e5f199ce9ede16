"""The oracle data built from LionAGI's real classes, and branches whose model is LionAGI's own scripted one."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from copy import deepcopy
from typing import Any

from lionagi import Branch
from lionagi.operations.types import ChatParam
from lionagi.protocols.messages import (
    ActionRequest,
    ActionResponse,
    AssistantResponse,
    Instruction,
    Message,
    MessageRole,
    System,
)
from lionagi.testing import StreamChunkSpec, StreamResponse, TestBranch, TextResponse

from kedi_compile import ContextBlock
from turn_vectors import SYSTEM, Case, Vector, format_of, id_of

SILENT = {"auto_save_on_exit": False}
"""LionAGI writes a log file when the process ends, unless it is told not to."""


def scripted(*answers: str, **fields: Any) -> Branch:
    """Return a branch whose model gives these answers in turn."""
    return branch_with([TextResponse(content=answer) for answer in answers], **fields)


def streamed(*chunks: Mapping[str, Any], **fields: Any) -> Branch:
    """Return a branch whose model streams these chunks once."""
    return branch_with([StreamResponse(chunks=[StreamChunkSpec(**chunk) for chunk in chunks])], **fields)


def branch_with(responses: list[Any], **fields: Any) -> Branch:
    """Return a branch with a script of responses."""
    return TestBranch.from_responses(responses, log_config=SILENT, **fields)


def sent(branch: Branch) -> list[list[dict[str, Any]]]:
    """Return the messages of each call that a branch's model was given."""
    return [call.payload["messages"] for call in TestBranch.calls(branch)]


def talked(*answers: str) -> Branch:
    """Return a branch with a system and one answered question, whose model gives these answers in turn."""
    branch = scripted(*answers, system="Be terse.")
    branch.msgs.add_message(instruction="Hello?", sender="user", recipient=branch.id)
    branch.msgs.add_message(assistant_response="Hi.", sender=branch.id, recipient="user")
    return branch


class AnswerBySubclass(AssistantResponse):  # type: ignore[misc]  # mypy does not read LionAGI
    """An answer of a derived kind."""


class WithARole(Message):  # type: ignore[misc]  # mypy does not read LionAGI
    """A kind nobody knows, with a role."""

    @property
    def role(self) -> MessageRole:
        """Take part in the conversation."""
        return MessageRole.ASSISTANT


class WithoutARole(Message):  # type: ignore[misc]  # mypy does not read LionAGI
    """A kind nobody knows, without a role."""


def branch_of(vector: Vector) -> Branch:
    """Return the branch of a case, as LionAGI keeps it."""
    branch = scripted("An answer.", "An answer.")
    system = vector.case["system"]
    if system is not None:
        content = {"system_message": system["text"], "system_datetime": system.get("datetime")}
        branch.msgs.set_system(System(id=id_of(SYSTEM), content=content))
    calls = {item["id"]: item for item in vector.case["records"] if item["kind"] == "action_request"}
    for item in vector.case["records"]:
        branch.msgs.messages.include(RECORDS[item["kind"]](item, calls))
    if (override := vector.case.get("current_progression")) is not None:
        branch.metadata["current_progression"] = [id_of(name) for name in override]
    return branch


def _instruction(item: Case, _calls: Mapping[str, Case]) -> Instruction:
    fields = {key: value for key, value in deepcopy(dict(item)).items() if key not in {"id", "kind"}}
    return Instruction(id=id_of(item["id"]), content=_lion_fields(fields))


def _lion_fields(fields: dict[str, Any]) -> dict[str, Any]:
    if "prompt_context_raw" in fields:
        fields["prompt_context"] = fields.pop("prompt_context_raw")
    if "response_format" in fields:
        fields["response_format"] = format_of(fields["response_format"])
    return fields


def _request(item: Case, _calls: Mapping[str, Case]) -> ActionRequest:
    return ActionRequest(id=id_of(item["id"]), content={"function": item["function"], "arguments": item["arguments"]})


def _response(item: Case, calls: Mapping[str, Case]) -> ActionResponse:
    call = calls[item["request"]]
    content = {
        "function": call["function"],
        "arguments": call["arguments"],
        "output": item.get("output"),
        "action_request_id": str(id_of(item["request"])),
    }
    return ActionResponse(id=id_of(item["id"]), content=content)


def _answer(kind: type[AssistantResponse]) -> Callable[[Case, Mapping[str, Case]], AssistantResponse]:
    return lambda item, _: kind(id=id_of(item["id"]), content={"assistant_response": item["text"]})


RECORDS: dict[str, Callable[[Case, Mapping[str, Case]], Message]] = {
    "instruction": _instruction,
    "assistant": _answer(AssistantResponse),
    "assistant_subclass": _answer(AnswerBySubclass),
    "action_request": _request,
    "action_response": _response,
    "message": lambda item, _: Message(id=id_of(item["id"]), content=item["content"]),
    "system": lambda item, _: System(id=id_of(item["id"]), content={"system_message": item["text"]}),
    "custom": lambda item, _: (WithoutARole if item["role"] == "unset" else WithARole)(
        id=id_of(item["id"]), content=item["content"]
    ),
}
"""How a record of each kind in the data is built."""


def call_of(vector: Vector, kind: type[ChatParam] = ChatParam) -> tuple[Any, ChatParam, tuple[ContextBlock, ...]]:
    """Return the arguments with which a user of LionAGI means a case: instruction, parameters and blocks."""
    asked = vector.case["request"]
    fields = _lion_fields(deepcopy(dict(asked["instruction"])))
    options: dict[str, Any] = {
        "tool_schemas": asked.get("tool_schemas") or None,
        "response_format": format_of(asked.get("response_format")),
        "structure": asked.get("structure"),
        "imodel_kw": asked.get("provider_kwargs") or {},
        "progression": [id_of(name) for name in asked.get("progression") or ()],
    }
    if asked.get("as_instruction_object"):
        instruction: Any = Instruction(content=fields)
    else:
        instruction = fields.pop("instruction", None)
        options |= {"context" if key == "prompt_context" else key: value for key, value in fields.items()}
    blocks = tuple(ContextBlock(**block) for block in asked.get("context_blocks") or ())
    return instruction, kind(**{key: value for key, value in options.items() if value is not None}), blocks
