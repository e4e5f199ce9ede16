"""Server-side state from turn to turn: off for good after a rewrite, but for what the server made after it.

OpenAI's own chat model runs against its endpoint in memory, wrapped and in an agent; the third turn is the one that an
edit rewrites.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from langchain_core.messages import BaseMessage

from chats import Context, Transport, adapter, keep
from kedi_compile import HistoryProcessorCallback
from kedi_compile.conversation import ConversationCheckpoint, ConversationState, history_scope
from responding import Server, stated, texts
from threads import agent

Ask = Callable[[str], Any]

CONVERSATION: dict[str, Any] = {"conversation": "conv_1"}
PREVIOUS: dict[str, Any] = {"previous_response_id": "resp_old"}


def rewriting(ctx: Context) -> Sequence[BaseMessage]:
    """Drop all earlier turns in the one that asks "three"."""
    return ctx.keep_recent_groups(0) if ctx.messages[-1].text == "three" else ctx.messages


def _agent(server: Server, edit: HistoryProcessorCallback[BaseMessage] | None, **fields: Any) -> Ask:
    subject = agent(Transport(), adapter(edit), tools=[], model=server.model(**fields))
    return lambda prompt: subject.invoke({"messages": prompt})


def _async_agent(server: Server, edit: HistoryProcessorCallback[BaseMessage] | None, **fields: Any) -> Ask:
    subject = agent(Transport(), adapter(edit), tools=[], model=server.model(**fields))
    return lambda prompt: asyncio.run(subject.ainvoke({"messages": prompt}))


def _stream(server: Server, edit: HistoryProcessorCallback[BaseMessage] | None, **fields: Any) -> Ask:
    model = adapter(edit).wrap(server.model(**fields))
    return lambda prompt: list(model.stream(prompt))


HOSTS: dict[str, Any] = {
    "model": lambda server, edit, **fields: adapter(edit).wrap(server.model(**fields)).invoke,
    "model, streamed": _stream,
    "agent": _agent,
    "agent, awaited": _async_agent,
}
each_host = pytest.mark.parametrize("host", HOSTS.values(), ids=HOSTS)

FIXED: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "a conversation": ({"model_kwargs": CONVERSATION}, CONVERSATION),
    "a response": ({"model_kwargs": PREVIOUS}, PREVIOUS),
    "a conversation in the body": ({"extra_body": CONVERSATION}, CONVERSATION),
    "a response in the body": ({"extra_body": PREVIOUS}, PREVIOUS),
}
each_fixed = pytest.mark.parametrize(("fields", "state"), FIXED.values(), ids=FIXED)


def talk(ask: Ask, *prompts: str) -> None:
    """Take one turn for each prompt."""
    for prompt in prompts:
        ask(prompt)


def prompts(body: dict[str, Any]) -> list[str]:
    """Return what the user says in a body."""
    return texts({"input": [item for item in body["input"] if item.get("role") == "user"]})


@each_host
@each_fixed
def test_fixed_state_stays_off_in_all_turns_after_a_rewrite(
    host: Any, fields: dict[str, Any], state: dict[str, Any]
) -> None:
    """The server would bring back what was removed; before the rewrite nothing is changed."""
    server = Server()
    ask = host(server, rewriting, **copy.deepcopy(fields))

    with history_scope(True):
        talk(ask, "one", "two", "three", "four", "five")

    assert [stated(body) for body in server.bodies] == [state, state, {}, {}, {}]
    assert prompts(server.bodies[1]) == ["one", "two"]
    assert prompts(server.bodies[4]) == ["three", "four", "five"]


@each_host
@each_fixed
def test_fixed_state_stays_off_where_nothing_is_processed_any_more(
    host: Any, fields: dict[str, Any], state: dict[str, Any]
) -> None:
    """In a scope without the processor, in an adapter that has none, and after a restore."""
    server = Server()

    with history_scope(True) as conversation:
        ask = host(server, rewriting, **fields)
        talk(ask, "one", "two", "three")
        with history_scope(processor=None):
            talk(ask, "four")
        talk(host(server, None, **fields), "five")
    restored = ConversationState.restore(ConversationCheckpoint.from_json(conversation.checkpoint().to_json()))
    with history_scope(True, state=restored):
        talk(host(server, None, **fields), "six")

    assert [stated(body) for body in server.bodies] == [state, state, {}, {}, {}, {}]


@each_host
@each_fixed
def test_fixed_state_stays_on_where_nothing_was_rewritten(
    host: Any, fields: dict[str, Any], state: dict[str, Any]
) -> None:
    """An edit in another conversation, or in a turn that failed, is no rewrite of this one."""
    server = Server()
    ask = host(server, rewriting, **fields)

    with history_scope(True):
        talk(ask, "one", "two", "three")
    server.bodies.clear()
    with history_scope(True):
        talk(ask, "one", "two")
        server.is_broken = True
        with pytest.raises(Exception, match="overloaded"):
            ask("three")
        server.is_broken = False
        talk(ask, "four")

    assert [stated(body) for body in server.bodies] == [state, state, {}, state]


@each_host
def test_an_automatic_chain_resumes_from_the_first_answer_after_the_rewrite(host: Any) -> None:
    """The rewritten request carries the whole edited list; the next one chains to its answer and sends what is new."""
    server = Server()
    ask = host(server, rewriting, use_previous_response_id=True)

    with history_scope(True) as conversation:
        talk(ask, "one", "two", "three", "four")
        with history_scope(processor=None):
            talk(ask, "five")
    restored = ConversationState.restore(ConversationCheckpoint.from_json(conversation.checkpoint().to_json()))
    with history_scope(True, state=restored):
        talk(ask, "six")

    chained = [{"previous_response_id": f"resp_{number}"} for number in (3, 4, 5)]
    assert [stated(body) for body in server.bodies] == [{}, {"previous_response_id": "resp_1"}, {}, *chained]
    assert [texts(body) for body in server.bodies] == [["one"], ["two"], ["three"], ["four"], ["five"], ["six"]]


@each_host
def test_an_answer_that_a_rewrite_keeps_is_no_longer_chained_to(host: Any) -> None:
    """It is sent as text in the turn of the rewrite, and later turns chain to what came after it."""
    server = Server()

    def keep_one(ctx: Context) -> Sequence[BaseMessage]:
        return ctx.keep_recent_groups(1) if ctx.messages[-1].text == "three" else ctx.messages

    ask = host(server, keep_one, use_previous_response_id=True)
    with history_scope(True):
        talk(ask, "one", "two")
        kept = len(server.bodies)
        talk(ask, "three", "four")

    assert prompts(server.bodies[kept]) == ["two", "three"]
    assert stated(server.bodies[kept]) == {}
    assert stated(server.bodies[kept + 1]) == {"previous_response_id": "resp_3"}
    assert texts(server.bodies[kept + 1]) == ["four"]


@each_host
def test_a_turn_that_fails_after_its_rewrite_leaves_the_chain(host: Any) -> None:
    """The next one chains to the answer before it, as if nothing had been."""
    server = Server()
    ask = host(server, rewriting, use_previous_response_id=True)

    with history_scope(True):
        talk(ask, "one", "two")
        server.is_broken = True
        with pytest.raises(Exception, match="overloaded"):
            ask("three")
        server.is_broken = False
        talk(ask, "four")

    assert [stated(body) for body in server.bodies] == [
        *({}, {"previous_response_id": "resp_1"}, {}, {"previous_response_id": "resp_2"}),
    ]


@pytest.mark.parametrize("state", [CONVERSATION, PREVIOUS], ids=str)
def test_bound_state_stays_off_too(state: dict[str, Any]) -> None:
    """Wherever the caller names it: by a binding, in the body, or by the call itself."""
    server = Server()
    model = adapter(rewriting).wrap(server.model())

    with history_scope(True):
        for prompt in ("one", "two", "three"):
            model.bind(**state).invoke(prompt)
        model.invoke("four", **state)
        model.bind(extra_body=state).invoke("five")

    assert [stated(body) for body in server.bodies] == [state, state, {}, {}, {}]


@each_host
@each_fixed
def test_the_callers_settings_are_never_changed(host: Any, fields: dict[str, Any], state: dict[str, Any]) -> None:
    """The very dictionaries the caller holds are as they were, and another conversation is sent what they name."""
    server, given = Server(), copy.deepcopy(fields)
    ask = host(server, rewriting, **given)

    with history_scope(True):
        talk(ask, "one", "two", "three", "four")
    talk(ask, "alone")

    assert given == fields
    assert stated(server.bodies[-1]) == state


def test_the_callers_answers_are_never_changed() -> None:
    """What a turn returned keeps its response id after a later rewrite took it out of the conversation's copy."""
    server = Server()
    model = adapter(keep(1)).wrap(server.model(use_previous_response_id=True))

    with history_scope(True):
        answers = [model.invoke(prompt) for prompt in ("one", "two", "three", "four")]

    assert [answer.response_metadata["id"] for answer in answers] == ["resp_1", "resp_2", "resp_3", "resp_4"]
