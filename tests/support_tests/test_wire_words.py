"""The table of words: complete, free of unused rows, and honest about what is quoted."""

import pytest

from wire import anthropic, bedrock, google, openai_chat, openai_responses
from wire.words import TABLE, refuse

RULES = {
    "anthropic": anthropic.RULES,
    "openai_chat": openai_chat.RULES,
    "openai_responses": openai_responses.RULES,
    "google": google.RULES,
    "bedrock": bedrock.RULES,
}
# Said by a server that holds state, not by a rule over bodies.
OF_SERVERS = {"previous_response_not_found", "conversation_not_found"}


@pytest.mark.parametrize("provider", TABLE)
def test_every_rule_has_its_words(provider: str) -> None:
    """Rules and rows are the same names."""
    names = {getattr(rule, "__name__", "") for rule in RULES[provider]}

    assert set(TABLE[provider]) - OF_SERVERS == names


def test_every_row_names_its_source() -> None:
    """No words without a place where they were seen."""
    assert all(words.source for rows in TABLE.values() for words in rows.values())


def test_texts_of_our_own_are_marked() -> None:
    """These rules are known, their words are not."""
    unquoted = {rule for rows in TABLE.values() for rule, words in rows.items() if not words.quoted}

    assert unquoted == {
        "contents_do_not_begin_with_a_model_turn",
        "conversation_not_found",
        "documents_come_with_text",
        "messages_not_too_many",
        "reasoning_content_is_absent_where_refused",
        "result_content_is_not_empty",
    }


def test_a_refusal_carries_status_and_code() -> None:
    """The row's status and code come with the filled text."""
    refusal = refuse("openai_responses", "previous_response_not_found", id="resp_1")

    assert refusal.message == "Previous response with id 'resp_1' not found."
    assert (refusal.status, refusal.code) == (400, "previous_response_not_found")
