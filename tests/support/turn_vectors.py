"""The turn compiler's oracle data: cases measured on LionAGI, and what the specification says of each.

`KEDI_TURN_VECTORS` names the file; the rows for minimal YAML lie beside it. Ids of records are names in the file and
become UUIDs here. Where the data shows LionAGI's own response-format text, that section is left out of a comparison:
the sentence of this project is another one.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, Optional
from uuid import NAMESPACE_URL, UUID, uuid5

from pydantic import BaseModel, Field, create_model

from kedi_compile.message import MessageRole
from kedi_compile.turn import (
    ActionRequest,
    ActionRequestContent,
    ActionResponse,
    ActionResponseContent,
    AssistantResponse,
    Branch,
    ContextBlock,
    Instruction,
    InstructionContent,
    Message,
    System,
    TurnRequest,
)

FILE = Path(os.environ["KEDI_TURN_VECTORS"]) if os.environ.get("KEDI_TURN_VECTORS") else None
WITHOUT = "KEDI_TURN_VECTORS names no file of turn vectors; they are kept outside of this repository"

SYSTEM = "$system"
ANNOTATIONS: dict[str, Any] = {
    "str": str,
    "float": float,
    "int": int,
    "bool": bool,
    "float | None": float | None,
    "list[str]": list[str],
    "list": list,
    "dict[str, int]": dict[str, int],
    "Any": Any,
    "Optional[str]": Optional[str],  # noqa: UP045  # as the data spells it
    "Literal['x', 'y']": Literal["x", "y"],
}

Case = Mapping[str, Any]


def id_of(name: str) -> UUID:
    """Return the id a record's name stands for."""
    return uuid5(NAMESPACE_URL, name)


class AnswerBySubclass(AssistantResponse):
    """An answer of a derived kind."""


class WithARole(Message):
    """A kind the compiler does not know, with a role."""

    role = MessageRole.ASSISTANT


class WithoutARole(Message):
    """A kind the compiler does not know, without a role."""


@dataclass(frozen=True)
class Vector:
    """One case: the objects it is compiled from, and what must come of it."""

    case: Case

    @property
    def name(self) -> str:
        """The case's name."""
        return str(self.case["name"])

    @property
    def error(self) -> str | None:
        """The class of the error the specification asks for."""
        error = self._error
        return None if error is None else str(error["type"])

    @property
    def error_text(self) -> str | None:
        """The text of that error, where the specification fixes one."""
        error = self._error
        fixed = error is not None and (not self.case["same_as_seed"] or not self._from_images)
        return error["message"] if error is not None and fixed else None

    @property
    def _error(self) -> Mapping[str, Any] | None:
        found = self.case.get("error") if self.case["same_as_seed"] else self.case.get("seed_error")
        return None if found is None else dict(found)

    @property
    def _from_images(self) -> bool:
        return bool(self.case["request"]["instruction"].get("images"))

    @property
    def payload(self) -> list[dict[str, Any]]:
        """The messages the specification asks for."""
        key = "payload" if self.case["same_as_seed"] else "seed_payload"
        return [self.comparable(message) for message in self.case[key]]

    def comparable(self, message: dict[str, Any]) -> dict[str, Any]:
        """Return a message without its response-format section, where the data shows another sentence there."""
        if not self.case["contains_lionagi_fixed_text"] or not isinstance(message["content"], str):
            return message
        return {**message, "content": message["content"].partition("\nResponseFormat:")[0]}

    @cached_property
    def branch(self) -> Branch:
        """The branch of the case."""
        system = self.case["system"]
        record = None
        if system is not None:
            record = System.create(system["text"], system_datetime=system.get("datetime"), id=id_of(SYSTEM))
        calls = {item["id"]: item for item in self.case["records"] if item["kind"] == "action_request"}
        records = [RECORDS[item["kind"]](item, calls) for item in self.case["records"]]
        override = self.case.get("current_progression")
        metadata = {} if override is None else {"current_progression": [id_of(name) for name in override]}
        return Branch(record, records, metadata=metadata)

    @cached_property
    def request(self) -> TurnRequest:
        """The turn request of the case."""
        asked = self.case["request"]
        order = asked.get("progression")
        return TurnRequest(
            _instruction(asked["instruction"]),
            progression=None if order is None else tuple(id_of(name) for name in order),
            tool_schemas=tuple(asked.get("tool_schemas") or ()),
            response_format=format_of(asked.get("response_format")),
            structure=asked.get("structure"),
            context_blocks=tuple(ContextBlock(**block) for block in asked.get("context_blocks") or ()),
            provider_kwargs=asked.get("provider_kwargs") or {},
        )


def format_of(described: Case | None) -> type[BaseModel] | BaseModel | dict[str, Any] | None:
    """Return the response format that a case describes."""
    if described is None:
        return None
    if described["kind"] == "dict":
        return deepcopy(dict(described["value"]))
    fields: dict[str, Any] = {
        field["name"]: (
            ANNOTATIONS[field["annotation"]],
            Field(... if field["required"] else field["default"], description=field.get("description")),
        )
        for field in described["fields"]
    }
    model: type[BaseModel] = create_model(described["name"], __doc__=described.get("doc"), **fields)
    return model if described["kind"] == "model_type" else model(**described["values"])


def _instruction(item: Case, record_id: UUID | None = None) -> Instruction:
    fields = {key: value for key, value in deepcopy(dict(item)).items() if key not in {"id", "kind"}}
    if "prompt_context_raw" in fields:
        fields["prompt_context"] = fields.pop("prompt_context_raw")
    stored = {key: fields.pop(key) for key in InstructionContent.transient & fields.keys()}
    made = Instruction.create(**fields)
    content = InstructionContent.from_dict({**made.content.to_dict(), **stored})
    return Instruction(content=content, id=record_id or made.id)


def _response(item: Case, calls: Mapping[str, Case]) -> ActionResponse:
    call = calls[item["request"]]
    content = ActionResponseContent(
        call["function"], call["arguments"], item.get("output"), action_request_id=id_of(item["request"])
    )
    return ActionResponse(content=content, id=id_of(item["id"]))


RECORDS: dict[str, Callable[[Case, Mapping[str, Case]], Message]] = {
    "instruction": lambda item, _: _instruction(item, id_of(item["id"])),
    "assistant": lambda item, _: AssistantResponse.create(item["text"], id=id_of(item["id"])),
    "assistant_subclass": lambda item, _: AnswerBySubclass.create(item["text"], id=id_of(item["id"])),
    "action_request": lambda item, _: ActionRequest(
        content=ActionRequestContent(item["function"], item["arguments"]), id=id_of(item["id"])
    ),
    "action_response": _response,
    "message": lambda item, _: Message(content=item["content"], id=id_of(item["id"])),
    "system": lambda item, _: System.create(item["text"], id=id_of(item["id"])),
    "custom": lambda item, _: (WithoutARole if item["role"] == "unset" else WithARole)(
        content=item["content"], id=id_of(item["id"])
    ),
}
"""How a record of each kind in the data is built."""


def vectors() -> list[Vector]:
    """Return every case that the specification has a word on; those about a provider's prompt cache are beyond it."""
    if FILE is None:
        return []
    return [Vector(case) for case in json.loads(FILE.read_text()) if not case["name"].startswith("cache_")]


def yaml_rows() -> list[dict[str, Any]]:
    """Return the rows of the minimal-YAML table."""
    if FILE is None:
        return []
    rows: list[dict[str, Any]] = json.loads((FILE.parent / "yaml_vectors.json").read_text())["rows"]
    return rows
