"""A conversation as one piece of JSON: it goes on where it was, and what is not what was sealed is refused.

`checkpoint_1.json` is a checkpoint as version 1 wrote it, which every later version must go on reading.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Final

import pytest

from kedi_compile import ConversationError
from kedi_compile.conversation import ConversationCheckpoint, ConversationState
from kedi_compile.conversation.checkpoint import FORMAT
from kedi_compile.conversation.head import HeadModel, LaneModel
from kedi_compile.conversation.records import History, record_name
from kedi_compile.conversation.turns import Turn
from kedi_compile.history.carried import Carried
from kedi_compile.history.usage import UsageMeter
from shelf import KEY, OTHER, converse, extended, topics
from toy import Message, ToyDialect, answers, revision, says, user

WRITTEN: Final = (Path(__file__).with_name("checkpoint_1.json")).read_text().strip()
SEAL_BROKEN = "The checkpoint is not what was sealed: its digest does not fit; take the one that was saved"


def restored(text: str | bytes) -> ConversationState:
    """Return the conversation of a checkpoint's text."""
    return ConversationState.restore(ConversationCheckpoint.from_json(text))


def changed(change: Callable[[dict[str, Any]], object]) -> str:
    """Return the golden text with a change in its JSON."""
    document = json.loads(WRITTEN)
    change(document)
    return json.dumps(document, separators=(",", ":"))


def test_a_checkpoint_of_version_1_goes_on_loading() -> None:
    """Lanes, turns, generation and measured usage are those that were saved."""
    state = restored(WRITTEN)

    assert (state.session_id, state.turns, state.lanes) == ("talk", 4, (OTHER, KEY))
    assert topics(state) == ["b", "c", "d"]
    assert topics(state, OTHER) == ["a"]
    assert state.ledger.lane(OTHER).carried == Carried()
    assert state.ledger.lane(KEY).carried.generation == 1
    assert state.ledger.lane(KEY).carried.asks_usage


def test_a_checkpoint_is_written_as_version_1_was() -> None:
    """The same conversation is the same text."""
    assert restored(WRITTEN).checkpoint().to_json() == WRITTEN


def test_a_checkpoint_is_the_same_text_after_its_messages_were_read() -> None:
    """Looking at a conversation does not change it."""
    state = restored(WRITTEN)
    topics(state)

    assert state.checkpoint().to_json() == WRITTEN


def test_a_restored_conversation_goes_on() -> None:
    """A turn after restoring is one more turn in its lane."""
    state = converse(restored(WRITTEN), "e")

    again = restored(state.checkpoint().to_json())

    assert (topics(again), again.turns) == (["b", "c", "d", "e"], 5)


def test_measured_usage_counts_for_the_history_it_was_measured_on() -> None:
    """A restored conversation counts the measured tokens; one that was edited since falls back to the estimate."""
    lane = restored(WRITTEN).ledger.lane(KEY)
    messages = list(lane.history.messages(ToyDialect()))
    meter: UsageMeter[Message] = UsageMeter(lane.carried.usage)

    assert meter.measure(revision(messages)) == 70
    assert meter.measure(revision([*messages, answers("c1")])) == 70 + 16
    for edited in (messages[2:], messages[::-1], [*messages, user("more")], [*messages[:-1], says("It is e.")]):
        assert meter.measure(revision(edited)) is None


def test_a_checkpoint_without_usage_is_supported() -> None:
    """An older one has no such field, and none of what has a default."""

    def strip(document: dict[str, Any]) -> None:
        for lane in document["head"]["lanes"]:
            for name in [name for name, value in lane.items() if not value]:
                del lane[name]

    text = changed(strip)

    assert '"usage":null' in WRITTEN
    assert '"usage":null' not in text
    assert restored(text).checkpoint().to_json() == WRITTEN


def test_a_field_to_come_breaks_no_seal() -> None:
    """A later version of the format may add what is optional, and still finds today's digest."""

    class LaterLane(LaneModel):
        colour: str = ""

    class LaterHead(HeadModel):
        lanes: tuple[LaterLane, ...] = ()

    today = ConversationCheckpoint.from_json(WRITTEN)
    later = ConversationCheckpoint("talk", LaterHead.model_validate_json(today.head.model_dump_json()), today.entries)

    assert '"colour":""' in later.head.model_dump_json()
    assert json.loads(later.to_json())["digest"] == json.loads(WRITTEN)["digest"]


@pytest.mark.parametrize("session_id", [None, "", "ü\n\U0001fae8", "x" * 1000])
def test_any_name_of_a_conversation_comes_back(session_id: str | None) -> None:
    """Also one that not every version of Python can print."""
    state = converse(ConversationState(session_id), "a")

    text = state.checkpoint().to_json()

    assert restored(text).session_id == session_id


