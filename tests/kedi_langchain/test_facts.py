"""What the adapter reads off each message class: kind, role, calls, results and origins."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    ChatMessage,
    FunctionMessage,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    ToolMessage,
)

from kedi_compile import HistoryOrigin, ProtectedReason
from kedi_langchain.facts import is_history, message_facts, message_origins


def call(key: str | None, name: str = "look", **args: Any) -> Any:
    """Return one tool call."""
    return {"name": name, "args": args, "id": key}


def broken(key: str) -> Any:
    """Return one call whose arguments are no JSON."""
    return {"name": "look", "args": "{", "id": key, "error": "cut off"}


CLASSES: list[tuple[BaseMessage, str, str, bool]] = [
    (SystemMessage("Be brief."), "system", "system", False),
    (HumanMessage("hello"), "user", "user", True),
    (HumanMessageChunk(content="hello"), "user", "user", True),
    (AIMessage("hello"), "assistant", "assistant", False),
    (AIMessageChunk(content="hello"), "assistant", "assistant", False),
    (ToolMessage("seen", tool_call_id="c1"), "tool_result", "tool", False),
    (FunctionMessage(content="seen", name="look"), "tool_result", "tool", False),
    (ChatMessage(content="Be brief.", role="system"), "system", "system", False),
    (ChatMessage(content="Be brief.", role="developer"), "system", "system", False),
    (ChatMessage(content="hello", role="user"), "user", "user", True),
    (ChatMessage(content="hello", role="Human"), "user", "user", True),
    (ChatMessage(content="hello", role="assistant"), "assistant", "assistant", False),
    (ChatMessage(content="hello", role="model"), "assistant", "assistant", False),
]


@pytest.mark.parametrize(("message", "kind", "role", "authored"), CLASSES)
def test_every_message_class_has_its_kind(message: BaseMessage, kind: str, role: str, authored: bool) -> None:
    """By class, or for a chat message by the role it names; chunks are what they are chunks of."""
    facts = message_facts(message)

    assert (facts.kind, facts.role, facts.authored) == (kind, role, authored)
    assert facts.holds_system is (role == "system")
    assert is_history(message)


def test_an_order_to_the_graph_is_no_history() -> None:
    """`RemoveMessage` says what is to be done with another message."""
    order = RemoveMessage(id="m1")

    assert not is_history(order)
    with pytest.raises(TypeError, match="A RemoveMessage is no history message"):
        message_facts(order)


@pytest.mark.parametrize("value", ["hello", {"role": "user", "content": "hello"}, ("user", "hello"), None])
def test_what_the_host_turns_into_messages_is_none_yet(value: object) -> None:
    """Shorthands are converted before the history is processed."""
    assert not is_history(value)


def test_system_text_protects_itself() -> None:
    """Also where a chat message says it."""
    assert message_facts(SystemMessage("Be brief.")).reasons == {ProtectedReason.SYSTEM}
    assert message_facts(ChatMessage(content="Be brief.", role="system")).reasons == {ProtectedReason.SYSTEM}


def test_a_role_nobody_knows_protects() -> None:
    """A chat message of another role is user content that a provider may want back."""
    facts = message_facts(ChatMessage(content="hello", role="critic"))

    assert facts.role == "user"
    assert facts.reasons == {ProtectedReason.PROVIDER_RECORD}


def test_calls_are_listed_in_order() -> None:
    """A parallel batch is one message with several ids; repeated ids are several calls."""
    assert message_facts(AIMessage("", tool_calls=[call("c2"), call("c1"), call("c2")])).calls == ("c2", "c1", "c2")


def test_invalid_calls_count() -> None:
    """A provider waits for their results too."""
    message = AIMessage("", tool_calls=[call("c1")], invalid_tool_calls=[broken("c2")])

    assert message_facts(message).calls == ("c1", "c2")


def test_a_chunk_lists_its_calls() -> None:
    """A chunk that a graph kept holds parsed calls."""
    chunk = AIMessageChunk(content="", tool_call_chunks=[{"name": "look", "args": "{}", "id": "c1", "index": 0}])

    assert message_facts(chunk).calls == ("c1",)


def test_a_call_without_an_id_cannot_be_answered() -> None:
    """There is nothing a result could name."""
    assert message_facts(AIMessage("", tool_calls=[call(None), call("c1")])).calls == ("c1",)


@pytest.mark.parametrize(
    "block",
    [
        {"type": "tool_use", "id": "c1", "name": "look", "input": {}},
        {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"},
        {"type": "tool_call", "id": "c1", "name": "look", "args": {}},
    ],
    ids=lambda block: str(block["type"]),
)
def test_a_call_in_the_content_alone_counts(block: dict[str, Any]) -> None:
    """What stands in the content is sent, so its result is waited for; beside `tool_calls` it counts once."""
    assert message_facts(AIMessage([block])).calls == ("c1",)
    assert message_facts(AIMessage([block], tool_calls=[call("c1")])).calls == ("c1",)


def test_results_name_the_call_they_answer() -> None:
    """One tool message answers one call."""
    assert message_facts(ToolMessage("seen", tool_call_id="c1")).results == ("c1",)
    assert message_facts(ToolMessage("failed", tool_call_id="c1", status="error")).results == ("c1",)


def test_legacy_functions_pair_by_name() -> None:
    """Neither the call nor its result has an id."""
    asked = AIMessage("", additional_kwargs={"function_call": {"name": "look", "arguments": "{}"}})
    answered = FunctionMessage(content="seen", name="look")

    assert message_facts(asked).calls == message_facts(answered).results == ("function:look",)


def test_a_legacy_copy_of_a_call_counts_once() -> None:
    """Gemini's package writes the call a second time in its older form."""
    legacy = {"function_call": {"name": "look", "arguments": "{}"}}

    assert message_facts(AIMessage("", tool_calls=[call("c1")], additional_kwargs=legacy)).calls == ("c1",)


def test_ids_of_messages_are_no_facts() -> None:
    """The host stamps them on whatever passes."""
    assert message_facts(HumanMessage("hello", id="m1")) == message_facts(HumanMessage("hello"))


@pytest.mark.parametrize(
    ("message", "origins"),
    [
        (HumanMessage("hello"), (HistoryOrigin("user", "r", "here"),)),
        (
            AIMessage("", tool_calls=[call("c1"), call("c2", "smell")]),
            (
                HistoryOrigin("assistant", "r", "here"),
                HistoryOrigin("tool-call", "r", "here", "look", "c1"),
                HistoryOrigin("tool-call", "r", "here", "smell", "c2"),
            ),
        ),
        (
            ToolMessage("seen", tool_call_id="c1", name="look"),
            (HistoryOrigin("tool-result", "r", "here", "look", "c1"),),
        ),
        (SystemMessage("Be brief."), ()),
    ],
)
def test_origins_name_each_messages_source(message: BaseMessage, origins: tuple[HistoryOrigin, ...]) -> None:
    """Prompt, answer, call and result; system text has none."""
    assert message_origins(message, "r", "here") == origins
