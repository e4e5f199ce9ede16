"""Wrapped models inside a chain as turns: who reads the chain's stream reads the model's, and a model may be silent."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import HumanMessage
from langchain_core.outputs import ChatResult
from langchain_core.prompts import ChatPromptTemplate

from chats import Chat, StreamingChat, Transport, adapter, lines
from kedi_compile import ConversationError
from kedi_compile.conversation import ConversationState, history_scope
from kedi_langchain import messages_of
from threads import answering


def chain(transport: Transport) -> Any:
    """Return a prompt in front of a wrapped model."""
    return ChatPromptTemplate.from_messages([("human", "{question}")]) | adapter().wrap(
        StreamingChat(transport=transport)
    )


def test_a_call_inside_an_open_stream_of_a_chain_is_refused() -> None:
    """Whoever reads the chain reads its model, so the call would wait for its own caller."""
    transport = answering("one two", "three")
    subject = chain(transport)

    with history_scope(True) as state:
        stream = subject.stream({"question": "open"})
        next(stream)
        with pytest.raises(ConversationError, match="a stream that its own caller has not read"):
            subject.invoke({"question": "inside"})
        list(stream)

    assert state.turns == 1


async def test_an_awaited_call_inside_an_open_stream_of_a_chain_is_refused() -> None:
    """The same on the asynchronous path."""
    transport = answering("one two", "three")
    subject = chain(transport)

    with history_scope(True) as state:
        stream = subject.astream({"question": "open"})
        await anext(stream)
        with pytest.raises(ConversationError, match="a stream that its own caller has not read"):
            await subject.ainvoke({"question": "inside"})
        _ = [chunk async for chunk in stream]

    assert state.turns == 1


class _Silent(GenericFakeChatModel):
    """A model that gives no answer at all."""

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[])


async def test_a_call_without_an_answer_commits_nothing_and_the_next_is_served() -> None:
    """The host has no answer to return either; the conversation goes on without that call."""
    silent, talking = adapter().wrap(_Silent(messages=iter(()))), chain(answering("one two"))

    with history_scope(True) as state:
        with pytest.raises(IndexError):
            silent.invoke("nothing")
        with pytest.raises(IndexError):
            await silent.ainvoke("nothing")
        talking.invoke({"question": "something"})

    assert state.turns == 1


def test_the_messages_of_a_conversation_can_be_read_and_taken_along() -> None:
    """They are the host's own; another conversation may begin with them."""
    first, later = answering("one two"), answering("three")

    with history_scope(True) as state:
        chain(first).invoke({"question": "first"})
    taken = messages_of(state)
    with history_scope(True, state=ConversationState()) as other:
        adapter().wrap(Chat(transport=later)).invoke([*taken, HumanMessage("second")])

    assert lines(taken) == ["< first", "> one two"]
    assert later.sent == [["< first", "> one two", "< second"]]
    assert len(messages_of(other)) == 4
    assert messages_of(ConversationState()) == []
