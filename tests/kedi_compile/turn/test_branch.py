"""A branch: which records it holds, and the order they are read in."""

import json
from typing import Any
from uuid import UUID

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.turn import (
    ActionRequest,
    ActionRequestContent,
    ActionResponse,
    AssistantResponse,
    Branch,
    Instruction,
    Message,
    System,
)

ASK = Instruction.create("Ask.", id=UUID(int=1))
YES = AssistantResponse.create("Yes.", id=UUID(int=2))
AGAIN = Instruction.create("Again.", id=UUID(int=3))


def test_a_branch_reads_its_records_in_the_order_they_came_in() -> None:
    """Without a progression the order is that of the records, whatever their times."""
    branch = Branch(records=[AGAIN, YES, ASK])

    assert branch.progression == (AGAIN.id, YES.id, ASK.id)
    assert list(branch.msgs.messages.values()) == [AGAIN, YES, ASK]


def test_the_system_record_comes_first() -> None:
    """The system record is a record of the branch, once, and is known by its own name as well."""
    system = System.create("Be brief.")
    branch = Branch(system, [ASK, system])

    assert branch.msgs.system is system
    assert branch.progression == (system.id, ASK.id)


def test_system_text_becomes_a_system_record() -> None:
    """A policy can be given as text."""
    system = Branch("Be brief.").msgs.system

    assert isinstance(system, System)
    assert system.content.system_message == "Be brief."


def test_a_given_progression_is_the_order() -> None:
    """An order may leave records out and may be given as text; the records stay in the branch."""
    branch = Branch(records=[ASK, YES, AGAIN], progression=[AGAIN.id, UUID(hex=ASK.id.hex)])

    assert branch.progression == (AGAIN.id, ASK.id)
    assert YES.id in branch.msgs.messages


@pytest.mark.parametrize("override", [[YES.id], (YES.id,), [str(YES.id)]])
def test_the_metadata_may_override_the_order(override: Any) -> None:
    """`current_progression` is read instead of the branch's own order, which stays as it is."""
    branch = Branch(records=[ASK, YES], metadata={"current_progression": override})

    assert branch.progression == (YES.id,)
    assert branch.msgs.progression == (ASK.id, YES.id)


def test_an_empty_override_is_an_override() -> None:
    """Nothing is read where the override names nothing; None is no override."""
    branch = Branch(records=[ASK], metadata={"current_progression": []})
    other = Branch(records=[ASK], metadata={"current_progression": None})

    assert branch.progression == ()
    assert other.progression == (ASK.id,)


def test_the_override_may_come_and_go() -> None:
    """The metadata is the caller's own mapping and is looked at each time."""
    metadata: dict[str, Any] = {}
    branch = Branch(records=[ASK, YES], metadata=metadata)
    metadata["current_progression"] = [ASK.id]
    overridden = branch.progression
    metadata.clear()

    assert overridden == (ASK.id,)
    assert branch.progression == (ASK.id, YES.id)


def test_appended_records_stand_at_the_end() -> None:
    """A conversation grows at its end."""
    branch = Branch(records=[ASK])
    branch.append(YES, AGAIN)

    assert branch.progression == (ASK.id, YES.id, AGAIN.id)
    assert branch.metadata == {}


def test_appended_records_also_stand_at_the_end_of_the_override() -> None:
    """A new record is read although an override is set, and the caller's list is not written to."""
    override = [str(ASK.id)]
    branch = Branch(records=[ASK], metadata={"current_progression": override})
    branch.append(YES)

    assert branch.progression == (ASK.id, YES.id)
    assert branch.msgs.progression == (ASK.id, YES.id)
    assert override == [str(ASK.id)]


def test_two_records_with_one_id_are_refused() -> None:
    """An id stands for one record, at the start and later on."""
    branch = Branch(records=[ASK])
    twin = AssistantResponse.create("Other.", id=ASK.id)

    with pytest.raises(TurnCompileError) as at_start:
        Branch(records=[ASK, twin])
    with pytest.raises(TurnCompileError) as later:
        branch.append(twin)
    assert str(at_start.value) == (
        "The branch would hold 1 record(s) (00000000-0000-0000-0000-000000000001) more than once"
    )
    assert str(later.value) == str(at_start.value)
    assert at_start.value.record_ids == (ASK.id,)
    assert branch.progression == (ASK.id,)


def test_a_record_is_held_once() -> None:
    """Neither from the start nor by appending it again, for an order that names it twice makes no turn."""
    branch = Branch(records=[ASK])

    with pytest.raises(TurnCompileError, match="more than once"):
        Branch(records=[ASK, ASK])
    with pytest.raises(TurnCompileError, match="more than once"):
        branch.append(ASK)
    assert branch.progression == (ASK.id,)


def test_the_system_record_may_stand_among_the_records() -> None:
    """It is the same one, and comes first."""
    policy = System.create("Be brief.")
    branch = Branch(policy, [ASK, policy])

    assert branch.progression == (policy.id, ASK.id)


