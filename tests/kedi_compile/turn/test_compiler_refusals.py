"""What the compiler refuses: the field or the record to blame, and which of several faults is named."""

from datetime import UTC, datetime
from threading import Lock
from typing import Any, ClassVar
from uuid import UUID

import pytest

from kedi_compile import ContextBlock, TurnCompileError, TurnRequest, compile_chat_request
from kedi_compile.message import MessageRole
from kedi_compile.turn import (
    ActionRequest,
    ActionResponse,
    AssistantResponse,
    Branch,
    Instruction,
    InstructionContent,
    Message,
    System,
)

NOON = datetime(2026, 1, 2, 12, tzinfo=UTC)
ASK = Instruction.create("Ask.", id=UUID(int=1), guidance="Guide.")
YES = AssistantResponse.create("Yes.", id=UUID(int=2))
NOW = Instruction.create("Now.", id=UUID(int=3))
MISSING = UUID(int=9)
YES_TOO = AssistantResponse.create("Yes, too.")


class Whisper(Message):
    """A record of a kind that the compiler does not know."""

    role: ClassVar[MessageRole] = MessageRole.USER


WHISPER = Whisper(content="psst")


def refusal(branch: Branch, request: TurnRequest) -> TurnCompileError:
    """Return the error a turn is refused with."""
    with pytest.raises(TurnCompileError) as caught:
        compile_chat_request(branch, request)
    return caught.value


def test_messages_is_a_reserved_argument() -> None:
    """The compiled messages are neither overwritten nor do they overwrite."""
    with pytest.raises(TurnCompileError) as caught:
        compile_chat_request(Branch(), TurnRequest(NOW, provider_kwargs={"messages": []}))

    assert str(caught.value) == "provider_kwargs must not contain reserved key 'messages'"
    assert caught.value.path == "provider_kwargs.messages"


@pytest.mark.parametrize(
    ("request_", "message"),
    [
        (
            TurnRequest("Now."),  # type: ignore[arg-type]  # the point of the test
            "`instruction` must be a record, made by Instruction.create, not a str",
        ),
        (
            TurnRequest(NOW, tool_schemas={"name": "look"}),  # type: ignore[arg-type]  # the point of the test
            "`tool_schemas` must be a tuple of mappings, not a dict",
        ),
        (
            TurnRequest(NOW, provider_kwargs=[("a", 1)]),  # type: ignore[arg-type]  # the point of the test
            "`provider_kwargs` must be a mapping, not a list",
        ),
        (
            TurnRequest(NOW, context_blocks=None),  # type: ignore[arg-type]  # the point of the test
            "`context_blocks` must be a tuple of ContextBlock, not a NoneType",
        ),
        (
            TurnRequest(NOW, provider_kwargs={"client": Lock()}),
            "`provider_kwargs` holds a value that cannot be copied (cannot pickle '_thread.lock' object)",
        ),
        (
            TurnRequest(NOW, tool_schemas=({"name": "look"}, "look")),  # type: ignore[arg-type]  # the point of the test
            "`tool_schemas[1]` must be a mapping, not a str",
        ),
        (
            TurnRequest(NOW, context_blocks=(ContextBlock("memory", "fact"), "fact")),  # type: ignore[arg-type]  # so is this
            "`context_blocks[1]` is a str; it must be a ContextBlock",
        ),
        (
            TurnRequest(NOW, provider_kwargs={"a": 1, 2: 3}),  # type: ignore[dict-item]  # the point of the test
            "`provider_kwargs` must have text as its keys, not a int",
        ),
        (
            TurnRequest(NOW, response_format="json"),  # type: ignore[arg-type]  # the point of the test
            "`response_format` is a str; it must be a pydantic model, its class, or a mapping",
        ),
    ],
    ids=["text", "tool", "pairs", "blocks", "lock", "item", "block", "key", "format"],
)
def test_an_unusable_request_is_refused(request_: TurnRequest, message: str) -> None:
    """The field is named, in the text and as the path."""
    with pytest.raises(TurnCompileError) as caught:
        compile_chat_request(Branch(), request_)

    assert str(caught.value) == message
    assert (caught.value.path, caught.value.record_ids) == (message.split("`")[1], ())


def test_what_is_no_branch_and_no_request_is_refused() -> None:
    """The type that was found is named in full, for another library has a class of the same name."""
    with pytest.raises(TurnCompileError) as no_branch:
        compile_chat_request(NOON, TurnRequest(NOW))  # type: ignore[arg-type]  # the point of the test
    with pytest.raises(TurnCompileError) as no_request:
        compile_chat_request(Branch(), NOW)  # type: ignore[arg-type]  # the point of the test

    assert str(no_branch.value) == (
        "`branch` must be a kedi_compile.turn.Branch, as kedi_lionagi.to_branch makes, not a datetime.datetime"
    )
    assert str(no_request.value) == ("`request` must be a TurnRequest, not a kedi_compile.turn.records.Instruction")
    assert (no_branch.value.path, no_request.value.path) == ("branch", "request")


