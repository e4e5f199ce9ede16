"""A snapshot of a real LionAGI branch, and the traps of one."""

from collections.abc import Callable
from datetime import UTC, datetime
from uuid import UUID

import pytest

pytest.importorskip("lionagi", reason="LionAGI is not installed")

from lionagi import Branch
from lionagi.operations.types import UnparsedResponse
from lionagi.protocols.generic.progression import Progression
from lionagi.protocols.messages import Instruction, Message, MessageRole, System

from kedi_compile import TurnCompileError, TurnRequest, UnknownRecordError, compile_chat_request, provider_messages
from kedi_compile.turn import Instruction as Record
from kedi_lionagi import to_branch, to_instruction
from turn_lionagi import AnswerBySubclass, WithARole, scripted, talked

NOW = Record.create("Now?")


def asked(branch: Branch, **options: str) -> list[str]:
    """Return the texts a model is asked after a branch."""
    snapshot = to_branch(branch, **options)  # type: ignore[arg-type]  # a literal in each test
    return [message["content"] for message in provider_messages(compile_chat_request(snapshot, TurnRequest(NOW)))]


def test_a_branch_is_read_through_its_public_attributes() -> None:
    """System, records and order are those of the branch."""
    assert asked(talked()) == ["Guidance: Be terse.\nInstruction: Hello?", "Hi.", "Instruction: Now?"]


def test_a_record_keeps_its_identity() -> None:
    """Id, time, people and metadata are the message's own."""
    branch = scripted()
    message = Instruction(
        id=UUID(int=7),
        created_at=0.5,
        content={"instruction": "Hello?"},
        sender=MessageRole.USER,
        recipient=branch.id,
        metadata={"seen": True},
    )
    branch.msgs.messages.include(message)

    record = to_branch(branch).msgs.messages[UUID(int=7)]

    assert record.created_at == datetime(1970, 1, 1, 0, 0, 0, 500_000, tzinfo=UTC)
    assert (record.sender, record.recipient, record.metadata) == ("user", str(branch.id), {"seen": True})


def test_the_options_of_a_past_call_are_not_read() -> None:
    """Tools and format that LionAGI keeps on an instruction are no part of its record."""
    message = Instruction(
        content={"instruction": "Hello?", "tool_schemas": [{"name": "f"}], "response_format": {"a": 1}}
    )

    assert to_instruction(message).content.to_dict() == {
        "instruction": "Hello?",
        "guidance": None,
        "prompt_context": [],
        "plain_content": None,
        "images": [],
        "image_detail": None,
    }


def test_only_an_instruction_is_one() -> None:
    """Another message is refused by its name."""
    with pytest.raises(TurnCompileError, match="A System is no instruction of LionAGI"):
        to_instruction(System(content={"system_message": "Be terse."}))


def test_a_restored_branch_without_its_system_is_refused() -> None:
    """LionAGI's `from_dict` loses the system: the policy must not be lost in silence."""
    restored = Branch.from_dict({**talked().to_dict(), "log_config": {"auto_save_on_exit": False}})

    with pytest.raises(TurnCompileError) as caught:
        to_branch(restored)

    assert str(caught.value).startswith("The branch has no system, but its records hold 1 system record(s)")
    assert len(caught.value.record_ids) == 1


def test_a_restored_branch_uses_its_system_record_when_told_to() -> None:
    """The one system record becomes the branch's system."""
    restored = Branch.from_dict({**talked().to_dict(), "log_config": {"auto_save_on_exit": False}})

    assert asked(restored, restored_system="use")[0] == "Guidance: Be terse.\nInstruction: Hello?"
    assert asked(restored, restored_system="ignore")[0] == "Instruction: Hello?"


def test_of_two_system_records_none_is_chosen() -> None:
    """Which of them is in force cannot be told, so even `use` is refused."""
    branch = scripted()
    for text in ("One.", "Two."):
        branch.msgs.messages.include(System(content={"system_message": text}))

    with pytest.raises(TurnCompileError, match=r"its records hold 2 system record\(s\)"):
        to_branch(branch, restored_system="use")


