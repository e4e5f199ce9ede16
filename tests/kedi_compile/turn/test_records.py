"""The durable records: identity, the factories, and the way through plain data."""

import datetime as dt
import json
from copy import deepcopy
from dataclasses import FrozenInstanceError, dataclass
from typing import Any
from uuid import UUID

import pytest

from kedi_compile import TurnCompileError, UnknownRecordError
from kedi_compile.message import MessageRole
from kedi_compile.turn import (
    ActionRequest,
    ActionRequestContent,
    ActionResponse,
    AssistantResponse,
    AssistantResponseContent,
    Instruction,
    InstructionContent,
    Message,
    System,
    record_from_dict,
)

ID = UUID(int=7)
NOON = dt.datetime(2026, 1, 2, 12, tzinfo=dt.UTC)
CALL = ActionRequest(content=ActionRequestContent("look", {"at": ["it"]}), id=ID, created_at=NOON)

ALL: list[Message] = [
    Message(content={"to": "all"}, sender="a", recipient="b", metadata={"hop": 1}, created_at=NOON),
    System.create("Be brief.", system_datetime="noon"),
    Instruction.create("Ask.", guidance={"a": 1}, prompt_context=[1], images=["https://example.com/a.png"]),
    AssistantResponse.create("Yes.", sender="model"),
    CALL,
    ActionResponse.answering(CALL, {"seen": True}, error="late"),
]
"""One record of each kind."""


def kind(record: Message) -> str:
    """Name a record in a test's id."""
    return record.kind


@pytest.mark.parametrize("record", ALL, ids=kind)
def test_a_record_survives_its_way_through_json(record: Message) -> None:
    """The kind, the identity and the content come back from JSON text as they were."""
    arrived = record_from_dict(json.loads(json.dumps(record.to_dict())))

    assert type(arrived) is type(record)
    assert arrived == record


def test_a_record_as_plain_data_is_written_out() -> None:
    """Ids and times are text, the content is a mapping, and the kind is the class's name."""
    record = AssistantResponse.create("Yes.", id=ID, created_at=NOON, sender="model", metadata={"run": 1})

    assert record.to_dict() == {
        "kind": "AssistantResponse",
        "id": "00000000-0000-0000-0000-000000000007",
        "created_at": "2026-01-02T12:00:00+00:00",
        "sender": "model",
        "recipient": None,
        "metadata": {"run": 1},
        "content": {"assistant_response": "Yes."},
    }


def test_the_roles_of_the_kinds() -> None:
    """Each kind speaks for one side; a routed message speaks for none."""
    assert [record.role for record in ALL] == [
        *(MessageRole.UNSET, MessageRole.SYSTEM, MessageRole.USER, MessageRole.ASSISTANT),
        *(MessageRole.ACTION, MessageRole.ACTION),
    ]


@pytest.mark.parametrize("record", ALL, ids=kind)
def test_plain_data_shares_nothing_with_its_record(record: Message) -> None:
    """Neither way keeps a container of the other side."""
    before = deepcopy(record)
    data = record.to_dict()
    arrived = record_from_dict(data)
    data["metadata"]["late"] = True
    for value in data["content"].values():
        if isinstance(value, dict):
            value["late"] = True

    assert record == before
    assert arrived == before


def test_a_records_identity_is_not_reassigned() -> None:
    """An id stays with its record."""
    with pytest.raises(FrozenInstanceError):
        CALL.id = UUID(int=8)  # type: ignore[misc]  # the point of the test


def test_a_record_built_without_an_id_and_a_time_is_given_both() -> None:
    """No two records share an id, and the time has a zone."""
    one, other = Instruction.create("a"), Instruction.create("a")

    assert one.id != other.id
    assert one.created_at.utcoffset() == dt.timedelta(0)
    assert one.metadata is not other.metadata


def test_a_content_of_another_kind_is_refused() -> None:
    """An instruction cannot hold an answer."""
    with pytest.raises(TurnCompileError) as caught:
        Instruction(content=AssistantResponseContent("Yes."))  # type: ignore[arg-type]  # the point of the test

    assert str(caught.value) == (
        "The content of a Instruction has a class of its own, not a kedi_compile.turn.contents.AssistantResponseContent"
    )


def test_an_id_that_is_no_uuid_is_refused() -> None:
    """Text is read as an id where records come from JSON, and not where one is built."""
    with pytest.raises(TurnCompileError) as caught:
        Message(id="first")  # type: ignore[arg-type]  # the point of the test

    assert str(caught.value) == "The id of a Message is a UUID, not a str"


