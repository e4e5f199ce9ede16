"""One request and its edit: what is kept, what is sent, and how the model is described."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from chats import Chat, Context, StreamingChat, Transport, asked, keep, lines, untouched
from kedi_compile import HistoryProcessingError, HistoryProcessorCallback
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from kedi_langchain import LangChainDialect
from kedi_langchain.editing import EditedRequest, model_name, request_info

EDITED = ["< question 3", "> answer 3", "< now"]
NONE = SecretStr("none")


def request(
    processor: HistoryProcessorCallback[BaseMessage],
    model: BaseChatModel | None = None,
    messages: list[BaseMessage] | None = None,
    **arguments: Any,
) -> EditedRequest:
    """Return a request that was not edited yet."""
    session: RunSession[BaseMessage] = RunSession(HistoryPolicy(processor), LangChainDialect(), owner=object())
    target = model or Chat(transport=Transport())
    shown = tuple(asked() if messages is None else messages)
    return EditedRequest(session, request_info(target), shown, target, arguments)


@pytest.mark.parametrize("is_async", [False, True])
def test_an_accepted_edit_is_kept_and_sent(is_async: bool) -> None:
    """The history without the answer is what is sent, in the caller's own objects."""
    begun = request(keep(1))

    edited = asyncio.run(begun.aedit()) if is_async else begun.edit()

    assert edited.is_rewritten
    assert lines(edited.messages) == lines(edited.history) == EDITED
    assert [id(message) for message in edited.messages] == [id(message) for message in begun.shown[4:]]


@pytest.mark.parametrize("is_async", [False, True])
def test_an_untouched_history_is_sent_as_it_was_shown(is_async: bool) -> None:
    """The same objects, the same model and the same arguments."""
    begun = request(untouched, conversation="conv_1")

    edited = asyncio.run(begun.aedit()) if is_async else begun.edit()

    assert not edited.is_rewritten
    assert [id(message) for message in edited.messages] == [id(message) for message in begun.shown]
    assert edited.model is begun.model
    assert edited.arguments == {"conversation": "conv_1"}


def test_a_request_that_was_not_edited_holds_what_it_was_shown() -> None:
    """It counts as skipped until it is edited."""
    begun = request(keep(1))

    assert not begun.is_rewritten
    assert begun.messages == list(begun.shown)


def test_an_edit_leaves_the_request_it_began_with_alone() -> None:
    """`edit` returns a new value."""
    begun = request(keep(1), conversation="conv_1")

    edited = begun.edit()

    assert begun.messages == list(begun.shown)
    assert (begun.arguments, edited.arguments) == ({"conversation": "conv_1"}, {})


def test_what_is_kept_differs_from_what_is_sent_only_in_the_ids_of_a_chain() -> None:
    """A durable history keeps the provider's response ids; the request after the edit goes without them."""
    chained = AIMessage("answer 3", response_metadata={"id": "resp_1"})
    messages = [*asked(2), chained, *asked(0)]

    edited = request(keep(1), ChatOpenAI(api_key=NONE, use_previous_response_id=True), messages).edit()

    assert [message.response_metadata for message in edited.history[1:2]] == [{"id": "resp_1"}]
    assert [message.response_metadata for message in edited.messages[1:2]] == [{}]


def test_an_edit_is_reused_without_asking_again() -> None:
    """A later attempt takes over the outcome, and goes without old state as the first did."""
    first = request(keep(1)).edit()

    second = request(_failing, conversation="conv_1").reuse(first.attempt)

    assert lines(second.messages) == EDITED
    assert second.arguments == {}


def test_a_failing_edit_leaves_no_road_to_the_wire() -> None:
    """The session refuses to send a request whose edit failed."""
    begun = request(_failing)

    with pytest.raises(HistoryProcessingError, match="`history_processor` raised ValueError: no"):
        begun.edit()
    with pytest.raises(RuntimeError):
        begun.session.sent()


MODELS: dict[str, BaseChatModel] = {
    "openai:gpt-5": ChatOpenAI(model="gpt-5", api_key=NONE),
    "anthropic:claude-opus-5-5": ChatAnthropic(model_name="claude-opus-5-5", api_key=NONE, timeout=None, stop=None),
    "scripted:scripted": Chat(transport=Transport()),
    "streaming:other": StreamingChat(transport=Transport(), model_name="other"),
}


@pytest.mark.parametrize(("model_id", "model"), MODELS.items(), ids=MODELS)
def test_a_model_is_described_by_provider_and_name(model_id: str, model: BaseChatModel) -> None:
    """The name alone decides whether it binds reasoning."""
    info = request_info(model, 3, "run-1")

    assert (info.model_id, info.request_index, info.run_id) == (model_id, 3, "run-1")
    assert info.model_names == (model_id.partition(":")[2],)


@pytest.mark.parametrize("name", ["", None])
def test_a_model_without_a_name_goes_by_its_type(name: str | None) -> None:
    """Not every model says which one it is."""
    model = Chat(transport=Transport())
    vars(model)["model_name"] = name

    assert model_name(model) == "scripted"


def _failing(ctx: Context) -> list[BaseMessage]:
    raise ValueError("no")
