"""The dialect as a whole: what is native, when two messages are the same, copies, and messages without reasoning."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
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
    messages_from_dict,
    messages_to_dict,
)
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from kedi_compile import ProtectedReason
from kedi_compile.dialect import TextFlaw
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.flow import Unchanged
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from kedi_langchain import LangChainDialect

DIALECT = LangChainDialect()
THOUGHT = {"type": "thinking", "thinking": "deep", "signature": "s"}
CALL: Any = {"name": "look", "args": {"where": {"room": "hall"}, "n": 1}, "id": "c1"}
BROKEN: Any = {"name": "look", "args": "{", "id": "c2", "error": "cut off"}
USAGE: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}


def history() -> list[BaseMessage]:
    """Return a history of every class that a history may hold, a request at its end."""
    return [
        SystemMessage("Be brief."),
        HumanMessage(["look:", {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}}], id="m1"),
        AIMessage([THOUGHT], tool_calls=[CALL], invalid_tool_calls=[BROKEN], id="m2", usage_metadata=USAGE),
        ToolMessage("seen", tool_call_id="c1", artifact={"raw": [1]}, name="look"),
        ToolMessage("no JSON", tool_call_id="c2", status="error"),
        AIMessageChunk(content="so", response_metadata={"id": "resp_1"}, chunk_position="last"),
        ChatMessage(content="go on", role="user"),
        AIMessage("", additional_kwargs={"function_call": {"name": "look", "arguments": "{}"}}),
        FunctionMessage(content="seen", name="look"),
        AIMessage("done"),
        HumanMessage("next", mine={"tag": 1}),
    ]


MESSAGES = pytest.mark.parametrize("message", history(), ids=lambda message: type(message).__name__)


@MESSAGES
def test_every_class_of_message_is_native(message: BaseMessage) -> None:
    """Its serialised form is not."""
    assert DIALECT.is_native(message)
    assert not DIALECT.is_native(messages_to_dict([message])[0])


def test_an_order_to_the_graph_is_not_native() -> None:
    """Nor are the shorthands that the host turns into messages."""
    assert not DIALECT.is_native(RemoveMessage(id="m1"))
    assert not DIALECT.is_native(("user", "hello"))


@MESSAGES
def test_a_clone_is_the_same_and_shares_nothing(message: BaseMessage) -> None:
    """Equal in type and every field, extra attributes too, with containers of its own."""
    cloned = DIALECT.clone(message)

    assert DIALECT.same(message, cloned)
    assert DIALECT.digest(message) == DIALECT.digest(cloned)
    assert DIALECT.fingerprint(message) == DIALECT.fingerprint(cloned)
    assert cloned == message
    assert cloned.additional_kwargs is not message.additional_kwargs
    assert isinstance(message.content, str) or cloned.content is not message.content


def _through_json(messages: list[BaseMessage]) -> list[BaseMessage]:
    return messages_from_dict(json.loads(json.dumps(messages_to_dict(messages))))


def _through_a_checkpoint(messages: list[BaseMessage]) -> list[BaseMessage]:
    serializer = JsonPlusSerializer()
    restored: list[BaseMessage] = serializer.loads_typed(serializer.dumps_typed(messages))
    return restored


STORES = pytest.mark.parametrize("store", [_through_json, _through_a_checkpoint, copy.deepcopy])
Store = Callable[[list[BaseMessage]], list[BaseMessage]]


@STORES
def test_storing_a_history_changes_nothing(store: Store) -> None:
    """What was dumped and loaded is the same history, message by message."""
    restored = store(history())

    assert all(map(DIALECT.same, restored, history()))
    assert list(map(DIALECT.digest, restored)) == list(map(DIALECT.digest, history()))
    assert list(map(DIALECT.fingerprint, restored)) == list(map(DIALECT.fingerprint, history()))


@STORES
def test_an_equivalent_fresh_sequence_is_a_noop(store: Store) -> None:
    """A processor may return copies that went through a store; it has changed nothing."""
    policy: HistoryPolicy[BaseMessage] = HistoryPolicy(lambda ctx: store(list(ctx.messages)))
    run = RunSession(policy, DIALECT, owner=object())

    outcome = run.edit_sync(history(), RequestInfo("provider:model", 1))

    assert isinstance(outcome, Unchanged)
    assert run.continuation.generation == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [("id", "m9"), ("usage_metadata", USAGE), ("response_metadata", {"model_name": "m", "id": "resp_1"})],
)
def test_what_the_host_stamps_is_no_content(name: str, value: object) -> None:
    """Ids, usage and response metadata change no digest, but they are fields of the message."""
    stamped = AIMessage("hello")
    setattr(stamped, name, value)

    assert DIALECT.digest(stamped) == DIALECT.digest(AIMessage("hello"))
    assert DIALECT.fingerprint(stamped) != DIALECT.fingerprint(AIMessage("hello"))
    assert not DIALECT.same(stamped, AIMessage("hello"))


def _call_chunk(**fields: Any) -> AIMessageChunk:
    text = json.dumps(CALL["args"])
    return AIMessageChunk(
        content="so", tool_call_chunks=[{"name": "look", "args": text, "id": "c1", "index": 0}], **fields
    )


@pytest.mark.parametrize(
    ("chunk", "whole"),
    [
        (AIMessageChunk(content="hello"), AIMessage("hello")),
        (AIMessageChunk(content="hello", chunk_position="last"), AIMessage("hello")),
        (AIMessageChunk(content="hel") + AIMessageChunk(content="lo"), AIMessage("hello")),
        (_call_chunk(), AIMessage("so", tool_calls=[CALL])),
        (_call_chunk(chunk_position="last"), AIMessage("so", tool_calls=[CALL])),
        (HumanMessageChunk(content="hello"), HumanMessage("hello")),
    ],
    ids=["text", "last", "merged", "call", "last call", "user"],
)
def test_a_chunk_has_the_digest_of_the_whole_message(chunk: BaseMessage, whole: BaseMessage) -> None:
    """The same content in the shape a stream leaves is the same entry, though another object."""
    assert DIALECT.digest(chunk) == DIALECT.digest(whole)
    assert not DIALECT.same(chunk, whole)


def _in_arguments(message: Any) -> None:
    message.tool_calls[0]["args"]["where"]["room"] = "attic"


def _in_signature(message: Any) -> None:
    message.content[0]["signature"] = "forged"


def _in_type(message: Any) -> None:
    message.tool_calls[0]["args"]["n"] = 1.0


def _in_order(message: Any) -> None:
    message.content.reverse()


def _in_extra_fields(message: Any) -> None:
    message.additional_kwargs["reasoning_content"] = "forged"


def _in_attributes(message: Any) -> None:
    message.mine = 2


@pytest.mark.parametrize(
    "change", [_in_arguments, _in_signature, _in_type, _in_order, _in_extra_fields, _in_attributes]
)
def test_any_change_of_content_is_another_message(change: Callable[[Any], None]) -> None:
    """However deep, also of a type alone, and in attributes of the caller's own."""
    message = AIMessage([THOUGHT, {"type": "text", "text": "so"}], tool_calls=[CALL], mine=1)
    changed = copy.deepcopy(message)

    change(changed)

    assert not DIALECT.same(message, changed)
    assert DIALECT.digest(message) != DIALECT.digest(changed)
    assert DIALECT.fingerprint(message) != DIALECT.fingerprint(changed)