def test_several_records_are_appended_all_or_none() -> None:
    """A refusal halfway leaves neither the order nor its override longer."""
    branch = Branch(records=[ASK], metadata={"current_progression": [ASK.id]})

    with pytest.raises(TurnCompileError):
        branch.append(YES, ASK)
    assert branch.msgs.progression == branch.progression == (ASK.id,)
    assert YES.id not in branch.msgs.messages


def test_the_system_of_a_branch_is_a_system_record() -> None:
    """Another record is named by its kind."""
    with pytest.raises(TurnCompileError) as caught:
        Branch(ASK)  # type: ignore[arg-type]  # the point of the test

    assert str(caught.value) == (
        "The system of a branch is a System record, not a kedi_compile.turn.records.Instruction"
    )


def test_an_order_that_is_used_up_by_reading_is_refused() -> None:
    """An override is read again with each turn."""
    branch = Branch(records=[ASK], metadata={"current_progression": iter([ASK.id])})

    with pytest.raises(TurnCompileError, match="A progression is a sequence of record ids, not a list_iterator"):
        branch.progression  # noqa: B018  # reading it is the point


def test_the_literal_projection_names_what_is_missing() -> None:
    """An id the branch does not hold is an error like everywhere."""
    with pytest.raises(TurnCompileError) as caught:
        Branch(records=[ASK]).msgs.to_chat_msgs([ASK.id, YES.id])

    assert caught.value.record_ids == (YES.id,)


def test_only_records_are_held() -> None:
    """A mapping that describes a record is none."""
    with pytest.raises(TurnCompileError) as caught:
        Branch(records=[{"role": "user"}])  # type: ignore[list-item]  # the point of the test

    assert str(caught.value) == "A branch holds records, not a dict"


def test_the_records_of_a_branch_are_a_list() -> None:
    """A number is named for what it is, and anything that can be gone through will do."""
    with pytest.raises(TurnCompileError) as caught:
        Branch(records=7)  # type: ignore[arg-type]  # the point of the test

    assert str(caught.value) == "The records of a branch are a list, not a int"
    assert Branch(records=iter([ASK, YES])).progression == (ASK.id, YES.id)


def test_records_are_looked_up_by_their_ids() -> None:
    """They come in the order of the ids, as often as they are named."""
    branch = Branch(records=[ASK, YES])

    assert branch.msgs.lookup([YES.id, ASK.id, YES.id]) == [YES, ASK, YES]
    assert branch.msgs.lookup([]) == []


def test_every_id_that_is_not_there_is_named_once() -> None:
    """A look-up tells all that is missing at once, in the order it was asked for."""
    with pytest.raises(TurnCompileError) as caught:
        Branch(records=[ASK]).msgs.lookup([AGAIN.id, ASK.id, YES.id, AGAIN.id])

    assert caught.value.record_ids == (AGAIN.id, YES.id)
    assert str(caught.value) == (
        "The branch does not hold 2 record(s) "
        "(00000000-0000-0000-0000-000000000003, 00000000-0000-0000-0000-000000000002)"
    )


def test_the_records_of_a_branch_are_a_view() -> None:
    """The mapping follows the branch and cannot be written to."""
    branch = Branch()
    seen = branch.msgs.messages
    branch.append(ASK)

    assert seen[ASK.id] is ASK
    with pytest.raises(TypeError):
        seen[YES.id] = YES  # type: ignore[index]  # the point of the test


CALL = ActionRequest(content=ActionRequestContent("look", {"at": "it"}))
SEEN = ActionResponse.answering(CALL, {"found": True})
REALLY = AssistantResponse.create("Yes, really.")


def test_the_literal_projection_shows_every_record_as_it_is() -> None:
    """Nothing is folded, merged or left out but routed traffic, which has no role."""
    branch = Branch("Be brief.", [ASK, CALL, SEEN, YES, REALLY, Message(content="routed")])

    assert branch.msgs.to_chat_msgs() == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Instruction: Ask."},
        {"role": "action", "content": "Function: look\nArguments:\n  at: it"},
        {"role": "action", "content": "Function: look\nArguments:\n  at: it\nOutput:\n  found: true"},
        {"role": "assistant", "content": "Yes."},
        {"role": "assistant", "content": "Yes, really."},
    ]


def test_the_literal_projection_follows_a_given_order() -> None:
    """An order may be given; it may repeat a record, for nothing is sent."""
    branch = Branch(records=[ASK, YES])

    assert branch.msgs.to_chat_msgs([YES.id, str(YES.id)]) == [{"role": "assistant", "content": "Yes."}] * 2  # type: ignore[list-item]  # ids as text


class Counted(dict[UUID, Message]):
    """A mapping of records that counts how many are looked at."""

    looks = 0

    def __contains__(self, key: object) -> bool:
        self.looks += 1
        return super().__contains__(key)

    def keys(self) -> Any:
        raise AssertionError("every record was looked at")

    __iter__ = keys


def test_a_branch_grows_in_linear_time() -> None:
    """Appending a record looks for one id, however many records there are."""
    branch = Branch()
    held = branch.msgs._records = Counted()  # noqa: SLF001  # what is counted is inside
    for _ in range(500):
        branch.append(Instruction.create("Ask."))

    assert held.looks == 500


