"""Native histories as provider request bodies, made by Pydantic AI's own model classes and judged by the wire rules.

`Api.map` gives the body that the model's own mapping makes of a history, in a millisecond and without HTTP: what the
property tests use. `Api.recorder` puts the same model class on an in-process transport that keeps the bytes of each
request and refuses it: what the tests on recorded traffic use, whole runs included. Nothing here opens a socket.
"""

from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar, cast

# boto3 ships no types.
import boto3  # type: ignore[import-untyped]
import httpx2
from anthropic import AsyncAnthropic
from botocore.awsrequest import AWSResponse  # type: ignore[import-untyped]  # as boto3
from openai import AsyncOpenAI
from pydantic_ai.messages import BaseToolCallPart, ModelMessage, ModelResponse, NativeToolCallPart, repair_messages
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.bedrock import BedrockConverseModel
from pydantic_ai.models.google import GoogleModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.bedrock import BedrockProvider
from pydantic_ai.providers.deepseek import DeepSeekProvider
from pydantic_ai.providers.google import GoogleProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from wire import anthropic, bedrock, google, openai_chat, openai_responses
from wire.reading import Body
from wire.refusal import Refusal

T = TypeVar("T")
Keep = Callable[[bytes], None]

SETTINGS = ModelSettings(max_tokens=4_096)
"""Pinned, because Anthropic and Bedrock clients stream a request that leaves it open."""

_REFUSED = {"error": {"message": "kept, not sent", "code": 400, "status": "INVALID_ARGUMENT"}}


@dataclass(frozen=True)
class Api:
    """One provider API: how its model class is built, how it maps a history, and who judges the body.

    What `judge` knows beside the body is what the validator of the API takes: a ledger, `bound=True` and so on.
    """

    name: str
    provider_name: str
    model_name: str
    build: Callable[[str, Keep], Model]
    assemble: Callable[[Any, list[ModelMessage], ModelRequestParameters], Body]
    check: Callable[..., tuple[Refusal, ...]]
    model_in_url: bool = False

    def judge(self, body: Body, model_name: str | None = None, **known: Any) -> tuple[Refusal, ...]:
        """Return what the provider answers to a body; `model_name` is this API's own if it is not given."""
        by_url = {"model": model_name or self.model_name} if self.model_in_url else {}
        return self.check(body, **by_url, **known)

    def recorder(self, keep: Keep, model_name: str | None = None) -> Model:
        """Return a model whose requests are given to `keep` as bytes and then refused with 400."""
        return self.build(model_name or self.model_name, keep)

    @cached_property
    def _model(self) -> Model:
        return self.build(self.model_name, lambda _body: None)

    def map(self, messages: Sequence[ModelMessage]) -> Body:
        """Return the body of a request with these messages, the host's own repair before and after included."""
        parameters = tools_of(messages)
        ready = repair_messages(messages, repair_last_response=True)
        prepared = self._model.prepare_messages(ready, parameters)
        return self.assemble(self._model, repair_messages(prepared, repair_last_response=True), parameters)

    def refusals(self, messages: Sequence[ModelMessage], **known: Any) -> tuple[Refusal, ...]:
        """Return what the provider would answer to a request with these messages; empty means accepted."""
        return self.judge(self.map(messages), **known)


def tools_of(messages: Sequence[ModelMessage]) -> ModelRequestParameters:
    """Declare every tool that is called in the messages, as the agent that made them did."""
    parts = [part for message in messages if isinstance(message, ModelResponse) for part in message.parts]
    calls = [part for part in parts if isinstance(part, BaseToolCallPart) and not isinstance(part, NativeToolCallPart)]
    names = dict.fromkeys(part.tool_name for part in calls)
    return ModelRequestParameters(function_tools=[ToolDefinition(name=name) for name in names])


def at_once(coroutine: Coroutine[Any, Any, T]) -> T:
    """Return the result of a coroutine that never waits, as the mappings of the models are."""
    try:
        coroutine.send(None)
    except StopIteration as done:
        return cast(T, done.value)
    coroutine.close()
    msg = "The mapping waited for something; it should have nothing to download"
    raise AssertionError(msg)


def _anthropic(model: Any, messages: list[ModelMessage], parameters: ModelRequestParameters) -> Body:
    system, mapped = at_once(model._map_message(messages, parameters, SETTINGS))  # noqa: SLF001  # see the module
    body = {"model": model.model_name, "system": system, "messages": mapped, **_tools("tools", parameters)}
    return body if not _thinks(messages) else {**body, "thinking": {"type": "enabled", "budget_tokens": 1_024}}


def _chat(model: Any, messages: list[ModelMessage], parameters: ModelRequestParameters) -> Body:
    mapped = at_once(model._map_messages(messages, parameters))  # noqa: SLF001  # see the module
    return {"model": model.model_name, "messages": mapped, **_tools("tools", parameters)}