def test_the_same_words_of_another_speaker_are_another_message() -> None:
    """Who speaks is content."""
    said = [HumanMessage("ok"), AIMessage("ok"), SystemMessage("ok"), ToolMessage("ok", tool_call_id="c1")]
    roles = [ChatMessage(content="ok", role="user"), ChatMessage(content="ok", role="assistant")]

    assert len(set(map(DIALECT.digest, [*said, *roles]))) == 6


def test_the_name_of_a_message_is_its_id() -> None:
    """Graphs keep it for good; a message that never was in one has none."""
    assert DIALECT.name(HumanMessage("hello", id="m1")) == "m1"
    assert DIALECT.name(HumanMessage("hello")) is None


def test_a_message_without_reasoning_keeps_all_else() -> None:
    """Thoughts go, texts and calls stay, and the original is untouched."""
    hidden = {"type": "non_standard", "value": {"type": "redacted_thinking", "data": "e"}}
    text = {"type": "text", "text": "so"}
    message = AIMessage(
        [THOUGHT, hidden, text], tool_calls=[CALL], usage_metadata=USAGE, additional_kwargs={"reasoning_content": "hm"}
    )
    before = copy.deepcopy(message)

    bare = DIALECT.without_reasoning(message)

    assert bare == AIMessage([text], tool_calls=[CALL], usage_metadata=USAGE)
    assert message == before