def test_several_broken_rules_are_reported_in_the_order_of_the_steps() -> None:
    """Arguments, then ids, then kinds, then the order, then options, then blocks, then what cannot be written."""
    odd = Instruction.create(int)
    empty = (ContextBlock("memory", ""),)
    branch = Branch("Be brief.", [WHISPER, YES, ASK, YES_TOO, odd])
    whole = (YES.id, ASK.id, YES_TOO.id, odd.id)
    tool = ({"run": int},)
    steps = [
        TurnRequest(NOW, (MISSING,), context_blocks=empty, provider_kwargs={"messages": []}),
        TurnRequest(NOW, (MISSING, WHISPER.id, *whole), context_blocks=empty),
        TurnRequest(NOW, (WHISPER.id, *whole), context_blocks=empty),
        TurnRequest(NOW, whole, context_blocks=empty, tool_schemas=tool),
        TurnRequest(NOW, whole[1:], context_blocks=empty, tool_schemas=tool),
        TurnRequest(NOW, whole[1:], context_blocks=empty),
        TurnRequest(NOW, whole[1:]),
    ]

    assert [str(refusal(branch, request)).split(":")[0].split(" is a ")[0] for request in steps] == [
        "provider_kwargs must not contain reserved key 'messages'",
        f"The branch does not hold 1 record(s) ({MISSING})",
        f"Record {WHISPER.id}",
        "First message in progression must be an Instruction or System",
        "The value at tool_schemas[0].run is <class 'int'>, which cannot be written; use plain data",
        "`context_blocks[0].content` is empty; it must be text that is not empty",
        f"Record {odd.id}",
    ]


def test_the_options_are_named_by_their_place_in_the_request() -> None:
    """A value inside a tool or a format is nobody's record."""
    tool = refusal(Branch("Be brief.", [ASK, YES]), TurnRequest(NOW, tool_schemas=({"a": 1}, {"run": [int]})))
    wanted = refusal(Branch("Be brief.", [ASK, YES]), TurnRequest(NOW, response_format={"when": int}))

    assert (tool.path, tool.record_ids) == ("tool_schemas[1].run[0]", ())
    assert (wanted.path, wanted.record_ids) == ("response_format.when", ())


@pytest.mark.parametrize(
    ("content", "path"),
    [
        (InstructionContent({"a": int}), "instruction.a"),
        (InstructionContent(guidance={"a": int}), "guidance.a"),
        (InstructionContent(prompt_context=[1, None, {"output": {"when": int}}]), "prompt_context[2].output.when"),
        (InstructionContent(prompt_context={"a": 1}), "prompt_context"),  # type: ignore[arg-type]  # the point
        (InstructionContent(plain_content=7), "plain_content"),  # type: ignore[arg-type]  # the point
        (InstructionContent(images=["AAAA", "ftp://a/b"]), "images[1]"),
        (InstructionContent(images=["AAAA"], image_detail="big"), "image_detail"),  # type: ignore[arg-type]  # the point
    ],
    ids=["instruction", "guidance", "context", "no list", "plain", "image", "detail"],
)
@pytest.mark.parametrize("system", ["Be brief.", None])
@pytest.mark.parametrize("is_current", [True, False])
def test_a_field_of_an_instruction_is_named_as_the_caller_wrote_it(
    content: InstructionContent, path: str, system: str | None, is_current: bool
) -> None:
    """The record and the way from its field are named, for the current instruction and one of the history."""
    odd = Instruction(content=content, id=UUID(int=7))
    history: list[Message] = [] if is_current else [odd, YES]
    error = refusal(Branch(system, history), TurnRequest(odd if is_current else NOW))

    assert (error.path, error.record_ids) == (path, (odd.id,))
    assert str(error).startswith("Record 00000000-0000-0000-0000-000000000007: ")


@pytest.mark.parametrize(
    ("arguments", "output", "path"),
    [
        ({}, {"when": int}, "output.when"),
        ({}, [1, int], "output[1]"),
        ({}, int, "output"),
        ({"at": int}, 1, "arguments.at"),
    ],
    ids=["mapping", "list", "bare", "arguments"],
)
def test_a_fault_in_a_result_is_its_records(arguments: dict[str, Any], output: Any, path: str) -> None:
    """Neither the instruction it is folded into nor a result beside it is to blame."""
    fine = ActionResponse.answering(ActionRequest.create("look"), 1)
    odd = ActionResponse.answering(ActionRequest.create("look", arguments), output, id=UUID(int=7))
    error = refusal(Branch(records=[ASK, YES, fine, odd]), TurnRequest(Instruction.create(prompt_context=["fact"])))

    assert (error.path, error.record_ids) == (path, (odd.id,))
    assert str(error).startswith(f"Record 00000000-0000-0000-0000-000000000007: The value at {path} is <class 'int'>")


def test_a_policy_that_is_no_text_is_the_system_records_fault() -> None:
    """It is folded into an instruction and stays the system's."""
    system = System.create(7, id=UUID(int=7))  # type: ignore[arg-type]  # the point of the test
    error = refusal(Branch(system, [ASK, YES]), TurnRequest(NOW))

    assert (error.path, error.record_ids) == ("system_message", (system.id,))


@pytest.mark.parametrize(
    ("instruction", "path"),
    [
        (Instruction.create("Now.", id=UUID(int=7), metadata={"lock": Lock()}), "metadata"),
        (Instruction.create(Lock(), id=UUID(int=7), plain_content="Raw."), "content"),
    ],
    ids=["metadata", "content"],
)
def test_an_instruction_that_cannot_be_kept_is_refused(instruction: Instruction, path: str) -> None:
    """The record to keep is a copy, so what cannot be copied is named with its record."""
    error = refusal(Branch(), TurnRequest(instruction))

    assert str(error) == (
        f"Record 00000000-0000-0000-0000-000000000007: `{path}` holds a value that cannot be copied "
        "(cannot pickle '_thread.lock' object)"
    )
    assert (error.path, error.record_ids) == (path, (instruction.id,))


@pytest.mark.parametrize("progression", [None, (NOW.id,)])
def test_an_instruction_is_not_asked_twice(progression: tuple[UUID, ...] | None) -> None:
    """A branch that has taken the current instruction already must not show it as history."""
    error = refusal(Branch(records=[NOW]), TurnRequest(NOW, progression))

    assert str(error).startswith("The progression names the current instruction 00000000-0000-0000-0000-000000000003,")
    assert error.record_ids == (NOW.id,)
