"""What the adapter reads off each message: kind, calls, results, who wrote it, and what it protects."""

from __future__ import annotations

import warnings
from typing import Any

import pytest
from pydantic_ai import UploadedFile
from pydantic_ai import messages as m
from pydantic_ai.exceptions import PydanticAIDeprecationWarning
from pydantic_ai.messages import ModelRequest, ModelResponse

from agents import asks, calls, results, says, signed
from kedi_compile import EntryKind, HistoryOrigin, ProtectedReason
from kedi_pydantic_ai.facts import part_origins, request_facts, response_facts


def retry(tool: str | None) -> m.ModelRequestPart:
    """Build the feedback part of an older host, which old code may still hold."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        warnings.simplefilter("ignore", PydanticAIDeprecationWarning)
        return m.RetryPromptPart("no", tool_name=tool, tool_call_id="c1")


UPLOADED = UploadedFile("file-1", provider_name="openai")


def request(*parts: m.ModelRequestPart, **fields: Any) -> ModelRequest:
    """Build a request."""
    return ModelRequest(parts=list(parts), **fields)


def response(*parts: m.ModelResponsePart, **fields: Any) -> ModelResponse:
    """Build a response."""
    return ModelResponse(parts=list(parts), **fields)


@pytest.mark.parametrize(
    ("message", "kind", "role", "authored"),
    [
        (asks("hello"), EntryKind.USER, "user", True),
        (request(m.SystemPromptPart("Be brief.")), EntryKind.SYSTEM, "system", False),
        (request(m.SystemPromptPart("Be brief."), m.UserPromptPart("hello")), EntryKind.USER, "user", True),
        (results("c1"), EntryKind.TOOL_RESULT, "tool", False),
        (
            request(m.ToolReturnPart("look", "x", tool_call_id="c1"), m.UserPromptPart("go on")),
            "tool_result",
            "tool",
            True,
        ),
        (request(retry("look")), EntryKind.TOOL_RESULT, "tool", False),
        (request(retry(None)), EntryKind.FEEDBACK, "user", False),
        (request(m.RetryFeedbackPart("no", retry=m.RetryInfo("no_output"))), EntryKind.FEEDBACK, "user", False),
        (request(), EntryKind.USER, "user", True),
        (request(m.InstructionBaselinePart(instructions=[])), EntryKind.STATE, "user", False),
    ],
    ids=[
        "a prompt",
        "system text",
        "system text beside a prompt",
        "a result",
        "a result beside a prompt",
        "a tool's retry",
        "output feedback of old",
        "output feedback",
        "instructions alone",
        "framework state",
    ],
)
def test_a_request_is_what_its_first_meaning_says(
    message: ModelRequest, kind: EntryKind, role: str, authored: bool
) -> None:
    """A result outranks a prompt, a prompt feedback, feedback system text."""
    facts = request_facts(message)

    assert (facts.kind, facts.role, facts.authored) == (kind, role, authored)


def test_a_request_lists_the_calls_it_answers_in_order() -> None:
    """Returns and tool retries both answer a call."""
    message = request(m.ToolReturnPart("look", "x", tool_call_id="c2"), retry("look"))

    assert request_facts(message).results == ("c2", "c1")


def test_system_text_is_noticed_beside_other_content() -> None:
    """It protects the message it stands in."""
    facts = request_facts(request(m.SystemPromptPart("Be brief."), m.UserPromptPart("hello")))

    assert facts.holds_system
    assert facts.reasons == {ProtectedReason.SYSTEM}


@pytest.mark.parametrize(
    ("message", "reason"),
    [
        (request(m.SystemPromptPart("Be brief.")), ProtectedReason.SYSTEM),
        (request(m.UserPromptPart("half"), state="interrupted"), ProtectedReason.UNFINISHED),
        (request(m.UserPromptPart("x"), metadata={"__pydantic_ai__": {}}), ProtectedReason.FRAMEWORK_STATE),
        (asks([UPLOADED]), ProtectedReason.PROVIDER_RECORD),
        (results("c1", content=[UPLOADED]), ProtectedReason.PROVIDER_RECORD),
        (results("c1", content=UPLOADED), ProtectedReason.PROVIDER_RECORD),
        (request(m.InstructionBaselinePart(instructions=[])), ProtectedReason.FRAMEWORK_STATE),
        (request(m.CompactionPart("They talked.")), ProtectedReason.CHECKPOINT),
    ],
    ids=[
        "system",
        "interrupted",
        "namespace",
        "uploaded",
        "uploads in a result",
        "an upload as result",
        "state",
        "a written summary",
    ],
)
def test_a_request_protects_what_host_or_provider_need(message: ModelRequest, reason: ProtectedReason) -> None:
    """Each record has its own reason."""
    assert request_facts(message).reasons == {reason}


@pytest.mark.parametrize("message", [asks("hello"), results("c1"), asks(["hello", m.CachePoint()])])
def test_an_ordinary_request_protects_nothing(message: ModelRequest) -> None:
    """Texts, results and cache points are free to go with their group."""
    assert request_facts(message).reasons == frozenset()


def test_foreign_metadata_protects_nothing() -> None:
    """A caller's own metadata is not the framework's."""
    assert request_facts(request(m.UserPromptPart("x"), metadata={"mine": 1})).reasons == frozenset()


def test_a_response_lists_the_calls_it_opens_in_order() -> None:
    """Provider-executed calls are no part of the pairing."""
    message = response(
        m.ToolCallPart("look", {}, tool_call_id="c2"),
        m.NativeToolCallPart("web_search", {}, tool_call_id="native"),
        m.ToolCallPart("look", {}, tool_call_id="c1"),
    )

    facts = response_facts(message)

    assert (facts.kind, facts.role, facts.calls, facts.results) == (EntryKind.ASSISTANT, "assistant", ("c2", "c1"), ())


SIGNED, PROVIDER = ProtectedReason.SIGNED_REASONING, ProtectedReason.PROVIDER_RECORD


@pytest.mark.parametrize(
    ("part", "reasons"),
    [
        (m.TextPart("hello"), set()),
        (m.ThinkingPart("hm"), set()),
        (m.ThinkingPart("hm", signature=""), set()),
        (signed("hm"), {SIGNED}),
        (m.ThinkingPart("", signature="opaque", id="redacted_thinking"), {SIGNED}),
        (m.ThinkingPart("hm", id="rs_1", provider_name="openai"), {SIGNED}),
        (m.ThinkingPart("hm", id="reasoning_content", provider_name="deepseek"), {SIGNED}),
        (m.ThinkingPart("hm", provider_name="openai", provider_details={"raw_content": ["hm"]}), {SIGNED}),
        (m.TextPart("x", provider_details={"thought_signature": "s"}, provider_name="google"), {SIGNED}),
        (m.ToolCallPart("look", {}, provider_details={"thought_signature": "s"}, provider_name="google"), {SIGNED}),
        (m.TextPart("x", provider_details={"thought_signature": ""}, provider_name="google"), set()),
        (m.TextPart("x", provider_details={"citations": [{}]}, provider_name="anthropic"), {PROVIDER}),
        (m.NativeToolCallPart("web_search", {}), {PROVIDER}),
        (m.NativeToolReturnPart("web_search", {}, tool_call_id="s1"), {PROVIDER}),
        (m.CompactionPart("summary", provider_name="anthropic"), {ProtectedReason.CHECKPOINT}),
        (
            m.CompactionPart(provider_name="openai", provider_details={"encrypted_content": "e"}),
            {ProtectedReason.CHECKPOINT},
        ),
    ],
)
def test_a_response_part_protects_what_a_provider_wants_back(
    part: m.ModelResponsePart, reasons: set[ProtectedReason]
) -> None:
    """An empty signature is no signature; everything opaque stays."""
    assert response_facts(response(part)).reasons == reasons


@pytest.mark.parametrize("state", ["suspended", "interrupted", "incomplete"])
def test_an_unfinished_response_is_protected(state: Any) -> None:
    """Partial output is not a closed cycle."""
    assert response_facts(says("half", state=state)).reasons == {ProtectedReason.UNFINISHED}


def test_the_details_of_a_whole_response_protect_it() -> None:
    """A container or a compaction may be named on the response itself."""
    container = says("x", provider_details={"container_id": "ctr"})
    compaction = says("x", provider_details={"compaction": True})

    assert response_facts(container).reasons == {ProtectedReason.PROVIDER_RECORD}
    assert response_facts(compaction).reasons == {ProtectedReason.CHECKPOINT}
    assert response_facts(says("x", provider_details={"finish_reason": "stop"})).reasons == frozenset()


def test_only_a_signature_can_bind_reasoning() -> None:
    """Unsigned thoughts are dropped or sent as text; a signature may cover what stood before it."""
    assert response_facts(calls("c1", thought="deep")).bound
    assert not response_facts(response(m.ThinkingPart("hm"))).bound
    assert not response_facts(says("hello")).bound


@pytest.mark.parametrize(
    "part",
    [
        m.LoadCapabilityCallPart(args={"id": "x"}, tool_call_id="c1"),
        m.ToolSearchCallPart(args={"queries": ["x"]}, tool_call_id="c1"),
    ],
)
def test_the_frameworks_own_calls_are_state(part: m.ModelResponsePart) -> None:
    """A typed call that loads a capability or reveals tools keeps its group."""
    facts = response_facts(response(part))

    assert facts.calls == ("c1",)
    assert ProtectedReason.FRAMEWORK_STATE in facts.reasons


def test_origins_name_each_parts_source() -> None:
    """Prompt, answer, call and result; other parts have none."""
    asked = request(
        m.SystemPromptPart("s"), m.UserPromptPart("hello"), m.ToolReturnPart("look", "x", tool_call_id="c0")
    )
    answered = calls("c1", thought="deep")

    of_request = [origins for _, origins in part_origins(asked, "r", "here")]
    of_response = [origins for _, origins in part_origins(answered, "r", None)]

    assert of_request == [
        (HistoryOrigin("user", "r", "here"),),
        (HistoryOrigin("tool-result", "r", "here", "look", "c0"),),
    ]
    assert of_response == [
        (HistoryOrigin("assistant", "r"),),
        (HistoryOrigin("tool-call", "r", None, "look", "c1"),),
    ]
