"""A lane's messages in two forms: native objects, and one record for each, named by its bytes."""

from __future__ import annotations

import hashlib
from typing import Any

import pytest

from kedi_compile import ConversationError
from kedi_compile.conversation.records import History, check_records, record_name
from toy import Message, ToyDialect, says, talk, user

HELLO = (
    b'{"role":"user","text":"Hello.","calls":[],"results":[],"reasoning":"","signature":"","system":"","feedback":"",'
    b'"provider":{},"checkpoint":false,"framework":"","interrupted":false,"message_id":null,"stamp":0}'
)
DIALECT = ToyDialect()


def native(*messages: Message) -> History[Message]:
    """Return a history that was committed in this process."""
    return History(messages, DIALECT)


def read_back(*messages: Message) -> History[Message]:
    """Return a history of the same messages that was loaded."""
    names, records = native(*messages).write()
    return History.stored(names, records)


class Restless(ToyDialect):
    """Writes the same message in other bytes each time, as another version of a framework may."""

    def __init__(self) -> None:
        super().__init__()
        self.times = 0

    def dump(self, message: Message) -> bytes:
        self.times += 1
        return super().dump(message) + b" " * self.times


def test_a_record_is_named_by_its_bytes() -> None:
    """The name is the SHA-256, in hexadecimal digits."""
    assert record_name(b"record") == hashlib.sha256(b"record").hexdigest()


def test_a_native_history_is_written_in_order() -> None:
    """Each message is one record; a message that is there twice is one record named twice."""
    names, records = native(user("Hello."), says("Hi."), user("Hello.")).write()

    assert records[names[0]] == HELLO
    assert names == (names[0], names[1], names[0])
    assert set(records) == set(names)


def test_a_loaded_history_is_read_when_it_is_asked_for() -> None:
    """Until then it holds records alone; the messages are made once."""
    history: History[Message] = read_back(*talk("a"))

    assert len(history) == 2
    assert list(history.messages(DIALECT)) == talk("a")
    assert history.messages(DIALECT)[0] is history.messages(DIALECT)[0]


def test_a_reader_is_shown_the_messages_it_makes_once() -> None:
    """Who wants to know new objects, as the origins do, hears of them when they are made."""
    shown: list[Any] = []
    history: History[Message] = read_back(*talk("a"))

    for _ in range(2):
        history.messages(DIALECT, shown.append)

    assert shown == [talk("a")]


def test_an_empty_history_has_neither_messages_nor_records() -> None:
    """A fresh lane is written as nothing."""
    history: History[Message] = History.empty()

    assert (len(history), history.messages(DIALECT), history.write()) == (0, (), ((), {}))


def test_what_was_written_before_is_not_written_again() -> None:
    """A turn adds its own records; what the lane held is known by object and content."""
    before = native(*talk("a"))
    before.write()

    names, added = native(*before.messages(DIALECT), *talk("b")).write(before)

    assert len(names) == 4
    assert set(added) == set(names[2:])


def test_what_was_read_before_is_not_written_again() -> None:
    """The same for a lane that was loaded, also if this version would write other bytes."""
    before: History[Message] = read_back(*talk("a"))
    messages = before.messages(Restless())

    names, added = History([*messages, *talk("b")], Restless()).write(before)

    assert names[:2] == before.names
    assert set(added) == set(names[2:])


def test_a_message_that_was_changed_in_place_is_written_again() -> None:
    """An object is known only while it is what it was."""
    before = native(*talk("a"))
    before.write()
    messages = before.messages(DIALECT)
    messages[1].text = "It is b."

    names, added = native(*messages).write(before)

    assert set(added) == {names[1]}


def test_an_equal_message_is_not_the_known_one() -> None:
    """A copy is written, under the name it had before."""
    before = native(*talk("a"))
    before.write()

    names, added = native(*talk("a")).write(before)

    assert names == before.names
    assert set(added) == set(names)


def test_looking_at_all_records_changes_nothing_that_is_known() -> None:
    """Names that a store has are kept, whatever else is asked for meanwhile."""
    history = History(talk("a"), Restless())
    names, _ = history.write()

    seen, records = history.records()

    assert set(seen) == set(records)
    assert seen != names
    assert history.names == names
    assert History(history.messages(DIALECT), Restless()).write(history) == (names, {})


def test_a_message_that_was_read_and_left_keeps_its_bytes() -> None:
    """What is handed on is what was loaded, also if this version would write other bytes."""
    history: History[Message] = read_back(*talk("a"))
    loaded = history.records()

    history.messages(Restless())

    assert history.records() == loaded


def test_a_loaded_history_holds_its_own_records_alone() -> None:
    """Records of other lanes, or of messages that an edit removed, do not travel with it."""
    names, records = native(*talk("a")).write()

    history: History[Message] = History.stored(names, {**records, record_name(b"else"): b"else"})

    assert history.records() == (names, records)


@pytest.mark.parametrize("method", ["write", "records"])
def test_a_message_that_cannot_be_written_is_told_with_its_place(method: str) -> None:
    """The index is that of the message in the lane."""
    history = native(user("a"), says("b", provider={"handle": object()}))

    with pytest.raises(ConversationError) as caught:
        getattr(history, method)()

    assert str(caught.value) == (
        "Message 1 of the turn cannot be stored: Object of type object is not JSON serializable"
    )


@pytest.mark.parametrize(
    "record",
    [b'{"secret": "word"}', b'"secret word"', b"secret word", b"[" * 100_000, b"\xff", b""],
    ids=["foreign", "text", "junk", "deep", "bytes", "empty"],
)
def test_a_record_of_something_else_is_told_with_its_place_and_without_its_content(record: bytes) -> None:
    """A conversation may hold anything, so nothing of it is shown."""
    names, records = native(user("a")).write()
    names, records = (*names, record_name(record)), {**records, record_name(record): record}

    with pytest.raises(ConversationError) as caught:
        History[Message].stored(names, records).messages(DIALECT)

    assert str(caught.value) == "Record 1 of the conversation is no message of the toy adapter"
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_records_are_checked_against_their_names() -> None:
    """What is missing or damaged is told by the beginning of its name."""
    names, records = native(user("Hello.")).write()

    check_records(names, records)
    with pytest.raises(ConversationError) as missing:
        check_records(names, {})
    with pytest.raises(ConversationError) as damaged:
        check_records(names, {names[0]: b"secret"})

    assert names[0][:12] == "c101da1d56dc"
    assert str(missing.value) == "Record c101da1d56dc… of the conversation is missing"
    assert str(damaged.value) == (
        "Record c101da1d56dc… of the conversation is damaged: its bytes are not those of its name"
    )