def test_ids_that_pair_with_reasoning_go_with_it() -> None:
    """A provider refuses an item id whose reasoning item is missing."""
    message = AIMessage(
        [
            {"type": "reasoning", "id": "rs_1", "summary": []},
            {"type": "text", "text": "so", "id": "msg_1"},
            {"type": "refusal", "refusal": "no", "id": "msg_2"},
            {"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"},
            {"type": "custom_tool_call", "id": "ctc_1", "call_id": "c3", "name": "look", "input": "x"},
            {"type": "tool_call", "id": "c4", "name": "look", "args": {}, "extras": {"item_id": "fc_4"}},
        ],
        additional_kwargs={"reasoning": {"id": "rs_2"}, "__openai_function_call_ids__": {"c1": "fc_1"}},
    )

    bare = DIALECT.without_reasoning(message)

    assert bare is not None
    assert [part for part in ("rs_", "msg_", "fc_", "ctc_") if part in repr(bare)] == []
    assert all(call in repr(bare) for call in ("'c1'", "'c3'", "'c4'"))


def test_nothing_is_left_of_a_message_that_only_thinks() -> None:
    """Such an answer cannot stand without its thoughts."""
    assert DIALECT.without_reasoning(AIMessage([THOUGHT])) is None


@pytest.mark.parametrize("kind", ["tool_calls", "invalid_tool_calls"])
def test_a_message_whose_only_content_is_a_call_keeps_it(kind: str) -> None:
    """A call counts, parsed or not: its result would stand alone without it."""
    message = AIMessage([THOUGHT], **{kind: [CALL if kind == "tool_calls" else BROKEN]})

    bare = DIALECT.without_reasoning(message)

    assert bare is not None
    assert DIALECT.describe(bare).calls == DIALECT.describe(message).calls
    assert not DIALECT.describe(bare).bound


def test_the_dialect_builds_what_it_accepts() -> None:
    """A text message of its own making has no flaw."""
    assert DIALECT.text_flaw(DIALECT.text_message("They talked.", "user")) is None
    assert DIALECT.text_flaw(DIALECT.text_message("Noted.", "assistant")) is None
    assert DIALECT.text(DIALECT.text_message("They talked.", "user")) == "They talked."


@MESSAGES
def test_every_message_costs_something(message: BaseMessage) -> None:
    """No message is free, however short."""
    assert DIALECT.estimate(message) > 0


def test_a_block_whose_type_is_no_str_is_no_reasoning() -> None:
    """It stays as it is when reasoning is left out, its id included."""
    odd = {"type": ["x"], "id": "b1"}
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}

    left = DIALECT.without_reasoning(AIMessage([thought, odd]))

    assert left is not None
    assert left.content == [odd]


def test_a_checkpoint_is_protected_by_its_mark() -> None:
    """A text that says the same is none, and no callback may add one."""
    checkpoint, text = DIALECT.checkpoint("Archived.", "ref"), HumanMessage("Archived.")

    assert (DIALECT.archived(checkpoint), DIALECT.archived(text)) == (["ref"], [])
    assert DIALECT.describe(checkpoint).reasons == {ProtectedReason.CHECKPOINT}
    assert DIALECT.text_flaw(checkpoint) == TextFlaw(
        "fabricated_record", "sets response_metadata; build it with `ctx.text_message`"
    )


def test_a_call_failed_whose_result_is_an_error() -> None:
    """By the status the host gives it."""
    failed = ToolMessage("no", tool_call_id="c1", status="error")

    assert DIALECT.failed_calls(failed) == ["c1"]
    assert DIALECT.failed_calls(ToolMessage("yes", tool_call_id="c1")) == []
    assert DIALECT.failed_calls(AIMessage("so")) == []
