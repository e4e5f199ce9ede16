"""Server-side state from before an edit: when a request goes without it, and when it stays.

OpenAI's own chat model runs against a transport in memory, so the bodies are what its client would send.
"""

from __future__ import annotations

import asyncio
import copy
from collections.abc import Callable
from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.runnables import Runnable

from chats import Chat, Context, StreamingChat, Transport, adapter, asked, keep, untouched
from kedi_compile import HistoryProcessorCallback
from kedi_langchain.continuation import model_without_old_state, without_old_state, without_response_ids
from responding import Server, stated, texts

AnyRunnable = Runnable[Any, Any]
EDITED = ["question 3", "answer 3", "now"]
WHOLE = ["question 1", "answer 1", "question 2", "answer 2", *EDITED]


Send = Callable[[AnyRunnable, list[BaseMessage]], Any]
SENDS: dict[str, Send] = {
    "invoke": lambda model, messages: model.invoke(messages),
    "ainvoke": lambda model, messages: asyncio.run(model.ainvoke(messages)),
    "stream": lambda model, messages: list(model.stream(messages)),
    "batch": lambda model, messages: model.batch([messages]),
}
each_send = pytest.mark.parametrize("send", SENDS.values(), ids=SENDS)

Build = Callable[[Server, HistoryProcessorCallback[BaseMessage]], AnyRunnable]
PREVIOUS: dict[str, Any] = {"previous_response_id": "resp_old"}
CONVERSATION: dict[str, Any] = {"conversation": "conv_1"}
STALE: dict[str, tuple[Build, dict[str, Any]]] = {
    "bound response": (lambda server, edit: adapter(edit).wrap(server.model()).bind(**PREVIOUS), PREVIOUS),
    "bound conversation": (lambda server, edit: adapter(edit).wrap(server.model()).bind(**CONVERSATION), CONVERSATION),
    "bound before wrapping": (lambda server, edit: adapter(edit).wrap(server.model().bind(**PREVIOUS)), PREVIOUS),
    "bound with tools": (
        lambda server, edit: adapter(edit).wrap(server.model()).bind_tools([], **CONVERSATION),
        CONVERSATION,
    ),
    "model_kwargs": (lambda server, edit: adapter(edit).wrap(server.model(model_kwargs={**PREVIOUS})), PREVIOUS),
    "model_kwargs, conversation": (
        lambda server, edit: adapter(edit).wrap(server.model(model_kwargs={**CONVERSATION})),
        CONVERSATION,
    ),
    "extra_body": (lambda server, edit: adapter(edit).wrap(server.model(extra_body={**PREVIOUS})), PREVIOUS),
    "bound extra_body": (
        lambda server, edit: adapter(edit).wrap(server.model()).bind(extra_body={**CONVERSATION}),
        CONVERSATION,
    ),
}
each_stale = pytest.mark.parametrize(("build", "state"), STALE.values(), ids=STALE)


@each_send
@each_stale
def test_state_from_before_an_edit_is_not_named(build: Build, state: dict[str, Any], send: Send) -> None:
    """Wherever a fixed id stands, the edited request goes without it and carries the whole edited list."""
    server = Server()

    send(build(server, keep(1)), asked())

    assert [stated(body) for body in server.bodies] == [{}]
    assert texts(server.bodies[0]) == EDITED


@each_stale
def test_state_stays_while_nothing_is_edited(build: Build, state: dict[str, Any]) -> None:
    """A no-op leaves continuation exactly as it was."""
    server = Server()

    build(server, untouched).invoke(asked())

    assert [stated(body) for body in server.bodies] == [state]
    assert texts(server.bodies[0]) == WHOLE


@pytest.mark.parametrize("arguments", [PREVIOUS, CONVERSATION, {"extra_body": PREVIOUS}], ids=str)
def test_call_arguments_are_covered(arguments: dict[str, Any]) -> None:
    """What a single call names is left out too, and the caller's own dictionary stays as it was."""
    server, given = Server(), copy.deepcopy(arguments)

    adapter(keep(1)).wrap(server.model()).invoke(asked(), **given)

    assert [stated(body) for body in server.bodies] == [{}]
    assert given == arguments


def test_the_callers_model_and_settings_are_left_alone() -> None:
    """The request goes through a copy; other arguments in the same dictionaries are sent."""
    kwargs, body = {**PREVIOUS, "user": "ann"}, {**CONVERSATION, "service": "slow"}
    server = Server()
    model = server.model(model_kwargs=kwargs, extra_body=body)
    wrapped = adapter(keep(1)).wrap(model)

    wrapped.invoke(asked())

    assert (server.bodies[0]["user"], server.bodies[0]["service"]) == ("ann", "slow")
    assert (kwargs, body) == ({**PREVIOUS, "user": "ann"}, {**CONVERSATION, "service": "slow"})
    for one in (model, wrapped):
        assert (one.model_kwargs, one.extra_body) == (kwargs, body)


def test_a_second_request_that_edits_nothing_names_what_the_caller_says() -> None:
    """Each request of a wrapped model is a run of its own: only its own edit counts."""
    server = Server()
    model = adapter(keep(1), lambda state: len(server.bodies) == 0).wrap(server.model(model_kwargs={**CONVERSATION}))

    model.invoke(asked())
    model.invoke(asked())

    assert [stated(body) for body in server.bodies] == [{}, CONVERSATION]


