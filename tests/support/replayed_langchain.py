"""Recorded LangChain histories as the next request of a chat model, and what that model puts on the wire.

`histories/langchain/*.json` of the corpus are what LangChain made of the cassettes. A history that ends in an answer
gets what a user would do next: open calls are answered, otherwise a prompt is added. A `Stage` calls the provider's own
chat model over it on an in-process transport, wrapped by an adapter or not, and keeps the bytes of each request.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import anthropic
import httpx2
import openai
from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, messages_from_dict
from langchain_openai import ChatOpenAI
from pydantic import SecretStr

from bodies import APIS, Api
from issued import remembered
from kedi_langchain import LangChainAdapter
from recorded import FOLDER
from wire.reading import Body, mapping_of
from wire.refusal import Refusal

NEXT = "And what follows from that?"
_KEY = SecretStr("none")
_THINKING = {"thinking": {"type": "enabled", "budget_tokens": 1_024}}
_OWN_SETTINGS: Mapping[str, Mapping[str, Any]] = {
    # What the recorded requests were sent with.
    "anthropic_mcp_connector": _THINKING,
    "anthropic_redacted_thinking_2turns": _THINKING,
    "anthropic_signed_thinking_tool_loop": _THINKING,
    "anthropic_web_search_thinking": _THINKING,
    "openai_responses_mcp_zdr_sse": {"store": False, "include": ["reasoning.encrypted_content"]},
}
_REFUSED = {"error": {"message": "kept, not sent", "type": "invalid_request_error", "code": "kept"}}

Kept = list[bytes]


@dataclass(frozen=True)
class Stage:
    """A history ready for its next request, and the API it goes to."""

    name: str
    api: Api
    model_name: str
    history: tuple[BaseMessage, ...]
    settings: Mapping[str, Any] = field(default_factory=dict)

    def sent(self, adapter: LangChainAdapter | None = None) -> Kept:
        """Return the bytes of every request that the model sends over the history; the transport refuses each."""
        kept: Kept = []
        model = self.model(kept)
        if adapter is not None:
            model = adapter.wrap(model)
        tools = _tools_of(self.history)
        try:
            (model.bind_tools(tools) if tools else model).invoke(list(self.history))
        except (anthropic.BadRequestError, openai.BadRequestError):
            return kept
        msg = "The transport refuses every request, so the model cannot have answered"
        raise AssertionError(msg)

    def model(self, kept: Kept) -> BaseChatModel:
        """Return the provider's chat model, whose requests are kept and then refused."""
        return _MODELS[self.api.name](self.model_name, kept, self.settings)

    def refusals(self, sent: bytes, **known: Any) -> tuple[Refusal, ...]:
        """Return what the server of the unedited conversation would answer to these bytes; empty means accepted."""
        memory = remembered(self.api.name, self._unedited) | known
        if self.api.name == "openai_responses":
            memory["ledger"].items.pop("", None)  # an item that goes out without its id cannot be told again
        return self.api.judge(parsed(sent), self.model_name, **memory)

    @cached_property
    def _unedited(self) -> Body:
        (unedited,) = self.sent()
        return parsed(unedited)

    def in_common_form(self) -> Stage:
        """Return the stage with its answers as `output_version="v1"` writes them, whoever the provider is."""
        return replace(self, name=f"{self.name} (v1)", history=tuple(map(_common_form, self.history)))


def _common_form(message: BaseMessage) -> BaseMessage:
    if not isinstance(message, AIMessage):
        return message
    metadata = {**message.response_metadata, "output_version": "v1"}
    return message.model_copy(update={"content": message.content_blocks, "response_metadata": metadata})


def parsed(sent: bytes) -> Body:
    """Return a request body as JSON."""
    return mapping_of(json.loads(sent))


def stages() -> tuple[Stage, ...]:
    """Return every LangChain history of the corpus as its next request; empty without a corpus."""
    if FOLDER is None:
        return ()
    return tuple(map(_stage, sorted((Path(FOLDER) / "histories" / "langchain").glob("*.json"))))


def _stage(path: Path) -> Stage:
    name = path.stem
    messages = messages_from_dict(json.loads(path.read_bytes()))
    names = [message.response_metadata.get("model_name") for message in messages if isinstance(message, AIMessage)]
    known = name.replace("deepseek_chat", "deepseek")
    api = APIS[max((one for one in _MODELS if known.startswith(one)), key=len)]
    settings = _OWN_SETTINGS.get(name.partition(".")[0], {})
    return Stage(name, api, next(filter(None, names), api.model_name), continued(messages), settings)


def continued(messages: Sequence[BaseMessage]) -> tuple[BaseMessage, ...]:
    """Return the history with its next request: results for calls that wait for them, else a prompt."""
    last = messages[-1]
    if not isinstance(last, AIMessage):
        return tuple(messages)
    results: list[BaseMessage] = [
        ToolMessage("done", tool_call_id=call["id"], name=call["name"]) for call in last.tool_calls
    ]
    return (*messages, *(results or [HumanMessage(NEXT)]))


def _tools_of(messages: Sequence[BaseMessage]) -> list[dict[str, Any]]:
    """Declare every tool that is called in the messages."""
    names = dict.fromkeys(
        call["name"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls
    )
    parameters = {"type": "object", "properties": {}}
    return [
        {"type": "function", "function": {"name": name, "description": "A tool.", "parameters": parameters}}
        for name in names
    ]


def _http(kept: Kept) -> httpx2.Client:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        kept.append(request.content)
        return httpx2.Response(400, json=_REFUSED)

    return httpx2.Client(transport=httpx2.MockTransport(refuse))


def _anthropic(name: str, kept: Kept, settings: Mapping[str, Any]) -> BaseChatModel:
    model = ChatAnthropic(model_name=name, max_tokens_to_sample=4_096, api_key=_KEY, max_retries=0, **settings)
    client = anthropic.Anthropic(api_key="none", http_client=_http(kept), max_retries=0)
    vars(model)["_client"] = client  # the model builds its client when first asked, and has no field for one
    return model


def _openai(**fixed: Any) -> Callable[[str, Kept, Mapping[str, Any]], BaseChatModel]:
    def build(name: str, kept: Kept, settings: Mapping[str, Any]) -> BaseChatModel:
        return ChatOpenAI(model=name, api_key=_KEY, http_client=_http(kept), max_retries=0, **fixed, **settings)

    return build


_MODELS: dict[str, Callable[[str, Kept, Mapping[str, Any]], BaseChatModel]] = {
    "anthropic": _anthropic,
    "openai_chat": _openai(),
    "deepseek": _openai(base_url="https://api.deepseek.com"),
    "openai_responses": _openai(use_responses_api=True),
    "deepseek_responses": _openai(use_responses_api=True, base_url="https://api.deepseek.com"),
}
