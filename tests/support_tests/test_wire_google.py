"""Gemini: every rule with a body it accepts and one it refuses, in the provider's words."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from wire import google
from wire.reading import Body


class Case(NamedTuple):
    """A body that the rule lets pass, one that it refuses, and the words of the refusal."""

    accepted: Body
    refused: Body
    words: str
    model: str = "gemini-2.5-pro"


def content(role: str, *parts: Body) -> Body:
    """Return a content."""
    return {"role": role, "parts": list(parts)}


def body(*contents: Body) -> Body:
    """Return a request body."""
    return {"contents": list(contents)}


CALL: Body = {"functionCall": {"name": "lookup", "args": {}}}
SIGNED: Body = {**CALL, "thoughtSignature": "sig"}
RESPONSE: Body = {"functionResponse": {"name": "lookup", "response": {"result": "Tokyo"}}}
USER = content("user", {"text": "What is the capital of Japan?"})
MODEL = content("model", {"text": "Tokyo."})
CALLS = content("model", CALL)
RESPONSES = content("user", RESPONSE)

CASES: Mapping[str, Case] = {
    "contents_present": Case(body(USER), body(), "* GenerateContentRequest.contents: contents is not specified"),
    "parts_present": Case(
        body(content("user", {"text": ""})),
        body(content("user")),
        "* GenerateContentRequest.contents[0].parts: contents.parts must not be empty.",
    ),
    "roles_are_known": Case(
        body({"parts": [{"text": "Hello"}]}),
        body(content("assistant", {"text": "Hello"})),
        "Please use a valid role: user, model.",
    ),
    "contents_do_not_begin_with_a_model_turn": Case(
        body(USER, MODEL, USER), body(MODEL, USER), "Requests beginning with a model turn are not supported."
    ),
    "contents_do_not_end_with_a_model_turn": Case(
        body(USER, MODEL, USER),
        body(USER, MODEL),
        "Requests ending with a model turn are not supported.",
        "gemini-3-pro-preview",
    ),
    "call_turns_follow_user_turns": Case(
        body(USER, CALLS, RESPONSES, CALLS, RESPONSES),
        body(USER, MODEL, CALLS, RESPONSES),
        "Please ensure that function call turn comes immediately after a user turn or after a function response turn.",
    ),
    "response_turns_follow_call_turns": Case(
        body(USER, CALLS, RESPONSES),
        body(USER, MODEL, RESPONSES),
        "Please ensure that function response turn comes immediately after a function call turn.",
    ),
    "responses_match_calls_in_number": Case(
        body(USER, content("model", CALL, CALL), content("user", RESPONSE, RESPONSE, {"text": "Go on."})),
        body(USER, content("model", CALL, CALL), RESPONSES),
        "Please ensure that the number of function response parts is equal to the number of function call"
        " parts of the function call turn.",
    ),
    "first_call_of_a_step_is_signed": Case(
        body(
            USER,
            CALLS,
            RESPONSES,
            MODEL,
            USER,
            content("model", SIGNED, CALL),
            content("user", RESPONSE, RESPONSE),
        ),
        body(USER, content("model", SIGNED), RESPONSES, CALLS, RESPONSES),
        "Function call is missing a thought_signature in functionCall parts. This is required for tools to"
        " work correctly, and missing thought_signature may lead to degraded model performance.",
        "gemini-3-flash-preview",
    ),
}


@pytest.mark.parametrize("rule", google.RULES, ids=lambda rule: rule.__name__)
def test_rule_accepts_and_refuses(rule: google.Rule) -> None:
    """Every rule lets its good body pass and answers its bad one in the provider's words."""
    name = getattr(rule, "__name__", "")
    case = CASES[name]

    accepted = google.check(case.accepted, model=case.model)
    refused = google.check(case.refused, model=case.model)

    assert accepted == ()
    assert case.words in [refusal.message for refusal in refused if refusal.rule == name]


def test_no_case_without_its_rule() -> None:
    """A case belongs to a rule of the tuple."""
    assert set(CASES) == {getattr(rule, "__name__", "") for rule in google.RULES}


def test_a_history_may_not_begin_with_a_call() -> None:
    """A call there is answered with the words about call turns."""
    (refusal,) = google.check(body(CALLS, RESPONSES))

    assert refusal.rule == "call_turns_follow_user_turns"


def test_older_models_need_no_signature() -> None:
    """Only from Gemini 3 on is a call signed; both spellings of the field count."""
    snake = content("model", {"function_call": {"name": "lookup"}, "thought_signature": "sig"})
    answer = content("user", {"function_response": {"name": "lookup"}})

    assert google.check(body(USER, CALLS, RESPONSES), model="gemini-2.5-pro") == ()
    assert google.check(body(USER, snake, answer), model="gemini-3-pro-preview") == ()


def test_responses_in_two_contents_do_not_match() -> None:
    """All responses of a step stand in one content."""
    split = body(USER, content("model", CALL, CALL), RESPONSES, RESPONSES)

    rules = [refusal.rule for refusal in google.check(split)]

    assert rules == ["response_turns_follow_call_turns", "responses_match_calls_in_number"]