@pytest.mark.parametrize(
    ("field", "message"),
    [
        ({"metadata": None}, "The metadata of a Message are a dict, not a NoneType"),
        ({"metadata": [("run", 1)]}, "The metadata of a Message are a dict, not a list"),
        ({"created_at": "noon"}, "The time of a Message is a datetime, not a str"),
        ({"created_at": NOON.date()}, "The time of a Message is a datetime, not a datetime.date"),
        (
            {"created_at": NOON.replace(tzinfo=None)},
            "The time of a Message has a time zone; 2026-01-02 12:00:00 has none",
        ),
    ],
)
def test_a_field_of_another_type_is_refused(field: dict[str, Any], message: str) -> None:
    """A record that could not be written or compared later is not built."""
    with pytest.raises(TurnCompileError) as caught:
        Message(**field)

    assert str(caught.value) == message


@pytest.mark.parametrize("text", [None, 7, {"answer": "Yes."}, ["Yes."]])
def test_an_answer_is_text(text: Any) -> None:
    """An object that a framework parsed is not shown by its looks."""
    with pytest.raises(TurnCompileError) as caught:
        AssistantResponse.create(text)

    assert str(caught.value) == f"`assistant_response` is a {type(text).__name__}; it must be text"
    assert caught.value.path == "assistant_response"


@pytest.mark.parametrize("request_", [Instruction.create("Ask."), None])
def test_a_response_answers_a_call(request_: Any) -> None:
    """Nothing else has a function and arguments to take along."""
    with pytest.raises(TurnCompileError, match=r"^A response answers an ActionRequest, not a "):
        ActionResponse.answering(request_)


@pytest.mark.parametrize("data", [{}, {"kind": "Note"}])
def test_an_unknown_kind_is_refused(data: dict[str, Any]) -> None:
    """Data that names no kind, or one that is not here, is not guessed at."""
    with pytest.raises(TurnCompileError) as caught:
        record_from_dict(data)

    assert str(caught.value) == (
        f"{data.get('kind')!r} is no kind of record; under the key 'kind' stands one of "
        "['ActionRequest', 'ActionResponse', 'AssistantResponse', 'Instruction', 'Message', 'System']"
    )


def test_an_unknown_key_of_a_record_is_refused() -> None:
    """What is no field would be lost in silence, so it is named together with the fields there are."""
    with pytest.raises(TurnCompileError) as caught:
        Message.from_dict({"content": "psst", "tone": "low"})

    assert str(caught.value) == (
        "Message has no field tone; its fields are content, id, created_at, sender, recipient, metadata"
    )


def test_what_another_library_keeps_beside_the_fields_is_ignored() -> None:
    """The role is the class's, and an embedding or a channel is no part of a turn."""
    data = {"kind": "AssistantResponse", "role": "user", "embedding": [0.5], "channel": "a", "content": {}}
    record = record_from_dict(data)

    assert record.role is MessageRole.ASSISTANT
    assert "embedding" not in record.to_dict()


def test_a_time_without_zone_is_in_utc() -> None:
    """Every record has a time with a zone."""
    assert Message.from_dict({"created_at": NOON.replace(tzinfo=None).isoformat()}).created_at == NOON


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"kind": "Message", "created_at": 1e30}, "`created_at` is 1e+30"),
        ({"kind": "Instruction", "content": "text"}, "A serialised InstructionContent is a mapping, not a str"),
        ({"kind": []}, "[] is no kind of record"),
        ({"kind": "Message", "id": "first"}, "'first' is no record id; it must be a UUID or its text"),
        ({"kind": "Message", "metadata": None}, "The metadata of a Message are a dict, not a NoneType"),
        ([("kind", "Message")], "A serialised record is a mapping, not a list"),
        ("Message", "A serialised record is a mapping, not a str"),
    ],
)
def test_malformed_data_is_refused(data: Any, message: str) -> None:
    """What was written by somebody else is named."""
    with pytest.raises(TurnCompileError) as caught:
        record_from_dict(data)

    assert str(caught.value).startswith(message)


def test_an_image_that_is_no_text_is_left_to_the_compiler() -> None:
    """The factory makes URIs of texts and judges nothing."""
    record = Instruction.create("Look.", images=[b"x"])  # type: ignore[list-item]  # the point of the test

    held: list[Any] = record.content.images
    assert held == [b"x"]


@pytest.mark.parametrize("given", [NOON, NOON.isoformat(), NOON.timestamp(), int(NOON.timestamp())])
def test_a_time_is_iso_text_or_seconds(given: object) -> None:
    """Records of other libraries bring their time as a number."""
    assert Message.from_dict({"created_at": given}).created_at == NOON


def test_a_time_that_is_neither_is_refused() -> None:
    """A word is no time."""
    with pytest.raises(TurnCompileError) as caught:
        Message.from_dict({"created_at": "noon"})

    assert str(caught.value) == "`created_at` is 'noon'; it must be ISO 8601 text or seconds since 1970"


