"""The dialect as a whole: what is native, when two messages are the same, copies, and messages without reasoning."""

from __future__ import annotations

import copy
import datetime as dt
from typing import Any

import pytest
from pydantic_ai import PydanticAIDeprecationWarning
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter, ModelRequest, ModelResponse
from pydantic_ai.usage import RequestUsage

from agents import asks, calls, lines, results, says, signed, turns
from kedi_compile import ProtectedReason
from kedi_compile.dialect import TextFlaw
from kedi_pydantic_ai import PydanticDialect

DIALECT = PydanticDialect()


@pytest.mark.parametrize(
    ("value", "native"),
    [(asks("x"), True), (says("x"), True), ({"kind": "request"}, False), ("x", False), (m.TextPart("x"), False)],
)
def test_requests_and_responses_are_native(value: object, native: bool) -> None:
    """Their parts, texts and serialised forms are not."""
    assert DIALECT.is_native(value) is native


MESSAGES: list[ModelMessage] = [
    asks("hello"),
    says("hello"),
    calls("c1", thought="deep", where={"room": "hall"}),
    results("c1", content={"seen": [1, 2]}),
]


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: lines([message])[0])
def test_a_clone_is_the_same_and_shares_nothing(message: ModelMessage) -> None:
    """Equal in type and every field, with its own parts."""
    cloned = DIALECT.clone(message)

    assert DIALECT.same(message, cloned)
    assert DIALECT.digest(message) == DIALECT.digest(cloned)
    assert cloned.parts is not message.parts
    assert all(ours is not theirs for ours, theirs in zip(message.parts, cloned.parts, strict=True))


@pytest.mark.parametrize("message", MESSAGES, ids=lambda message: lines([message])[0])
def test_the_hosts_serialisation_changes_nothing(message: ModelMessage) -> None:
    """A message that was dumped and loaded is the same message."""
    (restored,) = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json([message]))

    assert DIALECT.same(restored, message)
    assert DIALECT.digest(restored) == DIALECT.digest(message)


@pytest.mark.parametrize(
    ("name", "value"),
    [("timestamp", dt.datetime(2000, 1, 1, tzinfo=dt.UTC)), ("run_id", "r"), ("conversation_id", "c")],
)
def test_what_the_host_stamps_is_no_content(name: str, value: object) -> None:
    """Run ids and timestamps change no digest, but they are fields of the message."""
    for message in (asks("hello"), says("hello")):
        stamped = copy.deepcopy(message)
        setattr(stamped, name, value)

        assert DIALECT.digest(stamped) == DIALECT.digest(message)
        assert not DIALECT.same(stamped, message)


@pytest.mark.parametrize("name", ["model_id", "canonical_system"])
def test_what_the_host_fills_in_on_a_response_is_no_content(name: str) -> None:
    """The host completes a response after the hooks have seen it."""
    completed = says("hello")
    setattr(completed, name, "openai:gpt")

    assert DIALECT.digest(completed) == DIALECT.digest(says("hello"))


def test_recorded_instructions_are_no_content() -> None:
    """They are injected anew with every request."""
    instructed = asks("hello")
    instructed.instructions = "Be brief."

    assert DIALECT.digest(instructed) == DIALECT.digest(asks("hello"))


def _in_arguments(message: Any) -> None:
    message.parts[1].args["where"]["room"] = "attic"


def _in_signature(message: Any) -> None:
    message.parts[0].signature = "forged"


def _in_type(message: Any) -> None:
    message.parts[1].args["n"] = 1.0


def _in_order(message: Any) -> None:
    message.parts.reverse()


@pytest.mark.parametrize("change", [_in_arguments, _in_signature, _in_type, _in_order])
def test_any_change_of_content_is_another_message(change: Any) -> None:
    """However deep, and also of a type alone."""
    message = calls("c1", thought="deep", where={"room": "hall"}, n=1)
    changed = copy.deepcopy(message)

    change(changed)

    assert not DIALECT.same(message, changed)
    assert DIALECT.digest(message) != DIALECT.digest(changed)


