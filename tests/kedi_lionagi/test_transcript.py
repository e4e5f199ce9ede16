"""Chunks as messages: the cases that a whole run does not show."""

from typing import Any

import pytest

pytest.importorskip("lionagi", reason="LionAGI is not installed")

from lionagi.service.types.stream_chunk import StreamChunk

from kedi_compile import TurnStreamError
from kedi_lionagi.transcript import Transcript
from turn_lionagi import scripted


def transcript() -> Transcript:
    """Return an empty transcript of a branch."""
    return Transcript(scripted())


def texts(messages: list[Any]) -> list[str]:
    """Return the texts of answers."""
    return [message.content.assistant_response for message in messages]


def test_text_is_collected_until_the_end() -> None:
    """Pieces of text are one answer."""
    taken = transcript()

    early = [taken.take(StreamChunk(type="text", content=piece)) for piece in ("a", None, "b")]

    assert early == [[], [], []]
    assert texts(taken.finish()) == ["ab"]


def test_thinking_stands_in_the_metadata() -> None:
    """It is no part of the answer's text."""
    taken = transcript()
    taken.take(StreamChunk(type="thinking", content="hm"))
    taken.take(StreamChunk(type="text", content="a"))

    (answer,) = taken.finish()

    assert answer.metadata["thinking"] == "hm"


def test_calls_without_text_are_answered_by_an_empty_answer() -> None:
    """Or the next instruction would stand right behind this one, and no turn could be compiled any more."""
    taken = transcript()
    taken.take(StreamChunk(type="tool_use", tool_name="f", tool_id="t1", tool_input={}))
    taken.take(StreamChunk(type="thinking", content="hm"))

    assert texts(taken.finish()) == [""]


def test_an_answer_before_a_call_is_answer_enough() -> None:
    """Nothing is added to what the model said."""
    taken = transcript()
    taken.take(StreamChunk(type="text", content="Let me look."))
    taken.take(StreamChunk(type="tool_use", tool_name="f", tool_id="t1", tool_input={}))

    assert taken.finish() == []


@pytest.mark.parametrize(
    "chunks", [[], [StreamChunk(type="thinking", content="hm")], [StreamChunk(type="text", content="")]]
)
def test_a_stream_of_nothing_is_no_answer(chunks: list[StreamChunk]) -> None:
    """Nothing is recorded then."""
    taken = transcript()
    for chunk in chunks:
        taken.take(chunk)

    with pytest.raises(TurnStreamError, match="it ended without an answer"):
        taken.finish()


def test_a_result_belongs_to_its_call() -> None:
    """By its id; a result of a call that is not known is no message."""
    taken = transcript()
    (call,) = taken.take(StreamChunk(type="tool_use", tool_name="f", tool_id="t1", tool_input={"x": 1}))

    stranger = taken.take(StreamChunk(type="tool_result", tool_id="t2", tool_output="?"))
    (result,) = taken.take(StreamChunk(type="tool_result", tool_id="t1", tool_output=3, is_error=True))

    assert stranger == []
    assert result.content.action_request_id == str(call.id)
    assert (result.content.output, result.metadata["is_error"]) == (3, True)


def test_the_providers_session_is_noted() -> None:
    """Whoever keeps the model decides what becomes of it."""
    taken = transcript()

    taken.take(StreamChunk(type="system", metadata={"session_id": "s-1"}))

    assert taken.session_id == "s-1"


def test_an_error_ends_the_turn() -> None:
    """The provider's words are in it."""
    with pytest.raises(TurnStreamError) as caught:
        transcript().take(StreamChunk(type="error", content="out of beds"))

    assert caught.value.detail == "out of beds"


@pytest.mark.parametrize("note", ["benign_eos", "reconnect_notice"])
def test_a_harmless_note_is_no_error(note: str) -> None:
    """The end of a resumed session, and a connection that is being made again."""
    assert transcript().take(StreamChunk(type="error", content="note", metadata={note: True})) == []


def test_a_chunk_of_another_kind_is_no_message() -> None:
    """Usage, for one."""
    assert transcript().take(StreamChunk(type="result", metadata={"usage": {}})) == []
