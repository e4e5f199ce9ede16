"""What each content block and each extra field protects, with the keys that the three providers' packages write.

The formats are those of langchain-openai 1.7 ("responses/v1", "v0", "v1"), langchain-anthropic 1.7 and
langchain-google-genai 4.4 (their own and "v1").
"""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from kedi_compile import ProtectedReason
from kedi_langchain.blocks import BLOCKS, REASONING, block_reasons, content_blocks, is_bound
from kedi_langchain.facts import message_facts

SIGNED, PROVIDER = {ProtectedReason.SIGNED_REASONING}, {ProtectedReason.PROVIDER_RECORD}
CHECKPOINT = {ProtectedReason.CHECKPOINT}
NOTHING: set[ProtectedReason] = set()
Block = dict[str, Any]


def wrapped(value: Block) -> Block:
    """Return a block of "v1" content that holds a provider's own block."""
    return {"type": "non_standard", "value": value}


def reasons(*blocks: Block | str, **fields: Any) -> frozenset[ProtectedReason]:
    """Return what an answer with this content protects."""
    return message_facts(AIMessage(list(blocks), **fields)).reasons


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "reasoning", "id": "rs_1", "summary": []}, SIGNED),
        ({"type": "reasoning", "summary": [], "encrypted_content": "e"}, SIGNED),
        ({"type": "reasoning", "summary": []}, NOTHING),
        ({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "look", "arguments": "{}"}, NOTHING),
        ({"type": "text", "text": "so", "id": "msg_1", "phase": "final"}, NOTHING),
        ({"type": "refusal", "refusal": "no"}, NOTHING),
        ({"type": "web_search_call", "id": "ws_1"}, PROVIDER),
        ({"type": "file_search_call", "id": "fs_1"}, PROVIDER),
        ({"type": "computer_call", "id": "cu_1"}, PROVIDER),
        ({"type": "code_interpreter_call", "id": "ci_1"}, PROVIDER),
        ({"type": "mcp_call", "id": "mcp_1"}, PROVIDER),
        ({"type": "mcp_list_tools", "id": "mcpl_1"}, PROVIDER),
        ({"type": "mcp_approval_request", "id": "mcpr_1"}, PROVIDER),
        ({"type": "image_generation_call", "id": "ig_1"}, PROVIDER),
        ({"type": "apply_patch_call", "id": "apc_1"}, PROVIDER),
        ({"type": "tool_search_output", "tools": []}, PROVIDER),
        ({"type": "compaction", "id": "cmp_1", "encrypted_content": "e"}, CHECKPOINT),
    ],
    ids=lambda value: value.get("type") if isinstance(value, dict) else None,
)
def test_openai_responses_content(block: Block, expected: set[ProtectedReason]) -> None:
    """Reasoning by id or encrypted content, everything the server ran, and compactions; texts and calls are free."""
    assert reasons(block) == expected


