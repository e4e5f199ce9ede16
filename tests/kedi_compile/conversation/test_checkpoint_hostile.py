"""Whatever text is given for a checkpoint: a `ConversationError`, soon, that shows nothing of it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import pytest

from kedi_compile import ConversationError, HistoryConfigurationError
from kedi_compile.conversation import ConversationCheckpoint, ConversationState
from toy import ToyDialect

WRITTEN: Final = (Path(__file__).with_name("checkpoint_1.json")).read_text().strip()
SECRET: Final = "the word is swordfish"
DAMAGED: Final = "This is no conversation of kedi-compile, or it is damaged: "
NO_SEAL: Final = "The checkpoint is not what was sealed: its digest does not fit; take the one that was saved"


def beside(text: str) -> str:
    """Return the golden text with more behind its fields."""
    return f"{WRITTEN[:-1]},{text}}}"


def with_value(field: str, value: object) -> str:
    """Return the golden text with another value in a field."""
    return json.dumps(json.loads(WRITTEN) | {field: value})


HOSTILE: dict[str, tuple[Any, str]] = {
    "nothing": ("", DAMAGED + "the text: Invalid JSON: EOF while parsing a value at line 1 column 0"),
    "null": ("null", DAMAGED + "the text: Input should be an object"),
    "a list": (f'["{SECRET}"]', DAMAGED + "the text: Input should be an object"),
    "an empty object": ("{}", DAMAGED + "format: Field required; head: Field required; digest: Field required"),
    "no text": (None, "`from_json` was given a NoneType; pass the text that `to_json` returned"),
    "a number": (5, "`from_json` was given a int; pass the text that `to_json` returned"),
    "another format": (with_value("format", SECRET), DAMAGED + "format: Input should be 'kedi_compile.conversation'"),
    "another thing": (
        json.dumps({"messages": [SECRET]}),
        DAMAGED + "format: Field required; head: Field required; digest: Field required",
    ),
    "a pickle": (b"\x80\x04cos\nsystem\n", DAMAGED + "the text: Invalid JSON: expected value at line 1 column 1"),
    "bytes that are no text": (b"\xff\xfe", DAMAGED + "the text: Invalid JSON: expected value at line 1 column 1"),
    "a byte order mark": ("\ufeff" + WRITTEN, DAMAGED + "the text: Invalid JSON: expected value at line 1 column 1"),
    "a surrogate": (
        WRITTEN.replace("talk", "\ud800"),
        DAMAGED + "the text: Input should be a valid string, unable to parse raw data as a unicode string",
    ),
    "an escaped surrogate": (
        WRITTEN.replace('"talk"', '"\\ud800"'),
        DAMAGED + "the text: Invalid JSON: unexpected end of hex escape at line 1 column 59",
    ),
    "deep": ("[" * 1_000_000, DAMAGED + "the text: Invalid JSON: recursion limit exceeded at line 1 column 202"),
    "deep in a field": (
        beside(f'"more":{"[" * 100_000}'),
        DAMAGED + f"the text: Invalid JSON: recursion limit exceeded at line 1 column {len(WRITTEN) + 208}",
    ),
    "a huge version": (
        with_value("head", {"version": 10**4000}),
        DAMAGED + "head.version: Input should be less than 9007199254740992",
    ),
    "a number too long for Python": (
        WRITTEN.replace('"turns":1', '"turns":' + "9" * 100_000),
        DAMAGED + "the text: Invalid JSON: number out of range at line 1 column 4653",
    ),
    "an infinite number": (
        WRITTEN.replace('"turns":1', '"turns":1e999'),
        DAMAGED + "head.lanes.0.turns: Input should be a valid integer",
    ),
    "no number": (
        WRITTEN.replace('"turns":1', '"turns":NaN'),
        DAMAGED + "head.lanes.0.turns: Input should be a valid integer",
    ),
    "a secret name of a record": (
        with_value("entries", {SECRET: SECRET}),
        DAMAGED + "entries.….…: String should match pattern '^[0-9a-f]{64}$'",
    ),
    "a record that is no text": (
        with_value("entries", {"0" * 64: [SECRET]}),
        DAMAGED + "entries.…: Input should be a valid string",
    ),
    "a field twice": (beside(f'"session_id":"{SECRET}"'), NO_SEAL),
    "a digest twice": (beside(f'"digest":"{"0" * 64}"'), NO_SEAL),
    "a head twice": (beside('"head":{"version":1}'), NO_SEAL),
    "two texts": (WRITTEN + WRITTEN, DAMAGED + "the text: Invalid JSON: trailing characters at line 1 column 3727"),
    "junk": ("x" * 10_000_000, DAMAGED + "the text: Invalid JSON: expected value at line 1 column 1"),
    "much": (f"[{'0,' * 5_000_000}0]", DAMAGED + "the text: Input should be an object"),
    "many records": (
        with_value("entries", {f"{SECRET} {number}": "" for number in range(200_000)}),
        DAMAGED + "; ".join(["entries.….…: String should match pattern '^[0-9a-f]{64}$'"] * 3),
    ),
}


@pytest.mark.timeout(20)
@pytest.mark.parametrize(("text", "message"), HOSTILE.values(), ids=HOSTILE)
def test_what_is_no_checkpoint_is_refused_without_showing_it(text: Any, message: str) -> None:
    """The error says what is wrong and where, by the names of the format alone."""
    with pytest.raises(ConversationError) as caught:
        ConversationCheckpoint.from_json(text)

    assert str(caught.value) == message
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None or caught.value.__suppress_context__


def test_a_forged_checkpoint_makes_nothing_but_messages() -> None:
    """Who seals anew can say what it likes: it is read as data, and refused where it is no message."""
    checkpoint = ConversationCheckpoint.from_json(WRITTEN)
    record = json.dumps({"__class__": "os.system", "calls": [], "results": [], "role": "user", "run": SECRET}).encode()
    lane = checkpoint.head.lanes[0]
    forged = ConversationCheckpoint("talk", checkpoint.head, dict.fromkeys(checkpoint.entries, record))
    state = ConversationState.restore(forged)

    with pytest.raises(ConversationError) as caught:
        state.ledger.latest("toy").history.messages(ToyDialect())  # type: ignore[union-attr]  # it has lanes

    assert lane.key.adapter == "toy"
    assert str(caught.value) == "Record 0 of the conversation is no message of the toy adapter"


@pytest.mark.parametrize("session_id", ["\ud800", 5, b"talk"])
def test_a_name_that_no_text_can_hold_is_refused(session_id: Any) -> None:
    """A conversation that could not be written is not begun."""
    with pytest.raises(HistoryConfigurationError) as caught:
        ConversationState(session_id)

    assert str(caught.value) == f"`session_id` is {session_id!r}; it must be text that can be written as UTF-8"
