"""Where server-side state from before a rewrite can hide, and how a request goes without it.

A fixed response id or conversation may stand in call and bind arguments, in `model_kwargs` and in `extra_body`; an
automatic chain reads the `resp_` ids of retained answers. All of it is left out of copies: models, settings and
messages of the caller stay as they are. An automatic chain may resume from the first answer after the rewrite, which
the rewrite never touches. Measured on langchain-openai 1.7.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, TypeVar

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage

from kedi_compile.history.continuation import STATE_KEYS

ModelT = TypeVar("ModelT", bound=BaseChatModel)

_CARRIERS: Final = ("model_kwargs", "extra_body")


def without_old_state(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return call, bind or settings arguments that name no state from before a rewrite."""
    kept = {name: value for name, value in arguments.items() if name not in STATE_KEYS}
    for name in _CARRIERS:
        if isinstance(kept.get(name), Mapping):
            kept[name] = without_old_state(kept[name])
    return kept


def model_without_old_state(model: ModelT) -> ModelT:
    """Return the model, or a copy of it whose own arguments name no state from before a rewrite."""
    changes = {}
    for name in _CARRIERS:
        own = getattr(model, name, None)
        if isinstance(own, Mapping) and (clean := without_old_state(own)) != own:
            changes[name] = clean
    return model.model_copy(update=changes) if changes else model


def without_response_ids(messages: Sequence[BaseMessage], model: BaseChatModel) -> list[BaseMessage]:
    """Return the messages, answers without their `resp_` ids where the model would chain to the newest of them."""
    if not getattr(model, "use_previous_response_id", False):
        return list(messages)
    return [without_response_id(message) for message in messages]


def without_response_id(message: BaseMessage) -> BaseMessage:
    """Return the message, or a copy of an answer that names no response to chain to."""
    if not isinstance(message, AIMessage) or not str(message.response_metadata.get("id", "")).startswith("resp_"):
        return message
    metadata = {name: value for name, value in message.response_metadata.items() if name != "id"}
    return message.model_copy(update={"response_metadata": metadata})
