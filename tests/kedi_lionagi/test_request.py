"""LionAGI's call parameters as a turn request."""

from dataclasses import fields
from typing import Any
from uuid import UUID

import pytest

pytest.importorskip("lionagi", reason="LionAGI is not installed")

from lionagi.operations.types import ChatParam, RunParam
from lionagi.protocols.messages import Instruction

from kedi_compile import ContextBlock, TurnCompileError, TurnRequest
from kedi_compile.turn import Branch
from kedi_compile.turn import Instruction as Record
from kedi_lionagi import turn_request
from turn_lionagi import scripted

TOOL = {"type": "function", "function": {"name": "f"}}


def request_of(instruction: Any = "Hello?", **options: Any) -> TurnRequest:
    """Return the turn that a call with these parameters means."""
    return turn_request(scripted(), instruction, ChatParam(**options))


def test_an_empty_progression_means_the_branchs_own() -> None:
    """As it always has in LionAGI; no history is asked for with a `TurnRequest` alone."""
    assert request_of(progression=[]).progression is None
    assert request_of().progression is None


def test_a_progression_is_kept_in_its_order() -> None:
    """The ids come through as they are."""
    ids = [UUID(int=2), UUID(int=1)]

    assert request_of(progression=ids).progression == tuple(ids)


def test_an_instruction_is_built_the_way_lionagi_does() -> None:
    """Every parameter of an instruction has its place in the content."""
    request = request_of(
        "Hello?", guidance="Short.", context={"a": 1}, images=["iVBORw0KGgo="], image_detail="low", plain_content="RAW"
    )

    assert request.instruction.content.to_dict() == {
        "instruction": "Hello?",
        "guidance": "Short.",
        "prompt_context": [{"a": 1}],
        "plain_content": "RAW",
        "images": ["data:image/jpeg;base64,iVBORw0KGgo="],
        "image_detail": "low",
    }


def test_an_instruction_is_from_the_branchs_user_to_the_branch() -> None:
    """Unless the parameters say otherwise."""
    branch = scripted(user="ada")

    own = turn_request(branch, "Hello?", ChatParam()).instruction
    given = turn_request(branch, "Hello?", ChatParam(sender="grace", recipient="hut")).instruction

    assert (own.sender, own.recipient) == ("ada", str(branch.id))
    assert (given.sender, given.recipient) == ("grace", "hut")


def test_an_instruction_object_stays_as_it_is() -> None:
    """Parameters are added in a copy that keeps the object's identity."""
    held = Instruction(content={"instruction": "Hello?", "prompt_context": ["a"]})
    before = held.to_dict()

    request = request_of(held, context=["b"], guidance="Short.")

    assert held.to_dict() == before
    assert request.instruction.id == held.id
    assert request.instruction.content.prompt_context == ["a", "b"]
    assert request.instruction.content.guidance == "Short."


def test_a_record_is_an_instruction_too() -> None:
    """An instruction of the compiler's own is not taken for a JSON value."""
    held = Record.create("Hello?", prompt_context=["a"])

    request = request_of(held, context=["b"])

    assert request.instruction.id == held.id
    assert request.instruction.content.prompt_context == ["a", "b"]
    assert held.content.prompt_context == ["a"]


def test_ids_of_a_progression_may_be_texts() -> None:
    """A single text is no progression."""
    assert request_of(progression=[str(UUID(int=2))]).progression == (UUID(int=2),)
    with pytest.raises(TurnCompileError, match="A progression is a sequence of record ids, not a str"):
        request_of(progression=str(UUID(int=2)))


@pytest.mark.parametrize(
    ("name", "arguments"), [("branch", (Branch(), "Hello?", ChatParam())), ("param", (None, "Hello?", None))]
)
def test_what_is_not_lionagis_is_refused(name: str, arguments: tuple[Any, Any, Any]) -> None:
    """A branch of the compiler's is none of LionAGI's, and parameters are needed."""
    branch, instruction, param = arguments

    with pytest.raises(TurnCompileError) as caught:
        turn_request(scripted() if branch is None else branch, instruction, param)

    assert caught.value.path == name


@pytest.mark.parametrize("schemas", [[TOOL], TOOL, {"tools": [TOOL]}, {"tools": TOOL}])
def test_tool_schemas_come_in_every_form_lionagi_takes(schemas: Any) -> None:
    """A list, one schema, or the wrapper of its action manager."""
    assert request_of(tool_schemas=schemas).tool_schemas == (TOOL,)


def test_what_holds_for_one_call_is_on_the_request() -> None:
    """Format, structure and the provider's arguments are none of the instruction's."""
    request = turn_request(
        scripted(),
        "Hello?",
        ChatParam(response_format={"a": 1}, imodel_kw={"temperature": 0.5}),
        context_blocks=[ContextBlock("weather", "Snow.")],
    )

    assert request.response_format == {"a": 1}
    assert request.provider_kwargs == {"temperature": 0.5}
    assert request.context_blocks == (ContextBlock("weather", "Snow."),)


def test_how_a_request_is_executed_never_enters_it() -> None:
    """A turn has no field for a stream, a session, a deadline or a folder."""
    names = {field.name for field in fields(TurnRequest)}
    request = turn_request(scripted(), "Hello?", RunParam(stream_persist=True, persist_dir="here"))

    assert names == {
        *("instruction", "progression", "tool_schemas", "response_format", "structure", "context_blocks"),
        "provider_kwargs",
    }
    assert request.provider_kwargs == {}