def saved(branch: Branch) -> Any:
    """Return a branch as JSON text would bring it back."""
    return json.loads(json.dumps(branch.to_dict()))


def test_a_branch_survives_its_way_through_json() -> None:
    """System, records, order and metadata come back as they were."""
    branch = Branch(
        "Be brief.", [ASK, CALL, SEEN, YES], [ASK.id, YES.id], {"current_progression": [str(YES.id)], "n": 1}
    )
    arrived = Branch.from_dict(saved(branch))

    assert arrived.msgs.system == branch.msgs.system
    assert list(arrived.msgs.messages.items()) == list(branch.msgs.messages.items())
    assert arrived.msgs.progression == (ASK.id, YES.id)
    assert arrived.progression == (YES.id,)
    assert arrived.metadata == {"current_progression": ["00000000-0000-0000-0000-000000000002"], "n": 1}


def test_a_branch_as_plain_data_is_written_out() -> None:
    """Ids are text, and the system is named by its id and stands among the records."""
    system = System.create("Be brief.", id=UUID(int=9))
    data = Branch(system, [ASK], metadata={"n": 1}).to_dict()

    assert list(data) == ["system", "records", "progression", "metadata"]
    assert data["system"] == "00000000-0000-0000-0000-000000000009"
    assert [item["kind"] for item in data["records"]] == ["System", "Instruction"]
    assert data["progression"] == ["00000000-0000-0000-0000-000000000009", "00000000-0000-0000-0000-000000000001"]
    assert data["metadata"] == {"n": 1}


def test_a_branch_without_a_system_comes_back_without_one() -> None:
    """A system record among the records of such a branch is one of them and no policy."""
    other = System.create("Be long.")
    arrived = Branch.from_dict(saved(Branch(records=[other, ASK])))

    assert arrived.msgs.system is None
    assert list(arrived.msgs.messages.values()) == [other, ASK]


def test_a_branch_and_its_plain_data_share_nothing() -> None:
    """Neither way keeps a container of the other side."""
    branch = Branch(records=[Instruction.create("Ask.", prompt_context=[["fact"]])], metadata={"run": [1]})
    data = branch.to_dict()
    arrived = Branch.from_dict(data)
    data["metadata"]["run"].append(2)
    data["records"][0]["content"]["prompt_context"][0].append("late")
    data["progression"].clear()

    for held in (branch, arrived):
        (record,) = held.msgs.messages.values()
        assert isinstance(record, Instruction)
        assert record.content.prompt_context == [["fact"]]
        assert (held.metadata, len(held.progression)) == ({"run": [1]}, 1)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"system": str(ASK.id)}, "The system 00000000-0000-0000-0000-000000000001 is not among the records"),
        ({"records": [{"kind": "Note"}]}, "'Note' is no kind of record"),
        ({"records": [YES.to_dict(), YES.to_dict()]}, "The branch would hold 1 record(s)"),
        ({"records": [YES.to_dict()], "system": str(YES.id)}, "The system of a branch is a System record, not a "),
        ({"progression": None}, "`progression` of a serialised branch is a list, not a NoneType"),
        ({"records": 7}, "`records` of a serialised branch is a list, not a int"),
        ({"metadata": None}, "`metadata` of a serialised branch is a dict, not a NoneType"),
    ],
    ids=["system", "kind", "twice", "answer", "order", "records", "metadata"],
)
def test_a_branch_that_cannot_be_read_is_refused(change: dict[str, Any], message: str) -> None:
    """A policy is not lost in silence, and records are read as everywhere."""
    with pytest.raises(TurnCompileError) as caught:
        Branch.from_dict(Branch().to_dict() | change)

    assert str(caught.value).startswith(message)


def test_an_override_is_written_as_text() -> None:
    """Also after a record was appended to it, so that the whole is JSON."""
    branch = Branch(records=[ASK], metadata={"current_progression": [ASK.id]})
    branch.append(YES)

    data = json.loads(json.dumps(branch.to_dict()))

    assert data["metadata"] == {"current_progression": [str(ASK.id), str(YES.id)]}
    assert Branch.from_dict(data).progression == (ASK.id, YES.id)


def test_a_branch_without_a_word_on_its_system_is_refused() -> None:
    """None says that there is none; nothing at all says nothing."""
    data = Branch("Be brief.").to_dict()
    del data["system"]

    with pytest.raises(TurnCompileError, match="`system` of a serialised branch is missing"):
        Branch.from_dict(data)


def test_a_part_that_is_not_known_is_refused() -> None:
    """It would be lost in silence."""
    with pytest.raises(TurnCompileError, match="A serialised branch has no part lanes"):
        Branch.from_dict(Branch().to_dict() | {"lanes": []})


class Shouted(Message):
    """A record whose role is given as text."""

    role = "user"  # type: ignore[assignment]  # as somebody may write it


def test_the_literal_projection_takes_a_role_that_is_text() -> None:
    """It is compared as the compiler compares it."""
    branch = Branch(records=[Shouted(content="Hey!")])

    assert branch.msgs.to_chat_msgs() == [{"role": "user", "content": "Hey!"}]