def answered(response_id: str, text: str = "answer 3") -> AIMessage:
    """Return an answer as OpenAI's chat model keeps it."""
    return AIMessage(text, response_metadata={"id": response_id, "model_provider": "openai"})


@each_send
def test_an_automatic_chain_does_not_resume_before_the_edit(send: Send) -> None:
    """Retained answers are sent as text, not as the id the server knows the old history by; theirs is untouched."""
    server = Server()
    given = [*asked(2), answered("resp_old"), HumanMessage("and now")]
    model = server.model(use_previous_response_id=True)

    send(adapter(keep(1)).wrap(model), given)

    assert [stated(body) for body in server.bodies] == [{}]
    assert texts(server.bodies[0]) == ["now", "answer 3", "and now"]
    assert given[5].response_metadata["id"] == "resp_old"
    assert model.use_previous_response_id


def test_an_automatic_chain_stays_on_without_an_edit() -> None:
    """The host then sends what came after the newest answer."""
    server = Server()
    given = [*asked(2), answered("resp_old"), HumanMessage("and now")]

    adapter(untouched).wrap(server.model(use_previous_response_id=True)).invoke(given)

    assert [stated(body) for body in server.bodies] == [{"previous_response_id": "resp_old"}]
    assert texts(server.bodies[0]) == ["and now"]


def test_an_automatic_chain_resumes_from_the_answer_to_an_edited_request() -> None:
    """The answer made after the edit keeps its id, so a later request that edits nothing chains to it."""
    server = Server()
    model = adapter(keep(1), lambda state: len(server.bodies) == 0).wrap(server.model(use_previous_response_id=True))
    given = [*asked(2), answered("resp_old"), HumanMessage("and now")]

    reply = model.invoke(given)
    model.invoke([*given[4:], reply, HumanMessage("go on")])

    assert [stated(body) for body in server.bodies] == [{}, {"previous_response_id": "resp_1"}]
    assert texts(server.bodies[1]) == ["go on"]


def test_every_fallback_goes_without_old_state() -> None:
    """A second model that names its own old state is covered as the first."""
    broken, working = Server(is_broken=True), Server()
    first = broken.model(model_kwargs={**PREVIOUS})
    second = working.model(model_kwargs={**CONVERSATION}, use_previous_response_id=True)
    given = [*asked(2), answered("resp_old"), HumanMessage("and now")]

    adapter(keep(1)).wrap(first.with_fallbacks([second])).invoke(given)

    assert [stated(body) for body in [*broken.bodies, *working.bodies]] == [{}, {}]
    assert texts(working.bodies[0]) == ["now", "answer 3", "and now"]


@pytest.mark.filterwarnings("ignore::langchain_core._api.LangChainBetaWarning")
@pytest.mark.parametrize("way", ["stream", "astream", "stream_events v3", "agenerate"])
def test_bound_state_is_left_out_of_streams(way: str) -> None:
    """Models of any provider are covered by the names of the arguments."""
    transport = Transport()
    model = adapter(keep(1)).wrap(StreamingChat(transport=transport))
    arguments: dict[str, Any] = {**PREVIOUS, **CONVERSATION, "seed": 1}

    if way == "stream":
        list(model.stream(asked(), **arguments))
    elif way == "astream":
        asyncio.run(_drained(model.astream(asked(), **arguments)))
    elif way == "agenerate":
        asyncio.run(model.agenerate([asked()], **arguments))
    else:
        list(model.stream_events(asked(), version="v3", **arguments))

    assert transport.kwargs == [{"seed": 1}]


def test_a_batch_goes_without_old_state_as_soon_as_one_of_its_requests_is_edited() -> None:
    """`generate` sends all its requests with the same arguments, so what one may not name, none does."""
    transport = Transport()

    def edit_long_ones(ctx: Context) -> list[BaseMessage]:
        return ctx.keep_recent_groups(1) if len(ctx.messages) > 3 else list(ctx.messages)

    adapter(edit_long_ones).wrap(Chat(transport=transport)).generate([asked(1), asked(3)], **PREVIOUS)

    assert transport.kwargs == [{}, {}]


def test_arguments_without_old_state_are_kept_as_they_are() -> None:
    """Only the known names are left out, at the top and in the two dictionaries that carry more."""
    arguments = {"seed": 1, "model_kwargs": {"conversation": 1, "user": 2}, "metadata": {"conversation": "mine"}}

    assert without_old_state(arguments) == {
        "seed": 1,
        "model_kwargs": {"user": 2},
        "metadata": {"conversation": "mine"},
    }


def test_a_model_without_old_state_is_the_same_object() -> None:
    """There is nothing to copy when nothing is removed."""
    plain = Chat(transport=Transport())
    clean = Server().model(model_kwargs={"user": "ann"})

    assert model_without_old_state(plain) is plain
    assert model_without_old_state(clean) is clean


def test_answers_without_an_id_of_the_server_are_the_same_objects() -> None:
    """Only `resp_` ids chain; other ids and other messages are left alone."""
    messages = [HumanMessage("now"), answered("msg_1"), AIMessage("no metadata"), answered("resp_1")]

    cleaned = without_response_ids(messages, Server().model(use_previous_response_id=True))

    assert [one is other for one, other in zip(cleaned, messages, strict=True)] == [True, True, True, False]
    assert cleaned[3].response_metadata == {"model_provider": "openai"}
    assert without_response_ids(messages, Server().model()) == messages


async def _drained(items: Any) -> list[object]:
    return [item async for item in items]
