"""OpenAI Chat: every rule with a body it accepts and one it refuses, in the provider's words."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from wire import openai_chat
from wire.reading import Body

USER: Body = {"role": "user", "content": "What is the capital of Japan?"}
CALLS: Body = {
    "role": "assistant",
    "content": None,
    "tool_calls": [
        {"id": "call_1", "type": "function", "function": {"name": "lookup", "arguments": "{}"}},
        {"id": "call_2", "type": "function", "function": {"name": "lookup", "arguments": "{}"}},
    ],
}
FIRST: Body = {"role": "tool", "tool_call_id": "call_1", "content": "Tokyo"}
SECOND: Body = {"role": "tool", "tool_call_id": "call_2", "content": "Kyoto"}
ORPHAN_WORDS = (
    "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'."
)


class Case(NamedTuple):
    """A body that the rule lets pass, one that it refuses, and the words of the refusal."""

    accepted: Body
    refused: Body
    words: str
    reasoning_content: openai_chat.ReasoningContent | None = None


def body(*messages: Body, model: str = "gpt-4o") -> Body:
    """Return a request body."""
    return {"model": model, "messages": list(messages)}


CASES: Mapping[str, Case] = {
    "messages_present": Case(
        body(USER),
        body(),
        "Invalid 'messages': empty array. Expected an array with minimum length 1, but got an empty array instead.",
    ),
    "assistant_has_content_or_calls": Case(
        body(USER, {"role": "assistant", "content": ""}),
        body(USER, {"role": "assistant", "content": None}),
        "Invalid value for 'content': expected a string, got null.",
    ),
    "calls_are_answered_directly_after": Case(
        body(USER, CALLS, SECOND, FIRST),
        body(USER, CALLS, FIRST, USER, SECOND),
        "An assistant message with 'tool_calls' must be followed by tool messages responding to each"
        " 'tool_call_id'. The following tool_call_ids did not have response messages: call_2",
    ),
    "tool_messages_follow_their_call": Case(
        body(USER, CALLS, FIRST, SECOND, USER, USER), body(USER, FIRST), ORPHAN_WORDS
    ),
    "reasoning_content_returns_where_required": Case(
        body(USER, CALLS, FIRST, SECOND, USER, {**CALLS, "reasoning_content": ""}, FIRST, SECOND),
        body(USER, CALLS, FIRST, SECOND),
        "The `reasoning_content` in the thinking mode must be passed back to the API.",
        "required",
    ),
    "reasoning_content_is_absent_where_refused": Case(
        body(USER, CALLS, FIRST, SECOND),
        body(USER, {**CALLS, "reasoning_content": "Look."}, FIRST, SECOND),
        "messages[1]: unknown field 'reasoning_content'",
        "refused",
    ),
}


@pytest.mark.parametrize("rule", openai_chat.RULES, ids=lambda rule: rule.__name__)
def test_rule_accepts_and_refuses(rule: openai_chat.Rule) -> None:
    """Every rule lets its good body pass and answers its bad one in the provider's words."""
    name = getattr(rule, "__name__", "")
    case = CASES[name]

    accepted = openai_chat.check(case.accepted, reasoning_content=case.reasoning_content)
    refused = openai_chat.check(case.refused, reasoning_content=case.reasoning_content)

    assert accepted == ()
    assert case.words in [refusal.message for refusal in refused if refusal.rule == name]


def test_no_case_without_its_rule() -> None:
    """A case belongs to a rule of the tuple."""
    assert set(CASES) == {getattr(rule, "__name__", "") for rule in openai_chat.RULES}


def test_a_second_answer_to_one_call_is_an_orphan() -> None:
    """A call is answered once."""
    (refusal,) = openai_chat.check(body(USER, CALLS, FIRST, SECOND, SECOND))

    assert refusal.message == ORPHAN_WORDS


def test_a_deepseek_reasoner_wants_its_reasoning_back() -> None:
    """The model's name decides where nothing else is said."""
    loop = (USER, CALLS, FIRST, SECOND)

    assert openai_chat.check(body(*loop)) == ()
    assert len(openai_chat.check(body(*loop, model="deepseek-reasoner"))) == 1
