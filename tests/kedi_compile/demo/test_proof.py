"""The demo's proof fails when what it proves is not so."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ThinkingPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from kedi_compile.demo.performance import Performance, Refusal
from kedi_compile.demo.proof import check_all, compare, native_pieces, sent_pieces
from kedi_compile.demo.replay import Exchange, Recording

Body = dict[str, Any]
REQUEST_1 = "request 1 is these groups in this order and nothing else"
REQUEST_2 = "request 2, after the tool call, is its validated history and nothing else"
PREFIX = "request 2 begins with the same 2,083 bytes of messages: cached prefix kept"
RECORDED = "both requests are the ones the recorded answers were given to"


def tampered(body: bytes, change: Callable[[Body], object]) -> bytes:
    """Return a body with a change, written as the client writes it."""
    content = json.loads(body)
    change(content)
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def drop_the_thinking(body: Body) -> None:
    """Leave out the first block of signed thinking."""
    blocks = body["messages"][3]["content"]
    assert blocks.pop(0)["type"] == "thinking"


def invent_a_result(body: Body) -> None:
    """Put words into the result of a tool."""
    body["messages"][4]["content"][0]["content"][0]["text"] = "99 beds"


def add_a_message(body: Body) -> None:
    """Add what nobody validated."""
    body["messages"][-1]["content"].append({"type": "text", "text": "One more thing."})


def swap_the_answers(body: Body) -> None:
    """Exchange two answers of different groups."""
    messages = body["messages"]
    messages[1], messages[7] = messages[7], messages[1]


def change_the_system_text(body: Body) -> None:
    """Say something else in the system text."""
    body["system"] = "You help the cook."


def failing(recording: Recording, seen: Performance, refused: Refusal) -> list[str]:
    """Return the claims that do not hold."""
    return [check.claim for check in check_all(recording, seen, refused) if not check.holds]


def test_every_claim_holds(recording: Recording, seen: Performance, refused: Refusal) -> None:
    """The demo makes six claims, and each is true of its run."""
    assert [(check.claim, check.holds) for check in check_all(recording, seen, refused)] == [
        ("the careless slice was refused", True),
        ("nothing of the careless slice was sent", True),
        (REQUEST_1, True),
        (REQUEST_2, True),
        (PREFIX, True),
        (RECORDED, True),
    ]


def test_the_kept_groups_are_compared_one_by_one(seen: Performance) -> None:
    """Each kept group has as many pieces as it has parts, and the body holds no other."""
    rows, left_over = compare(seen.edits[0], seen.sent[0])

    assert [(row.group_id, row.pieces, row.agrees) for row in rows] == [
        ("g1", 3, True),
        ("g4", 5, True),
        ("g9", 2, True),
        ("g10", 4, True),
        ("g11", 1, True),
    ]
    assert left_over == 0


@pytest.mark.parametrize(
    "change", [drop_the_thinking, invent_a_result, add_a_message, swap_the_answers, change_the_system_text]
)
def test_any_other_request_fails_the_proof(
    recording: Recording, seen: Performance, refused: Refusal, change: Callable[[Body], object]
) -> None:
    """A first request that differs from the validated history is noticed."""
    sent = [tampered(seen.sent[0], change), seen.sent[1]]

    claims = failing(recording, replace(seen, sent=sent), refused)

    assert REQUEST_1 in claims
    assert RECORDED in claims


def test_a_rewritten_second_request_fails_the_proof(recording: Recording, seen: Performance, refused: Refusal) -> None:
    """A second request that does not begin with the first one's bytes has lost the cached prefix."""
    sent = [seen.sent[0], tampered(seen.sent[1], invent_a_result)]

    assert failing(recording, replace(seen, sent=sent), refused) == [REQUEST_2, PREFIX, RECORDED]


def test_equal_messages_in_other_bytes_fail_the_prefix(
    recording: Recording, seen: Performance, refused: Refusal
) -> None:
    """A cache goes by bytes: the same messages with other spaces are not the same prefix."""
    spaced = json.dumps(json.loads(seen.sent[1]), ensure_ascii=False).encode()

    assert failing(recording, replace(seen, sent=[seen.sent[0], spaced]), refused) == [PREFIX]


def test_an_accepted_slice_fails_the_proof(recording: Recording, seen: Performance) -> None:
    """A careless slice that nothing refused is noticed, and so is one that was sent."""
    assert failing(recording, seen, Refusal(None, [b"{}"])) == [
        "the careless slice was refused",
        "nothing of the careless slice was sent",
    ]


def test_answers_to_other_questions_fail_the_proof(recording: Recording, seen: Performance, refused: Refusal) -> None:
    """A recorded answer counts only for the request it was given to."""
    first, second = recording.exchanges
    other = Exchange({**first.request, "system": "Another."}, first.response)

    assert failing(replace(recording, exchanges=[other, second]), seen, refused) == [RECORDED]


def test_both_sides_fall_into_the_same_pieces() -> None:
    """Native messages and the body that says the same give equal pieces."""
    native: list[ModelMessage] = [
        ModelRequest([SystemPromptPart("Be brief."), UserPromptPart("Is it windy?")]),
        ModelResponse([ThinkingPart("Look.", signature="s1"), ToolCallPart("wind", {"at": "pass"}, "call_1")]),
        ModelRequest([ToolReturnPart("wind", "calm", "call_1")]),
        ModelResponse([TextPart("No.")]),
    ]
    body: Body = {
        "system": [{"type": "text", "text": "Be brief."}],
        "messages": [
            {"role": "user", "content": "Is it windy?"},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "Look.", "signature": "s1"},
                    {"type": "tool_use", "id": "call_1", "name": "wind", "input": {"at": "pass"}},
                ],
            },
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "call_1", "content": "calm"}]},
            {"role": "assistant", "content": [{"type": "text", "text": "No."}]},
        ],
    }

    assert [piece for message in native for piece in native_pieces(message)] == list(sent_pieces(body))