@pytest.mark.parametrize(
    ("kwargs", "expected"),
    [
        ({"reasoning": {"id": "rs_1", "summary": []}}, SIGNED),
        ({"tool_outputs": [{"type": "web_search_call"}]}, PROVIDER),
        ({"refusal": "no"}, NOTHING),
        ({"__openai_function_call_ids__": {"c1": "fc_1"}}, NOTHING),
        ({"reasoning_content": "deep"}, SIGNED),
        ({"reasoning_details": [{"type": "reasoning.encrypted"}]}, SIGNED),
        ({"audio": {"id": "audio_1"}}, PROVIDER),
        ({"refusal": None, "reasoning_content": "", "tool_outputs": []}, NOTHING),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else None,
)
def test_extra_fields_of_an_answer(kwargs: dict[str, Any], expected: set[ProtectedReason]) -> None:
    """What "v0" content and chat completions keep beside the content; empty values are no record."""
    assert reasons("so", additional_kwargs=kwargs) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "reasoning", "id": "rs_1", "reasoning": "hm"}, SIGNED),
        ({"type": "reasoning", "reasoning": "hm", "encrypted_content": "e"}, SIGNED),
        ({"type": "reasoning", "reasoning": "hm", "extras": {"signature": "s"}}, SIGNED),
        ({"type": "reasoning", "reasoning": "hm", "thought_signature": "s"}, SIGNED),
        ({"type": "reasoning", "reasoning": "hm"}, NOTHING),
        ({"type": "tool_call", "id": "c1", "name": "look", "args": {}}, NOTHING),
        ({"type": "tool_call", "id": "c1", "name": "look", "args": {}, "extras": {"item_id": "fc_1"}}, NOTHING),
        ({"type": "tool_call", "id": "c1", "name": "look", "args": {}, "extras": {"caller": {"id": 1}}}, PROVIDER),
        ({"type": "tool_call", "id": "c1", "name": "look", "args": {}, "extras": {"toolset_name": "t"}}, PROVIDER),
        ({"type": "server_tool_call", "id": "st_1", "name": "web_search", "args": {}}, PROVIDER),
        ({"type": "server_tool_result", "tool_call_id": "st_1", "output": []}, PROVIDER),
        (wrapped({"type": "redacted_thinking", "data": "e"}), SIGNED),
        (wrapped({"type": "compaction", "content": "they talked"}), CHECKPOINT),
        (wrapped({"type": "mcp_approval_request", "id": "mcpr_1"}), PROVIDER),
        (wrapped({"type": "refusal", "refusal": "no"}), NOTHING),
    ],
)
def test_v1_content(block: Block, expected: set[ProtectedReason]) -> None:
    """The common form: state stands in `extras`, and in the value of a non-standard block."""
    assert reasons(block, response_metadata={"output_version": "v1"}) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, SIGNED),
        ({"type": "thinking", "thinking": "hm", "signature": ""}, NOTHING),
        ({"type": "thinking", "thinking": "hm"}, NOTHING),
        ({"type": "redacted_thinking", "data": "e"}, SIGNED),
        ({"type": "tool_use", "id": "c1", "name": "look", "input": {}, "toolset_name": None}, NOTHING),
        ({"type": "tool_use", "id": "c1", "name": "look", "input": {}, "caller": {"type": "code"}}, PROVIDER),
        ({"type": "tool_use", "id": "c1", "name": "look", "input": {}, "toolset_name": "t"}, PROVIDER),
        ({"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}, PROVIDER),
        ({"type": "mcp_tool_use", "id": "mcp_1", "name": "ask", "input": {}}, PROVIDER),
        ({"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}, PROVIDER),
        ({"type": "advisor_tool_result", "tool_use_id": "srv_1"}, PROVIDER),
        ({"type": "compaction", "content": "they talked", "signature": "s"}, CHECKPOINT),
        ({"type": "text", "text": "so", "citations": [{"url": "https://example.com"}]}, PROVIDER),
        ({"type": "text", "text": "so", "citations": []}, NOTHING),
    ],
)
def test_anthropic_content(block: Block, expected: set[ProtectedReason]) -> None:
    """Signed and hidden thoughts, everything the server ran, citations and compactions."""
    assert reasons(block) == expected


@pytest.mark.parametrize(
    ("block", "expected"),
    [
        ({"type": "thinking", "thinking": "hm", "signature": "cw=="}, SIGNED),
        ({"type": "text", "text": "so", "extras": {"signature": "cw=="}}, SIGNED),
        ({"type": "text", "text": "so", "extras": {"signature": ""}}, NOTHING),
        ({"type": "image_url", "image_url": {"url": "data:"}, "extras": {"signature": "cw=="}}, SIGNED),
        ({"type": "function_call_signature", "signature": "cw==", "index": 0}, SIGNED | PROVIDER),
        ({"type": "executable_code", "executable_code": "1"}, PROVIDER),
        ({"type": "code_execution_result", "code_execution_result": "1"}, PROVIDER),
    ],
)
def test_gemini_content(block: Block, expected: set[ProtectedReason]) -> None:
    """A signature may stand on any block; code that ran is the provider's record."""
    assert reasons(block) == expected


def test_gemini_keeps_the_signatures_of_calls_beside_the_content() -> None:
    """One for each call id, under a key of its own."""
    key = "__gemini_function_call_thought_signatures__"

    assert reasons("so", additional_kwargs={key: {"c1": "cw=="}}) == SIGNED
    assert reasons("so", additional_kwargs={key: {}}) == NOTHING


def test_bedrock_reasoning_is_signed_one_level_down() -> None:
    """Its signature stands beside the text of the thought."""
    signed = {"type": "reasoning_content", "reasoning_content": {"text": "hm", "signature": "s"}}

    assert reasons(signed) == SIGNED
    assert is_bound(signed)


@pytest.mark.parametrize(
    ("metadata", "expected"),
    [
        ({"container": {"id": "ctr_1"}}, PROVIDER),
        ({"container": None, "id": "msg_1", "stop_reason": "end_turn"}, NOTHING),
        ({"id": "resp_1", "status": "completed"}, NOTHING),
        ({"status": "incomplete"}, {ProtectedReason.UNFINISHED}),
        ({"stop_reason": "pause_turn"}, {ProtectedReason.UNFINISHED}),
    ],
)
def test_response_metadata(metadata: dict[str, Any], expected: set[ProtectedReason]) -> None:
    """A container is reused, and an answer that goes on is not finished; ids are no reason to stay."""
    assert reasons("so", response_metadata=metadata) == expected


@pytest.mark.parametrize("block", [{"type": "novelty", "text": "x"}, {"text": "x"}, {"type": None}, {"type": ["x"]}])
@pytest.mark.parametrize("wrap", [dict, wrapped])
def test_a_block_nobody_knows_protects(block: Block, wrap: Any) -> None:
    """It may be a record that a provider wants back."""
    assert ProtectedReason.PROVIDER_RECORD in reasons(wrap(block))


@pytest.mark.parametrize("message", [HumanMessage, AIMessage])
@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "file_id": "file-1"},
        {"type": "file", "file_id": "file-1"},
        {"type": "file", "file": {"file_id": "file-1"}},
        {"type": "document", "source": {"type": "file", "file_id": "file-1"}},
        {"type": "image", "source": {"type": "file", "file_id": "file-1"}},
        {"type": "file", "source_type": "id", "id": "file-1"},
        {"type": "media", "file_uri": "https://example.com/files/1", "mime_type": "video/mp4"},
    ],
    ids=["image", "file", "openai chat", "anthropic document", "anthropic image", "older standard", "gemini"],
)
def test_an_uploaded_file_is_a_provider_record(block: Block, message: type[BaseMessage]) -> None:
    """Its handle means nothing to anybody else, wherever in the block it stands."""
    assert message_facts(message([block])).reasons == PROVIDER


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "base64": "cG5n", "mime_type": "image/png"},
        {"type": "image_url", "image_url": {"url": "https://example.com/cat.png"}},
        {"type": "document", "source": {"type": "text", "data": "words"}},
        {"type": "input_audio", "input_audio": {"data": "d2F2", "format": "wav"}},
        {"type": "media", "data": "cG5n", "mime_type": "image/png"},
    ],
)
def test_what_a_caller_sends_is_free(block: Block) -> None:
    """Media by value or address are in nobody's keeping, and `data` is a secret in hidden thoughts alone."""
    assert message_facts(HumanMessage(["look:", block])).reasons == NOTHING


