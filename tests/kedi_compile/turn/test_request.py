"""The contract of one turn: what may be given, and what cannot be reassigned."""

from collections.abc import MutableMapping
from dataclasses import FrozenInstanceError, fields
from typing import Any, cast

import pytest

from kedi_compile import CompiledChatRequest, ContextBlock, TurnRequest
from kedi_compile.turn import Instruction

ASK = Instruction.create("Ask.")


def test_the_fields_are_the_specifications() -> None:
    """The three types have the named fields in the named order."""
    assert [item.name for item in fields(ContextBlock)] == ["provider_name", "content"]
    assert [item.name for item in fields(CompiledChatRequest)] == ["instruction", "messages", "provider_kwargs"]
    assert [item.name for item in fields(TurnRequest)] == [
        *("instruction", "progression", "tool_schemas", "response_format", "structure", "context_blocks"),
        "provider_kwargs",
    ]


def test_a_request_needs_an_instruction_alone() -> None:
    """Everything else has an empty default, and no progression is the branch's own."""
    request = TurnRequest(ASK)

    assert (request.progression, request.tool_schemas, request.response_format) == (None, (), None)
    assert (request.structure, request.context_blocks, dict(request.provider_kwargs)) == (None, (), {})


@pytest.mark.parametrize(
    "value", [TurnRequest(ASK), ContextBlock("memory", "fact"), CompiledChatRequest(ASK, (), {})], ids=type
)
def test_no_field_is_reassigned(value: Any) -> None:
    """A request stays the one that was asked for."""
    name = fields(value)[0].name

    with pytest.raises(FrozenInstanceError):
        setattr(value, name, None)
    assert not hasattr(value, "__dict__")


def test_the_empty_default_is_read_only_and_shared_with_no_other_request() -> None:
    """Two requests never meet in a default mapping."""
    one, other = TurnRequest(ASK), TurnRequest(ASK)

    assert one.provider_kwargs is not other.provider_kwargs
    with pytest.raises(TypeError):
        cast(MutableMapping[str, Any], one.provider_kwargs)["model"] = "m"