def _responses(model: Any, messages: list[ModelMessage], parameters: ModelRequestParameters) -> Body:
    _, mapped = at_once(model._map_messages(messages, SETTINGS, parameters))  # noqa: SLF001  # see the module
    return {"model": model.model_name, "input": mapped, **_tools("tools", parameters)}


def _google(model: Any, messages: list[ModelMessage], parameters: ModelRequestParameters) -> Body:
    _, mapped = at_once(model._map_messages(messages, parameters))  # noqa: SLF001  # see the module
    return {"contents": mapped, **_tools("tools", parameters)}


def _bedrock(model: Any, messages: list[ModelMessage], parameters: ModelRequestParameters) -> Body:
    _, mapped = at_once(model._map_messages(messages, parameters, SETTINGS))  # noqa: SLF001  # see the module
    return {"messages": mapped, **({"toolConfig": {}} if parameters.function_tools else {})}


def _tools(key: str, parameters: ModelRequestParameters) -> dict[str, list[dict[str, str]]]:
    tools = [{"name": tool.name} for tool in parameters.function_tools]
    return {key: tools} if tools else {}


def _thinks(messages: Sequence[ModelMessage]) -> bool:
    return any(message.thinking for message in messages if isinstance(message, ModelResponse))


def _http(keep: Keep) -> httpx2.AsyncClient:
    def refuse(request: httpx2.Request) -> httpx2.Response:
        keep(request.content)
        return httpx2.Response(400, json=_REFUSED)

    return httpx2.AsyncClient(transport=httpx2.MockTransport(refuse), timeout=600)


def _openai(keep: Keep, base_url: str | None = None) -> AsyncOpenAI:
    return AsyncOpenAI(api_key="none", base_url=base_url, http_client=_http(keep), max_retries=0)


def _anthropic_model(name: str, keep: Keep) -> Model:
    client = AsyncAnthropic(api_key="none", http_client=_http(keep), max_retries=0)
    return AnthropicModel(name, provider=AnthropicProvider(anthropic_client=client))


def _chat_model(name: str, keep: Keep) -> Model:
    return OpenAIChatModel(name, provider=OpenAIProvider(openai_client=_openai(keep)))


def _deepseek_model(name: str, keep: Keep) -> Model:
    return OpenAIChatModel(name, provider=DeepSeekProvider(openai_client=_openai(keep, "https://api.deepseek.com")))


def _responses_model(name: str, keep: Keep) -> Model:
    return OpenAIResponsesModel(name, provider=OpenAIProvider(openai_client=_openai(keep)))


def _deepseek_responses_model(name: str, keep: Keep) -> Model:
    provider = DeepSeekProvider(openai_client=_openai(keep, "https://api.deepseek.com"))
    return OpenAIResponsesModel(name, provider=provider)


def _google_model(name: str, keep: Keep) -> Model:
    return GoogleModel(name, provider=GoogleProvider(api_key="none", http_client=_http(keep)))


def _bedrock_model(name: str, keep: Keep) -> Model:
    client = boto3.client(
        "bedrock-runtime", region_name="us-east-1", aws_access_key_id="none", aws_secret_access_key="none"
    )

    def refuse(request: Any, **_: object) -> AWSResponse:
        keep(bytes(request.body))
        return AWSResponse(request.url, 400, {"x-amzn-errortype": "ValidationException"}, _Empty())

    client.meta.events.register("before-send.bedrock-runtime", refuse)
    return BedrockConverseModel(name, provider=BedrockProvider(bedrock_client=client))


class _Empty:
    """The raw body of a refusal, as botocore reads it."""

    def stream(self, **_: object) -> Sequence[bytes]:
        return (b'{"message": "kept, not sent"}',)


_CLAUDE_ON_BEDROCK = "us.anthropic.claude-sonnet-4-20250514-v1:0"
_NOVA = "us.amazon.nova-2-lite-v1:0"

APIS: dict[str, Api] = {
    api.name: api
    for api in (
        Api("anthropic", "anthropic", "claude-sonnet-4-5", _anthropic_model, _anthropic, anthropic.check),
        Api("openai_chat", "openai", "gpt-4o", _chat_model, _chat, openai_chat.check),
        Api("openai_responses", "openai", "gpt-5", _responses_model, _responses, openai_responses.check),
        Api("google", "google", "gemini-3-flash-preview", _google_model, _google, google.check, model_in_url=True),
        Api("bedrock", "bedrock", _CLAUDE_ON_BEDROCK, _bedrock_model, _bedrock, bedrock.check, model_in_url=True),
        Api("bedrock_nova", "bedrock", _NOVA, _bedrock_model, _bedrock, bedrock.check, model_in_url=True),
        Api("deepseek", "deepseek", "deepseek-reasoner", _deepseek_model, _chat, openai_chat.check),
        Api(
            "deepseek_responses",
            "deepseek",
            "deepseek-v4-flash",
            _deepseek_responses_model,
            _responses,
            openai_responses.check,
        ),
    )
}
