"""Bedrock Converse: every rule with a body it accepts and one it refuses, in the provider's words."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from wire import bedrock
from wire.reading import Body


class Case(NamedTuple):
    """A body that the rule lets pass, one that it refuses, and the words of the refusal."""

    accepted: Body
    refused: Body
    words: str
    model: str = "us.amazon.nova-2-lite-v1:0"


def message(role: str, *blocks: Body) -> Body:
    """Return a message."""
    return {"role": role, "content": list(blocks)}


def body(*messages: Body, **settings: object) -> Body:
    """Return a request body with tools."""
    return {"messages": list(messages), "toolConfig": {"tools": []}, **settings}


def result(*blocks: Body, call: str = "tooluse_1") -> Body:
    """Return a tool result block."""
    return {"toolResult": {"toolUseId": call, "content": list(blocks)}}


CALL: Body = {"toolUse": {"toolUseId": "tooluse_1", "name": "lookup", "input": {}}}
REASONING: Body = {"reasoningContent": {"reasoningText": {"text": "Look.", "signature": "sig"}}}
TEXT: Body = {"text": "What is the capital of Japan?"}
USER = message("user", TEXT)
ASSISTANT = message("assistant", {"text": "Tokyo."})
CALLS = message("assistant", CALL)
RESULTS = message("user", result({"text": "Tokyo"}))
BYTES: Body = {"document": {"name": "map", "format": "pdf", "source": {"bytes": "eA=="}}}
STORED: Body = {"document": {"name": "map", "format": "pdf", "source": {"s3Location": {"uri": "s3://b/k"}}}}

CASES: Mapping[str, Case] = {
    "first_message_is_from_the_user": Case(
        body(USER),
        body(ASSISTANT, USER),
        "A conversation must start with a user message. Try again with a conversation that starts with a user message.",
    ),
    "roles_alternate": Case(
        body(USER, ASSISTANT, USER),
        body(USER, USER),
        "A conversation must alternate between user and assistant roles. Make sure the conversation"
        " alternates between user and assistant roles and try again.",
    ),
    "content_is_not_empty": Case(
        body(USER),
        body(message("user")),
        "The content field in the Message object at messages.0 is empty. Add a ContentBlock object to the"
        " content field and try again.",
    ),
    "text_is_not_blank": Case(
        body(USER),
        body(USER, message("assistant", {"text": " "}), USER),
        "The text field in the ContentBlock object at messages.1.content.0 is blank. Add text to the text"
        " field, and try again.",
    ),
    "calls_are_answered_directly_after": Case(
        body(USER, CALLS, RESULTS),
        body(USER, CALLS, USER),
        "Expected toolResult blocks at messages.2.content for the following Ids: tooluse_1",
    ),
    "results_do_not_exceed_calls": Case(
        body(USER, CALLS, RESULTS),
        body(USER, ASSISTANT, RESULTS),
        "The number of toolResult blocks at messages.2.content exceeds the number of toolUse blocks of previous turn.",
    ),
    "result_content_is_not_empty": Case(
        body(USER, CALLS, RESULTS),
        body(USER, CALLS, message("user", result())),
        "The content field in the ToolResultBlock object at messages.2.content.0 is empty.",
    ),
    "tool_blocks_need_tool_config": Case(
        body(USER, CALLS, RESULTS),
        body(USER, CALLS, RESULTS, toolConfig=None),
        "The toolConfig field must be defined when using toolUse and toolResult content blocks.",
    ),
    "documents_come_with_text": Case(
        body(message("user", TEXT, BYTES)),
        body(message("user", BYTES)),
        "A text block must be included with a document block at messages.0.content.",
    ),
    "reasoning_is_only_from_the_assistant": Case(
        body(USER, message("assistant", REASONING, CALL), RESULTS),
        body(message("user", REASONING, TEXT)),
        "User messages cannot contain reasoning content. Please remove the reasoning content and try again.",
    ),
    "nova_results_hold_no_stored_documents": Case(
        body(USER, CALLS, message("user", result(BYTES))),
        body(USER, CALLS, message("user", result(STORED))),
        "The model returned the following errors: Malformed input request: #/messages/2/content/0: extraneous"
        " key [toolResult] is not permitted, please reformat your input and try again.",
    ),
}


@pytest.mark.parametrize("rule", bedrock.RULES, ids=lambda rule: rule.__name__)
def test_rule_accepts_and_refuses(rule: bedrock.Rule) -> None:
    """Every rule lets its good body pass and answers its bad one in the provider's words."""
    name = getattr(rule, "__name__", "")
    case = CASES[name]

    accepted = bedrock.check(case.accepted, model=case.model)
    refused = bedrock.check(case.refused, model=case.model)

    assert accepted == ()
    assert case.words in [refusal.message for refusal in refused if refusal.rule == name]


def test_no_case_without_its_rule() -> None:
    """A case belongs to a rule of the tuple."""
    assert set(CASES) == {getattr(rule, "__name__", "") for rule in bedrock.RULES}


def test_anthropic_models_take_a_leading_assistant() -> None:
    """Two model families accept a conversation that the assistant begins."""
    assert bedrock.check(body(ASSISTANT, USER), model="us.anthropic.claude-sonnet-4-20250514-v1:0") == ()


def test_a_result_for_another_call_is_refused() -> None:
    """The number fits, the id does not."""
    swapped = body(USER, CALLS, message("user", result({"text": "Tokyo"}, call="tooluse_2")))

    rules = [refusal.rule for refusal in bedrock.check(swapped)]

    assert rules == ["results_do_not_exceed_calls", "calls_are_answered_directly_after"]
