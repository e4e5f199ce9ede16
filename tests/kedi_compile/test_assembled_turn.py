"""A turn of records with what was assembled for it."""

from __future__ import annotations

from copy import deepcopy

import pytest

from kedi_compile import (
    AssembledRequest,
    AssemblyError,
    EvidenceLedger,
    LiveFrame,
    RequestCompiler,
    RequestInputs,
    StableCore,
    SteeringSlot,
    TaskEpoch,
    TurnCompileError,
    TurnRequest,
    compile_assembled_turn,
    compile_chat_request,
)
from kedi_compile.assembly import Provenance
from kedi_compile.errors import UnknownInputError
from kedi_compile.turn import AssistantResponse, Branch, Instruction

BEFORE = """\
# Task epoch "t1"

The user's request, word for word:

```
Book two beds
```"""

SLOT = """\
# Active steering "s1"

Ask before you book.

It holds until it is acknowledged by its id."""

SYSTEM = """\
# Core (core, version 1)

Say what is so.

# Environment

- working root: "/"
- model tier: standard"""


def assembled(*, steered: bool = True, message: str | None = None) -> AssembledRequest:
    """Return an assembled request of few words."""
    frame = LiveFrame(TaskEpoch("t1", "Book two beds"))
    if steered:
        frame.steer(SteeringSlot("s1", "Ask before you book.", Provenance(author="operator")))
    inputs = RequestInputs(StableCore("Say what is so."), frame, EvidenceLedger(), current_message=message)
    return RequestCompiler().compile(inputs)


def test_the_late_text_stands_around_the_instruction() -> None:
    """Places 5 to 7 stand in front of the user's text, and the steering slot behind it."""
    compiled = compile_assembled_turn(Branch(), TurnRequest(Instruction.create(plain_content="Two?")), assembled())

    assert compiled.messages[-1].content == f"{BEFORE}\n\nTwo?\n\n{SLOT}"


def test_the_stable_text_is_policy_in_front_of_the_branchs_own() -> None:
    """Places 1 to 4 are folded in as the system record is, and the branch's policy follows them."""
    branch = Branch("You run a hut.", [Instruction.create("Hi"), AssistantResponse.create("Hello")])

    compiled = compile_assembled_turn(branch, TurnRequest(Instruction.create("Two?")), assembled())

    indented = "\n".join(f"  {line}" if line else "" for line in f"{SYSTEM}\n\nYou run a hut.".split("\n"))
    assert compiled.messages[0].content == f"Guidance: |-\n{indented}\nInstruction: Hi"


def test_an_instruction_that_is_no_text_stands_between_the_late_parts() -> None:
    """A structure keeps its form, as the middle one of a list."""
    request = TurnRequest(Instruction.create({"beds": 2}))

    content = compile_assembled_turn(Branch(), request, assembled()).messages[-1].content

    assert isinstance(content, str)
    assert content.index("Task epoch") < content.index("beds: 2") < content.index("Active steering")


def test_images_of_the_instruction_stay() -> None:
    """The text part holds the late texts, and the images follow it."""
    url = "https://example.org/bed.png"
    request = TurnRequest(Instruction.create(plain_content="This one?", images=[url]))

    content = compile_assembled_turn(Branch(), request, assembled(steered=False)).messages[-1].content

    assert isinstance(content, list)
    assert content[0] == {"type": "text", "text": f"{BEFORE}\n\nThis one?"}
    assert content[1]["image_url"]["url"] == url


def test_nothing_assembled_is_in_the_record_to_keep() -> None:
    """The durable instruction and the branch are what they are without any assembly."""
    branch = Branch("You run a hut.", [Instruction.create("Hi"), AssistantResponse.create("Hello")])
    request = TurnRequest(Instruction.create("Two?", guidance="One sentence."))
    before = deepcopy(branch.to_dict())

    compiled = compile_assembled_turn(branch, request, assembled())

    assert compiled.instruction == compile_chat_request(branch, request).instruction
    assert branch.to_dict() == before
    assert request.instruction.content.instruction == "Two?"


def test_a_second_current_message_is_refused() -> None:
    """The instruction is the current message, so the inputs may hold none."""
    with pytest.raises(AssemblyError, match="a turn has one already, its instruction"):
        compile_assembled_turn(Branch(), TurnRequest(Instruction.create("Two?")), assembled(message="Two?"))


def test_other_types_are_refused() -> None:
    """Each argument is of its own type, and the error says which is not."""
    request = TurnRequest(Instruction.create("Two?"))

    with pytest.raises(UnknownInputError, match="given str; it takes AssembledRequest"):
        compile_assembled_turn(Branch(), request, "text")  # type: ignore[arg-type]  # the mistake
    with pytest.raises(TurnCompileError, match="`branch` must be"):
        compile_assembled_turn([], request, assembled())  # type: ignore[arg-type]  # the mistake
    with pytest.raises(TurnCompileError, match="`request` must be"):
        compile_assembled_turn(Branch(), "Two?", assembled())  # type: ignore[arg-type]  # the mistake