def test_a_cloned_branch_sends_its_policy_once() -> None:
    """A clone holds two system records; the one in force is sent."""
    clone = talked().clone()

    assert asked(clone) == ["Guidance: Be terse.\nInstruction: Hello?", "Hi.", "Instruction: Now?"]


FORMS: dict[str, Callable[[list[UUID]], object]] = {
    "ids": list,
    "texts": lambda ids: [str(one) for one in ids],
    "progression": lambda ids: Progression(order=ids),
    "serialised": lambda ids: {"order": [str(one) for one in ids]},
}


@pytest.mark.parametrize("form", FORMS)
def test_an_override_of_the_order_is_read_in_every_form(form: str) -> None:
    """Ids, their texts, a `Progression`, or the mapping it is serialised as: what it leaves out is not read."""
    branch = talked()
    branch.msgs.add_message(instruction="Left out?", sender="user", recipient=branch.id)
    branch.msgs.add_message(assistant_response="Yes.", sender=branch.id, recipient="user")
    ids = [record.id for record in branch.msgs.messages][:3]
    branch.metadata["current_progression"] = FORMS[form](ids)

    assert asked(branch) == ["Guidance: Be terse.\nInstruction: Hello?", "Hi.", "Instruction: Now?"]


def test_an_override_that_names_a_missing_record_is_refused() -> None:
    """A stale override is an error that names the id."""
    branch = talked()
    branch.metadata["current_progression"] = [UUID(int=1)]

    with pytest.raises(TurnCompileError) as caught:
        asked(branch)

    assert caught.value.record_ids == (UUID(int=1),)


def test_an_override_that_holds_no_ids_is_refused() -> None:
    """A text that is no UUID is named."""
    branch = talked()
    branch.metadata["current_progression"] = ["first"]

    with pytest.raises(TurnCompileError, match="'first' is no record id"):
        to_branch(branch)


def test_containers_of_a_derived_type_are_written() -> None:
    """LionAGI's stored lists and mappings are of its own kinds."""
    branch = scripted()
    branch.msgs.add_message(instruction="Hello?", context=[{"a": [1, {"b": 2}]}], sender="ada", recipient=branch.id)
    branch.msgs.add_message(assistant_response="Hi.", sender=branch.id, recipient="ada")

    assert asked(branch)[0] == "Instruction: Hello?\nContext:\n- a:\n  - 1\n  - b: 2"


def test_text_of_a_derived_type_is_written() -> None:
    """What LionAGI could not parse comes back as text of its own kind."""
    text = UnparsedResponse("raw", failure_kind="extraction")
    branch = scripted()
    branch.msgs.add_message(instruction="Hello?", context=[text], sender="ada", recipient=branch.id)
    branch.msgs.add_message(assistant_response="Hi.", sender=branch.id, recipient="ada")

    assert asked(branch)[0] == "Instruction: Hello?\nContext:\n- raw"


def test_an_unknown_kind_with_a_role_keeps_its_name() -> None:
    """The compiler refuses it by the name it has there."""
    branch = talked()
    branch.msgs.messages.include(WithARole(content="hm"))

    with pytest.raises(UnknownRecordError, match="is a WithARole with the role 'assistant'"):
        asked(branch)


def test_an_unknown_kind_without_a_role_is_not_sent() -> None:
    """Routed traffic is no turn."""
    branch = talked()
    branch.msgs.messages.include(Message(content="routed"))

    assert asked(branch) == ["Guidance: Be terse.\nInstruction: Hello?", "Hi.", "Instruction: Now?"]


def test_a_derived_kind_counts_as_its_base() -> None:
    """An answer stays an answer."""
    branch = talked()
    branch.msgs.messages.include(AnswerBySubclass(content={"assistant_response": "More."}))

    assert asked(branch)[1] == "Hi.\n\nMore."


def test_a_snapshot_does_not_follow_the_branch() -> None:
    """What is added later is not read."""
    branch = talked()

    snapshot = to_branch(branch)
    branch.msgs.add_message(instruction="Late?", sender="ada", recipient=branch.id)

    assert len(snapshot.progression) == 3