ORDINARY = (
    *("text", "text-plain", "refusal", "input_text", "output_text", "search_result"),
    *("image", "image_url", "input_image", "audio", "input_audio", "video", "media", "file", "input_file", "document"),
    *("tool_use", "tool_call", "tool_call_chunk", "invalid_tool_call", "function_call", "custom_tool_call"),
    *("input_json_delta", "tool_result", "thinking", "reasoning", "reasoning_content"),
)


@pytest.mark.parametrize("kind", ORDINARY)
def test_ordinary_content_is_free(kind: str) -> None:
    """Texts, media, calls, results and bare thoughts protect nothing by their type alone."""
    assert block_reasons({"type": kind}) == NOTHING


@pytest.mark.parametrize("block", [{"type": "non_standard", "value": "opaque"}, {"type": "non_standard"}])
def test_a_non_standard_block_that_cannot_be_looked_into_protects(block: Block) -> None:
    """Nobody knows what it is."""
    assert reasons(block) == PROVIDER


@pytest.mark.parametrize("kind", ["mcp_approval_response", "tool_search_output", "apply_patch_call_output"])
def test_what_a_person_grants_a_provider_is_its_record(kind: str) -> None:
    """Such blocks stand in messages of the user."""
    assert message_facts(HumanMessage([{"type": kind}])).reasons == PROVIDER


def test_a_tool_result_is_read_too() -> None:
    """Its content may be blocks, and a screenshot of a computer call is the provider's."""
    handle = ToolMessage([{"type": "image", "file_id": "file-1"}], tool_call_id="c1")
    screen = ToolMessage("png", tool_call_id="c1", additional_kwargs={"type": "computer_call_output"})

    assert message_facts(handle).reasons == PROVIDER
    assert message_facts(screen).reasons == PROVIDER
    assert message_facts(ToolMessage("seen", tool_call_id="c1")).reasons == NOTHING


@pytest.mark.parametrize(
    ("block", "bound"),
    [
        ({"type": "thinking", "thinking": "hm", "signature": "s"}, True),
        ({"type": "redacted_thinking", "data": "e"}, True),
        ({"type": "reasoning", "reasoning": "hm", "extras": {"signature": "s"}}, True),
        (wrapped({"type": "redacted_thinking", "data": "e"}), True),
        ({"type": "thinking", "thinking": "hm"}, False),
        ({"type": "reasoning", "id": "rs_1", "encrypted_content": "e"}, False),
        ({"type": "image", "data": "cG5n"}, False),
        ({"type": "text", "text": "so", "extras": {"signature": "s"}}, False),
    ],
)
def test_only_signed_reasoning_can_be_bound_to_its_prefix(block: Block, bound: bool) -> None:
    """A signature, or hidden data, of a thought may cover what stood before it."""
    assert message_facts(AIMessage([block])).bound is bound


def test_reasons_of_several_blocks_add_up() -> None:
    """One message may have more than one reason to stay."""
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}

    assert reasons(thought, "so", {"type": "server_tool_use"}) == SIGNED | PROVIDER


def test_plain_texts_in_a_list_are_no_blocks() -> None:
    """A list of content may hold bare strings."""
    assert list(content_blocks(["one", {"type": "text", "text": "two"}])) == [{"type": "text", "text": "two"}]
    assert list(content_blocks("one")) == []


def test_all_reasoning_is_known() -> None:
    """What may be taken out of a message is in the table of blocks too."""
    assert set(BLOCKS) >= REASONING
    assert set(ORDINARY) | {"redacted_thinking", "compaction"} >= REASONING