def test_a_tools_own_timestamp_is_content() -> None:
    """Only the host's own classes have bookkeeping fields."""
    early, late = results("c1", content={"timestamp": 1}), results("c1", content={"timestamp": 2})

    assert DIALECT.digest(early) != DIALECT.digest(late)


def test_usage_belongs_to_a_response() -> None:
    """What a provider reported is part of the record."""
    cheap, dear = says("x", usage=RequestUsage(input_tokens=1)), says("x", usage=RequestUsage(input_tokens=2))

    assert not DIALECT.same(cheap, dear)


def test_a_message_without_reasoning_keeps_all_else() -> None:
    """Thoughts go, calls and texts stay, and the original is untouched."""
    message = ModelResponse(
        parts=[signed("deep"), m.TextPart("so"), m.ToolCallPart("look", {}, tool_call_id="c1")],
        provider_name="anthropic",
        usage=RequestUsage(output_tokens=9),
    )

    bare = DIALECT.without_reasoning(message)

    assert bare is not None
    assert lines([bare, message]) == ["> so | call c1", "> thought deep | so | call c1"]
    assert bare.parts == message.parts[1:]


def test_ids_that_pair_with_reasoning_go_with_it() -> None:
    """A provider refuses an item id whose reasoning item is missing."""
    message = ModelResponse(
        parts=[
            m.ThinkingPart("hm", id="rs_1", provider_name="openai"),
            m.TextPart("so", id="msg_1", provider_name="openai"),
        ]
    )

    bare = DIALECT.without_reasoning(message)

    assert bare is not None
    assert [getattr(part, "id", None) for part in bare.parts] == [None]
    assert getattr(message.parts[1], "id", None) == "msg_1"


def test_nothing_is_left_of_a_message_that_only_thinks() -> None:
    """Neither such a response nor a request can stand without it."""
    assert DIALECT.without_reasoning(ModelResponse(parts=[signed("deep")])) is None
    assert DIALECT.without_reasoning(asks("hello")) is None


def test_the_dialect_builds_what_it_accepts() -> None:
    """A text message of its own making has no flaw."""
    assert DIALECT.text_flaw(DIALECT.text_message("They talked.", "user")) is None
    assert DIALECT.text_flaw(DIALECT.text_message("Noted.", "assistant")) is None
    assert DIALECT.text(DIALECT.text_message("They talked.", "user")) == "They talked."


def test_every_message_costs_something() -> None:
    """No message is free, however short."""
    assert all(DIALECT.estimate(message) > 0 for message in turns(2))


def test_a_checkpoint_is_protected_by_its_mark() -> None:
    """A text that says the same is none, and no callback may add one."""
    checkpoint, text = DIALECT.checkpoint("Archived.", "ref"), asks([m.TextContent("Archived.", metadata={"ref": 1})])

    assert (DIALECT.archived(checkpoint), DIALECT.archived(text)) == (["ref"], [])
    assert DIALECT.describe(checkpoint).reasons == {ProtectedReason.CHECKPOINT}
    assert DIALECT.text_flaw(checkpoint) == TextFlaw(
        "fabricated_record", "holds content that is no str; a new message may hold text only"
    )


@pytest.mark.parametrize("outcome", ["failed", "denied", "interrupted", "retried"])
def test_a_call_failed_that_did_not_succeed(outcome: Any) -> None:
    """Whatever kept it from succeeding; a retry of older histories is one of these."""
    message = results("c1", "c2")
    message.parts[1].outcome = outcome  # type: ignore[union-attr]  # both are results
    with pytest.warns(PydanticAIDeprecationWarning):
        retry = m.RetryPromptPart("again", tool_name="look", tool_call_id="c3")

    assert DIALECT.failed_calls(message) == ["c2"]
    assert DIALECT.failed_calls(ModelRequest(parts=[retry])) == ["c3"]
    assert DIALECT.failed_calls(calls("c1")) == []