def test_the_seal_does_not_depend_on_what_python_can_print() -> None:
    """The name is sealed as JSON writes it, with every character that is not ASCII escaped."""
    text = ConversationState("\U0001fae8").checkpoint().to_json()

    assert json.loads(text)["digest"] == "0a7539a15b9080cf318fabe69150d83711b9ca636adb7b69e607f370f9b5680c"


def test_a_checkpoint_may_be_restored_under_another_name() -> None:
    """It is a conversation of its own then; the first goes on without it."""
    checkpoint = ConversationCheckpoint.from_json(WRITTEN)

    first, second = ConversationState.restore(checkpoint), ConversationState.restore(checkpoint, session_id="branch")
    converse(first, "e")

    assert second.session_id == "branch"
    assert (topics(first), topics(second)) == (["b", "c", "d", "e"], ["b", "c", "d"])
    assert json.loads(second.checkpoint().to_json())["session_id"] == "branch"


def test_a_turn_under_way_is_no_part_of_a_checkpoint() -> None:
    """A checkpoint holds committed turns alone."""
    state = converse(ConversationState(), "a")
    turn = Turn(state)
    turn.enter_sync()
    lane = extended(turn, "b")

    assert state.checkpoint().turns == 1
    turn.commit_sync(lane)
    assert state.checkpoint().turns == 2


def test_what_a_rewrite_removed_is_in_no_checkpoint() -> None:
    """Redacted text does not travel, also not beside a lane that was never read."""
    state = restored(WRITTEN)
    lane = state.ledger.lane(KEY)
    kept = lane.history.messages(ToyDialect())[2:]

    turn = Turn(state)
    turn.enter_sync()
    turn.commit_sync(lane.after_turn(History(kept, ToyDialect()), Carried(generation=2)))

    assert "About b?" in WRITTEN
    assert "About b?" not in state.checkpoint().to_json()


def test_a_checkpoint_shows_no_messages() -> None:
    """What is printed by mistake holds names and numbers alone."""
    checkpoint = ConversationCheckpoint.from_json(WRITTEN)

    assert "About" not in repr(checkpoint)
    assert checkpoint.turns == 4


def test_a_checkpoint_that_is_not_what_was_sealed_is_refused() -> None:
    """Whatever was changed: a name, a number, a record that is not there."""
    for change in (
        lambda document: document.update(session_id="mine"),
        lambda document: document.update(session_id=None),
        lambda document: document["head"]["lanes"].pop(0),
        lambda document: document["head"]["lanes"].reverse(),
        lambda document: document["head"]["lanes"][1].update(turns=9),
        lambda document: document["head"]["lanes"][1].update(usage=None),
        lambda document: document["head"]["lanes"][1]["entries"].reverse(),
        lambda document: document["entries"].update({record_name(b"more"): "more"}),
        lambda document: document.update(digest="0" * 64),
    ):
        with pytest.raises(ConversationError) as caught:
            ConversationCheckpoint.from_json(changed(change))
        assert str(caught.value) == SEAL_BROKEN


def test_a_missing_or_damaged_record_is_refused() -> None:
    """The records are looked at before anything is made of them."""
    names = list(json.loads(WRITTEN)["entries"])

    with pytest.raises(ConversationError, match=f"Record {names[0][:12]}… of the conversation is missing"):
        ConversationCheckpoint.from_json(changed(lambda document: document["entries"].pop(names[0])))
    with pytest.raises(ConversationError, match=f"Record {names[0][:12]}… of the conversation is damaged"):
        ConversationCheckpoint.from_json(changed(lambda document: document["entries"].update({names[0]: "secret"})))


@pytest.mark.parametrize("length", [0, 1, 50, len(WRITTEN) // 2, len(WRITTEN) - 1])
def test_a_truncated_checkpoint_is_refused(length: int) -> None:
    """Half a conversation is none."""
    with pytest.raises(ConversationError, match="This is no conversation of kedi-compile, or it is damaged"):
        ConversationCheckpoint.from_json(WRITTEN[:length])


def test_a_newer_checkpoint_is_refused_as_such() -> None:
    """Also if all else in it means something else by then."""
    for text in (
        changed(lambda document: document["head"].update(version=2)),
        f'{{"format":"{FORMAT}","head":{{"version":2,"lanes":"elsewhere"}},"seal":7}}',
    ):
        with pytest.raises(ConversationError, match="This conversation was written in version 2 of its format"):
            ConversationCheckpoint.from_json(text)