def test_a_record_without_content_has_an_empty_one() -> None:
    """Data that lacks a content gives the kind's defaults."""
    assert Instruction.from_dict({"content": None}).content == InstructionContent()


@pytest.mark.parametrize("context", [{"a": 1}, "fact", 0, (1, 2)])
def test_one_context_value_becomes_a_list_of_one(context: object) -> None:
    """Only a list is taken for several values."""
    assert Instruction.create("Ask.", prompt_context=context).content.prompt_context == [context]


def test_a_context_list_is_copied() -> None:
    """The record's list is its own, and no context is an empty one."""
    given = [1, 2]
    record = Instruction.create("Ask.", prompt_context=given)
    given.append(3)

    assert record.content.prompt_context == [1, 2]
    assert Instruction.create("Ask.").content.prompt_context == []


def test_images_are_made_uris_with_an_automatic_detail() -> None:
    """Base64 text becomes a JPEG data URI, one image a list, and the detail is "auto" unless it is given."""
    one = Instruction.create("Look.", images="/9j/4AAQ").content
    two = Instruction.create(
        "Look.", images=("https://example.com/a", "data:image/png;base64,AA=="), image_detail="low"
    )

    assert (one.images, one.image_detail) == (["data:image/jpeg;base64,/9j/4AAQ"], "auto")
    assert two.content.images == ["https://example.com/a", "data:image/png;base64,AA=="]
    assert two.content.image_detail == "low"


def test_without_images_there_is_no_detail() -> None:
    """An instruction of text says nothing about images."""
    assert Instruction.create("Ask.").content.image_detail is None


def test_a_factory_takes_the_fields_of_every_record() -> None:
    """Identity, sender and metadata are given by name."""
    record = Instruction.create("Ask.", id=ID, created_at=NOON, sender="u", recipient="m", metadata={"run": 1})

    assert (record.id, record.created_at, record.sender, record.recipient) == (ID, NOON, "u", "m")
    assert record.metadata == {"run": 1}


def test_a_system_record_tells_the_time_it_is_given() -> None:
    """Text is shown as it is, True is now to the minute, and nothing is no time."""
    now = System.create("Be brief.", system_datetime=True).content.system_datetime

    assert System.create("Be brief.", system_datetime="noon").content.system_datetime == "noon"
    assert [System.create("", system_datetime=none).content.system_datetime for none in (None, False, "")] == [None] * 3
    assert now is not None
    assert len(now) == len("2026-01-02T03:04+00:00")
    assert dt.datetime.fromisoformat(now).utcoffset() == dt.timedelta(0)


def test_a_call_is_built_from_a_function_and_its_arguments() -> None:
    """Without arguments there is an empty mapping, and the fields of every record are given by name."""
    call = ActionRequest.create("look", {"at": "it"}, id=ID)

    assert (call.id, call.content) == (ID, ActionRequestContent("look", {"at": "it"}))
    assert ActionRequest.create("look").content == ActionRequestContent("look", {})


def test_a_response_takes_the_call_it_answers_along() -> None:
    """Function, arguments and id come from the request, and the arguments are a copy."""
    call = ActionRequest(content=ActionRequestContent("look", {"at": ["it"]}))
    response = ActionResponse.answering(call, 42, error="late", sender="tool")
    call.content.arguments["at"].append("that")

    assert (response.content.function, response.content.arguments) == ("look", {"at": ["it"]})
    assert (response.content.output, response.content.error, response.sender) == (42, "late", "tool")
    assert response.content.action_request_id == call.id


class Greeting(AssistantResponse):
    """A derived answer."""


class Whispered(Message):
    """A record with a role that derives from no known kind."""

    role = MessageRole.ASSISTANT


def test_a_derived_record_is_written_as_what_it_derives_from() -> None:
    """So that it can be read again."""
    record = Greeting.create("Hi.", id=UUID(int=9))

    arrived = record_from_dict(record.to_dict())

    assert (type(arrived), arrived.id, arrived.content) == (AssistantResponse, record.id, record.content)


def test_a_record_that_could_not_be_read_again_is_not_written() -> None:
    """It would come back without its role, and be left out of the conversation."""
    with pytest.raises(UnknownRecordError, match="is a Whispered with the role 'assistant', and derives from no known"):
        Whispered(content="psst").to_dict()


@dataclass
class Scored(AssistantResponseContent):
    """A derived content."""

    score: int = 0


def test_a_derived_content_is_written_as_what_it_derives_from() -> None:
    """So that it can be read again."""
    record = AssistantResponse(content=Scored("Hi.", score=3))

    assert record_from_dict(record.to_dict()).content == AssistantResponseContent("Hi.")
