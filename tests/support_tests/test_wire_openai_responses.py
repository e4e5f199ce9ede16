"""OpenAI Responses: every rule with a body it accepts and one it refuses, in the provider's words."""

from collections.abc import Mapping
from typing import NamedTuple

import pytest

from wire import openai_responses
from wire.issued_items import ItemLedger
from wire.reading import Body

USER: Body = {"role": "user", "content": "What is the capital of Japan?"}
REASONING: Body = {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAAsecretDQ=="}
CALL: Body = {"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": "lookup", "arguments": "{}"}
OUTPUT: Body = {"type": "function_call_output", "call_id": "call_1", "output": "Tokyo"}
SECOND_CALL: Body = {"type": "function_call", "call_id": "call_2", "name": "lookup", "arguments": "{}"}
SECOND_OUTPUT: Body = {"type": "function_call_output", "call_id": "call_2", "output": "Kyoto"}
ANSWER: Body = {"type": "message", "id": "msg_1", "role": "assistant", "content": []}
EDITED: Body = {"role": "assistant", "content": "Kyoto."}


class Case(NamedTuple):
    """A body that the rule lets pass, one that it refuses, and the words of the refusal."""

    accepted: Body
    refused: Body
    words: str
    ledger: ItemLedger | None = None


def body(*items: Body, model: str = "gpt-5", **settings: object) -> Body:
    """Return a request body."""
    return {"model": model, "input": list(items), **settings}


def memory(*, stored: bool) -> ItemLedger:
    """Return the memory of a server that issued `REASONING` with `CALL`."""
    ledger = ItemLedger()
    ledger.record([REASONING, CALL], stored=stored)
    return ledger


BARE: Body = {"type": "reasoning", "id": "rs_1", "summary": []}
UNSTORED_WORDS = (
    "Item with id 'rs_1' not found. Items are not persisted when `store` is set to false. Try again with"
    " `store` set to true, or remove this item from your input."
)

CASES: Mapping[str, Case] = {
    "one_kind_of_server_state": Case(
        body(USER, previous_response_id="resp_1"),
        body(USER, previous_response_id="resp_1", conversation="conv_1"),
        "Mutually exclusive parameters: 'conversation' and 'previous_response_id'. Ensure you are only"
        " providing one of: 'previous_response_id' or 'conversation'.",
    ),
    "item_ids_fit_their_type": Case(
        body(USER, CALL, OUTPUT),
        body(USER, {**CALL, "id": "call_1"}, OUTPUT),
        "Invalid 'input[1].id': 'call_1'. Expected an ID that begins with 'fc'.",
    ),
    "items_are_not_repeated": Case(
        body(USER, ANSWER, USER),
        body(USER, ANSWER, ANSWER),
        "Duplicate item found with id msg_1. Remove duplicate items from your input and try again.",
    ),
    "referred_items_are_stored": Case(
        body(USER, REASONING, CALL, OUTPUT, store=False),
        body(USER, BARE, CALL, OUTPUT, store=False),
        UNSTORED_WORDS,
        memory(stored=False),
    ),
    "encrypted_content_is_genuine": Case(
        body(USER, REASONING, CALL, OUTPUT),
        body(USER, {**REASONING, "encrypted_content": "gAAAforgedDQ=="}, CALL, OUTPUT),
        "The encrypted content gAAA...DQ== could not be verified.",
        memory(stored=True),
    ),
    "reasoning_is_followed_by_its_item": Case(
        body(USER, REASONING, ANSWER, USER),
        body(USER, REASONING, EDITED, USER),
        "Item 'rs_1' of type 'reasoning' was provided without its required following item.",
    ),
    "items_keep_their_reasoning": Case(
        body(USER, REASONING, CALL, OUTPUT),
        body(USER, CALL, OUTPUT),
        "Item 'fc_1' of type 'function_call' was provided without its required 'reasoning' item: 'rs_1'.",
        memory(stored=True),
    ),
    "calls_are_answered": Case(
        body(USER, CALL, ANSWER, USER, OUTPUT),
        body(USER, CALL, USER),
        "No tool output found for function call call_1.",
    ),
    "outputs_answer_a_call": Case(
        body(OUTPUT, previous_response_id="resp_1"),
        body(USER, OUTPUT, CALL, OUTPUT),
        "No tool call found for function call output with call_id call_1.",
    ),
    "deepseek_calls_are_followed_by_outputs": Case(
        body(USER, CALL, SECOND_CALL, OUTPUT, SECOND_OUTPUT, model="deepseek-v4-flash"),
        body(USER, CALL, EDITED, SECOND_CALL, OUTPUT, SECOND_OUTPUT, model="deepseek-v4-flash"),
        "No tool output found for tool call call_1.",
    ),
}


@pytest.mark.parametrize("rule", openai_responses.RULES, ids=lambda rule: rule.__name__)
def test_rule_accepts_and_refuses(rule: openai_responses.Rule) -> None:
    """Every rule lets its good body pass and answers its bad one in the provider's words."""
    name = getattr(rule, "__name__", "")
    case = CASES[name]

    accepted = openai_responses.check(case.accepted, ledger=case.ledger)
    refused = openai_responses.check(case.refused, ledger=case.ledger)

    assert accepted == ()
    assert case.words in [refusal.message for refusal in refused if refusal.rule == name]


def test_no_case_without_its_rule() -> None:
    """A case belongs to a rule of the tuple."""
    assert set(CASES) == {getattr(rule, "__name__", "") for rule in openai_responses.RULES}


def test_refusals_carry_their_status_and_code() -> None:
    """A missing item is a 404, a forged one has a code."""
    missing = openai_responses.check(body(USER, BARE, CALL, OUTPUT, store=False), ledger=memory(stored=False))
    forged = openai_responses.check(
        body(USER, {**REASONING, "encrypted_content": "gAAAforgedDQ=="}, CALL, OUTPUT),
        ledger=memory(stored=True),
    )

    assert [refusal.status for refusal in missing] == [404]
    assert [refusal.code for refusal in forged] == ["invalid_encrypted_content"]


def test_held_items_take_part_in_the_pairing() -> None:
    """What the server holds is judged together with what was sent."""
    continued = body(OUTPUT, previous_response_id="resp_1")
    pending = body(USER, previous_response_id="resp_1")

    assert openai_responses.check(continued, held=[USER, CALL]) == ()
    assert openai_responses.check(continued, held=[USER])[0].rule == "outputs_answer_a_call"
    assert openai_responses.check(pending, held=[USER, CALL])[0].rule == "calls_are_answered"
    assert openai_responses.check(body(CALL, OUTPUT), held=[CALL, OUTPUT])[0].rule == "items_are_not_repeated"


def test_reasoning_needs_exactly_its_follower() -> None:
    """The server knows which item a reasoning item was made for."""
    other = body(USER, REASONING, ANSWER, USER)

    assert openai_responses.check(other, ledger=memory(stored=True))[0].rule == "reasoning_is_followed_by_its_item"
    assert openai_responses.check(other) == ()


def test_a_stateless_request_may_leave_the_followers_id_out() -> None:
    """With `store: false` nothing is looked up by id."""
    stateless = body(USER, REASONING, EDITED, USER, store=False)

    assert openai_responses.check(stateless) == ()


def test_a_string_is_one_user_message() -> None:
    """The short form of the input is accepted."""
    assert openai_responses.check({"model": "gpt-5", "input": "Hello"}) == ()
