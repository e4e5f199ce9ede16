"""What a conversation is, but for its messages, as versioned JSON."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedi_compile import ConversationError
from kedi_compile.conversation import LaneKey
from kedi_compile.conversation.head import lanes_of, read_head, write_head, write_json
from kedi_compile.conversation.lanes import Lane
from kedi_compile.conversation.records import History, record_name
from kedi_compile.history.carried import Carried
from kedi_compile.history.usage import UsageCheckpoint

RECORD = b"{}"
NAME = record_name(RECORD)
KEY = LaneKey("toy", "toy:small", "1" * 64, "2" * 64, "3" * 64, "4" * 64)
LANE: Lane[Any] = Lane(
    KEY, History.stored([NAME, NAME], {NAME: RECORD}), Carried(2, UsageCheckpoint(7, b"\x05" * 32, 2), True), 3
)
VERSION_1 = (
    b'{"version":1,"lanes":[{"key":{"adapter":"toy","model":"toy:small",'
    b'"settings":"1111111111111111111111111111111111111111111111111111111111111111",'
    b'"servers":"2222222222222222222222222222222222222222222222222222222222222222",'
    b'"tools":"3333333333333333333333333333333333333333333333333333333333333333",'
    b'"output":"4444444444444444444444444444444444444444444444444444444444444444"},'
    b'"entries":["44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a",'
    b'"44136fa355b3678a1146ad16f7e8649e94fb4fc21fe77e8310c060f61caaff8a"],'
    b'"generation":2,"turns":3,'
    b'"usage":{"tokens":7,"digest":"0505050505050505050505050505050505050505050505050505050505050505","length":2},'
    b'"asks_usage":true}]}'
)


def test_a_head_is_this_json() -> None:
    """The text of version 1; a change here is a new version."""
    assert write_json(write_head([(LANE, (NAME, NAME))])) == VERSION_1


def test_a_head_is_read_as_it_was_written() -> None:
    """Key, records, generation, turns and usage come back."""
    (lane,) = lanes_of(read_head(VERSION_1), {NAME: RECORD}).values()

    assert (lane.key, lane.carried, lane.turns) == (KEY, LANE.carried, 3)
    assert lane.history.names == (NAME, NAME)


def test_what_an_older_writer_left_out_is_as_in_a_new_lane() -> None:
    """Only the version, and of a lane its adapter and model, must be there."""
    head = read_head(b'{"version":1,"lanes":[{"key":{"adapter":"toy","model":"toy:small"}}]}')

    (lane,) = lanes_of(head, {}).values()
    assert (lane.key, lane.carried, lane.turns, len(lane.history)) == (LaneKey("toy", "toy:small"), Carried(), 0, 0)
    assert lanes_of(read_head(b'{"version":1}'), {}) == {}


def test_what_a_later_writer_of_the_same_version_added_is_left_out() -> None:
    """Fields nobody here knows are no reason to refuse."""
    assert read_head(b'{"version":1,"colour":"blue"}') == read_head(b'{"version":1}')


def test_the_lane_used_last_stays_the_last() -> None:
    """The order of lanes is kept."""
    lanes = [Lane(LaneKey("toy", f"toy:{name}"), History[Any].empty()) for name in "cab"]

    found = lanes_of(read_head(write_json(write_head((lane, ()) for lane in lanes))), {})

    assert [key.model for key in found] == ["toy:c", "toy:a", "toy:b"]


def test_a_newer_version_is_refused() -> None:
    """Nobody here knows what it means."""
    with pytest.raises(ConversationError) as caught:
        read_head(b'{"version":2}')

    assert str(caught.value) == (
        "This conversation was written in version 2 of its format, and this kedi-compile reads up to 1; read it with a "
        "newer one"
    )


def changed(**fields: Any) -> bytes:
    """Return the head of version 1 with other fields in its lane."""
    head = json.loads(VERSION_1)
    head["lanes"][0] |= fields
    return json.dumps(head).encode()


@pytest.mark.parametrize(
    ("data", "place"),
    [
        (b"", "the text: Invalid JSON: EOF while parsing a value at line 1 column 0"),
        (b"{}", "version: Field required"),
        (b'{"version":0}', "version: Input should be greater than or equal to 1"),
        (b'{"version":"1"}', "version: Input should be a valid integer"),
        (b'{"version":1.0}', "version: Input should be a valid integer"),
        (b'{"version":true}', "version: Input should be a valid integer"),
        (b'{"version":1' + b"0" * 4000 + b"}", "version: Input should be less than 9007199254740992"),
        (changed(turns=-1), "lanes.0.turns: Input should be greater than or equal to 0"),
        (changed(generation=2**53), "lanes.0.generation: Input should be less than 9007199254740992"),
        (changed(entries=["secret"]), "lanes.0.entries.0: String should match pattern '^[0-9a-f]{64}$'"),
        (changed(entries=[NAME + "\n"]), "lanes.0.entries.0: String should match pattern '^[0-9a-f]{64}$'"),
        (changed(key={"model": "secret"}), "lanes.0.key.adapter: Field required"),
        (changed(usage={"tokens": 1, "digest": NAME}), "lanes.0.usage.length: Field required"),
        (changed(asks_usage=1), "lanes.0.asks_usage: Input should be a valid boolean"),
        (b"[" * 100_000, "the text: Invalid JSON: recursion limit exceeded at line 1 column 202"),
    ],
)
def test_a_damaged_head_is_refused_with_its_place(data: bytes, place: str) -> None:
    """Numbers, names and types are exact, and nothing of the content is shown."""
    with pytest.raises(ConversationError) as caught:
        read_head(data)

    assert str(caught.value) == f"This is no conversation of kedi-compile, or it is damaged: {place}"


def test_only_the_first_places_are_told() -> None:
    """A head that is wrong everywhere makes no endless message."""
    with pytest.raises(ConversationError) as caught:
        read_head(changed(entries=["secret"] * 10_000))

    assert str(caught.value).count("String should match pattern") == 3
