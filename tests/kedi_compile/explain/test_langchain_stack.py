"""How LangChain's saved messages are read, and the words that are found in them."""

from __future__ import annotations

import json
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, messages_to_dict

from chats import calls, results, turns
from kedi_compile.explain.langchain_stack import load, words
from kedi_compile.explain.reading import UnreadableHistory


def test_what_the_host_wrote_comes_back_as_it_was() -> None:
    """Messages are read as `messages_from_dict` reads them."""
    history = [*turns(1, ids=True), HumanMessage("look"), calls("c1"), *results("c1"), AIMessage("done")]

    saved = json.loads(json.dumps(messages_to_dict(history)))

    assert [load(index, message) for index, message in enumerate(saved)] == history


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ({"type": "x", "data": {}}, "no message of LangChain: ValueError: Got unexpected message type: x"),
        (
            {"type": "human", "data": {"content": None}},
            "no message of LangChain: Input should be a valid string at content.str",
        ),
        ({"type": "tool", "data": {"content": "a"}}, "no message of LangChain: KeyError: 'tool_call_id'"),
        ({"type": "remove", "data": {"id": "1"}}, "a RemoveMessage, which is no history message"),
    ],
)
def test_what_is_no_message_is_named(message: dict[str, Any], said: str) -> None:
    """The complaint has the message's index and what the host said of it."""
    with pytest.raises(UnreadableHistory) as refused:
        load(4, message)

    assert str(refused.value) == f"Message 4 is {said}"


@pytest.mark.parametrize(
    ("message", "found"),
    [
        (HumanMessage("a question"), "a question"),
        (
            HumanMessage([{"type": "image", "url": "https://example.com"}, {"type": "text", "text": "a caption"}]),
            "a caption",
        ),
        (HumanMessage(["bare", "texts"]), "bare"),
        (AIMessage([{"type": "text", "text": 4}]), ""),
        (calls("c1"), ""),
    ],
)
def test_the_words_of_a_message_are_its_first_text(message: BaseMessage, found: str) -> None:
    """A message that holds no text has no words."""
    assert words(message) == found
