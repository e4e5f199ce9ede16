"""The transport that answers from the recording."""

from __future__ import annotations

import httpx2
import pytest
from pydantic_ai import Agent, ModelHTTPError

from kedi_compile.demo.replay import Exchange, ReplayTransport, load_recording, replayed_model

EXCHANGES = [Exchange({}, {"said": "first"}), Exchange({}, {"said": "second"})]


async def post(transport: ReplayTransport, *bodies: bytes) -> list[tuple[int, object]]:
    """Send the bodies one after the other and return the answers."""
    async with httpx2.AsyncClient(transport=transport) as client:
        answers = [await client.post("http://emulator.invalid/v1/messages", content=body) for body in bodies]
    return [(answer.status_code, answer.json()) for answer in answers]


async def test_answers_come_in_their_order() -> None:
    """The n-th request gets the n-th answer."""
    answers = await post(ReplayTransport(EXCHANGES), b"{}", b"{}")

    assert answers == [(200, {"said": "first"}), (200, {"said": "second"})]


async def test_bodies_are_kept_as_they_came() -> None:
    """The transport keeps the bytes that would have gone out."""
    transport = ReplayTransport(EXCHANGES)

    await post(transport, b'{"a":  1}', '{"b": "ö"}'.encode())

    assert transport.sent == [b'{"a":  1}', b'{"b": "\xc3\xb6"}']


async def test_a_request_beyond_the_recording_is_refused() -> None:
    """A request that was never recorded gets no invented answer."""
    with pytest.raises(ModelHTTPError, match="Request 1 is not in the recording, which holds 0"):
        await Agent(replayed_model(ReplayTransport([]))).run("Hello")


def test_the_recording_says_what_it_was_recorded_from() -> None:
    """The source of the data travels with the data."""
    recording = load_recording()

    assert recording.recorded_from == "a provider emulator that enforces wire rules, not the provider"
    assert len(recording.exchanges) == 2


def test_the_history_ends_in_an_answer() -> None:
    """The recorded history is finished: the question comes on top of it."""
    history = load_recording().history

    assert [message.kind for message in history] == ["request", "response"] * 15


def test_the_history_has_old_signed_thinking_and_parallel_calls() -> None:
    """What makes an edit difficult is in the recorded history."""
    parts = [[part.part_kind for part in message.parts] for message in load_recording().history]

    assert parts[0] == ["system-prompt", "user-prompt"]
    assert ["thinking", "tool-call"] in parts
    assert ["tool-call", "tool-call"] in parts
