"""What the servers remember: signatures, bound thinking, stored responses, conversations."""

from collections.abc import Iterator
from typing import Any

import anthropic
import openai
import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, ThinkingPart
from pydantic_ai.models.anthropic import AnthropicModel, AnthropicStaleThinkingBlockWarning
from pydantic_ai.models.openai import OpenAIResponsesModel, OpenAIResponsesModelSettings
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from emulator import Call, ProviderEmulator, Thinking, answer

HELLO = {"role": "user", "content": "Hello"}


@pytest.fixture
def anyio_backend() -> str:
    """The clients run on asyncio."""
    return "asyncio"


@pytest.fixture
def emulator() -> Iterator[ProviderEmulator]:
    """An emulator with an answer for everything."""
    with ProviderEmulator(default="Well.") as served:
        yield served


@pytest.fixture
def messages(emulator: ProviderEmulator) -> Iterator[anthropic.Anthropic]:
    """The vendor's Messages client."""
    with anthropic.Anthropic(base_url=emulator.url, api_key="none") as client:
        yield client


@pytest.fixture
def client(emulator: ProviderEmulator) -> Iterator[openai.OpenAI]:
    """The vendor's OpenAI client."""
    with openai.OpenAI(base_url=emulator.openai_url, api_key="none") as opened:
        yield opened


def send(client: anthropic.Anthropic, *sent: Any, model: str = "claude-opus-5-5", **settings: Any) -> Any:
    """Send one request and return the content as it goes back."""
    message = client.messages.create(model=model, max_tokens=99, messages=sent, **settings)
    return [block.model_dump(exclude_none=True) for block in message.content]


def test_an_altered_thought_is_refused(emulator: ProviderEmulator, messages: anthropic.Anthropic) -> None:
    """Text and signature belong together."""
    emulator.script(answer(Thinking("One."), "Yes."))
    said = send(messages, HELLO)
    altered = [{**said[0], "thinking": "Two."}, said[1]]

    with pytest.raises(anthropic.BadRequestError, match="Invalid `signature` in `thinking` block"):
        send(messages, HELLO, {"role": "assistant", "content": altered}, HELLO)

    assert send(messages, HELLO, {"role": "assistant", "content": said}, HELLO)


def test_an_edited_prefix_is_refused_or_drops_the_thought(
    emulator: ProviderEmulator, messages: anthropic.Anthropic
) -> None:
    """On a binding model the edit is an error, or costs the block when the request asks for that."""
    emulator.script(answer(Thinking("One."), "Yes."))
    turn = {"role": "assistant", "content": send(messages, HELLO)}
    edited = ({"role": "user", "content": "Goodbye"}, turn, HELLO)
    dropping = {"type": "adaptive", "block_binding": {"prefix_mismatch_behavior": "drop_block"}}
    beta = {"anthropic-beta": "thinking-binding-controls-2026-08-01"}

    with pytest.raises(anthropic.BadRequestError, match="The block is bound to a different conversation"):
        send(messages, *edited)
    dropped = messages.messages.create(
        model="claude-opus-5-5",
        max_tokens=99,
        messages=edited,  # type: ignore[arg-type]  # plain JSON, as `send` takes it
        extra_body={"thinking": dropping},
        extra_headers=beta,
    )

    assert (dropped.model_extra or {})["input_transformations"] == [
        {"type": "thinking_dropped", "path": "messages.1.content.0", "reason": "prefix_binding_mismatch"}
    ]
    assert emulator.received[-1].effective["messages"] == [
        {"role": "user", "content": "Goodbye"},
        {"role": "assistant", "content": [{"type": "text", "text": "Yes."}]},
        HELLO,
    ]


async def test_the_host_recovers_from_a_stale_thought(emulator: ProviderEmulator) -> None:
    """The host recognises the refusal and asks again without the block."""
    emulator.script(answer(Thinking("One."), "Yes."))
    provider = AnthropicProvider(base_url=emulator.url, api_key="none")
    agent = Agent(AnthropicModel("claude-opus-5-5", provider=provider))
    history = (await agent.run("Hello")).all_messages()

    with pytest.warns(AnthropicStaleThinkingBlockWarning):
        result = await agent.run("Thanks.", message_history=history, instructions="Be brief.")

    assert result.output == "Well."
    assert [refusal.rule for refusal in emulator.refusals] == ["thinking_fits_its_prefix"]


def test_older_models_do_not_see_earlier_thinking(emulator: ProviderEmulator, messages: anthropic.Anthropic) -> None:
    """Thinking of a finished turn counts on newer models only."""
    emulator.script(answer(Thinking("A long thought. " * 20), "Yes."))
    turn = {"role": "assistant", "content": send(messages, HELLO, model="claude-opus-4-6")}

    older = messages.messages.create(
        model="claude-haiku-4-5",
        max_tokens=99,
        messages=[HELLO, turn, HELLO],  # type: ignore[list-item]  # plain JSON
    )
    newer = messages.messages.create(
        model="claude-opus-4-6",
        max_tokens=99,
        messages=[HELLO, turn, HELLO],  # type: ignore[list-item]  # plain JSON
    )

    assert newer.usage.input_tokens > older.usage.input_tokens + 50


def test_token_counting_judges_and_counts(emulator: ProviderEmulator, messages: anthropic.Anthropic) -> None:
    """The counting endpoint reports what a request would, and refuses what a request would."""
    counted = messages.messages.count_tokens(model="claude-opus-5-5", messages=[HELLO])  # type: ignore[list-item]  # plain JSON
    billed = messages.messages.create(model="claude-opus-5-5", max_tokens=9, messages=[HELLO])  # type: ignore[list-item]  # plain JSON

    assert counted.input_tokens == billed.usage.input_tokens
    with pytest.raises(anthropic.BadRequestError, match="at least one message is required"):
        messages.messages.count_tokens(model="claude-opus-5-5", messages=[])
    assert len(emulator.requests) == 1


def test_a_stored_response_comes_back(emulator: ProviderEmulator, client: openai.OpenAI) -> None:
    """Text the client no longer sends is seen by the model through the stored response."""
    first = client.responses.create(model="gpt-5", input="The code is 1234.", instructions="Be brief.")
    second = client.responses.create(model="gpt-5", input="What is it?", previous_response_id=first.id)

    seen = emulator.received[-1].effective

    assert emulator.effective({"input": "Hello", "previous_response_id": second.id})["input"]
    assert "The code is 1234." in str(seen["input"])
    assert "instructions" not in seen
    assert first.usage is not None
    assert second.usage is not None
    assert second.usage.input_tokens > first.usage.input_tokens


def test_an_unstored_response_is_not_found(client: openai.OpenAI) -> None:
    """With `store: false` there is nothing to continue."""
    first = client.responses.create(model="gpt-5", input="Hello", store=False)

    with pytest.raises(openai.BadRequestError, match=f"Previous response with id '{first.id}' not found") as caught:
        client.responses.create(model="gpt-5", input="Hello", previous_response_id=first.id)

    assert caught.value.code == "previous_response_not_found"


def test_a_conversation_keeps_its_items(emulator: ProviderEmulator, client: openai.OpenAI) -> None:
    """A conversation holds input and output of every request in it until it is deleted."""
    conversation = client.conversations.create()
    client.responses.create(model="gpt-5", input="The code is 1234.", conversation=conversation.id)
    client.responses.create(model="gpt-5", input="What is it?", conversation={"id": conversation.id})

    seen = str(emulator.received[-1].effective["input"])
    held = emulator.responses.list_items(conversation.id) or {}
    client.conversations.delete(conversation.id)

    assert "The code is 1234." in seen
    assert len(str(held["data"])) > len(seen)
    with pytest.raises(openai.NotFoundError, match=f"Conversation with id '{conversation.id}' not found"):
        client.responses.create(model="gpt-5", input="Hello", conversation=conversation.id)


def test_an_inline_item_that_is_also_held_is_a_duplicate(client: openai.OpenAI) -> None:
    """History sent again beside the server's state is refused."""
    first = client.responses.create(model="gpt-5", input="Hello")
    again: Any = [item.model_dump(exclude_none=True) for item in first.output]

    with pytest.raises(openai.BadRequestError, match="Duplicate item found with id msg_0001"):
        client.responses.create(model="gpt-5", input=again, previous_response_id=first.id)


def test_a_reference_is_resolved(emulator: ProviderEmulator, client: openai.OpenAI) -> None:
    """An item reference stands for the stored item; an unknown one is not found."""
    first = client.responses.create(model="gpt-5", input="Hello")
    known: Any = [HELLO, {"type": "item_reference", "id": first.output[0].id}, HELLO]
    unknown: Any = [HELLO, {"type": "item_reference", "id": "msg_9"}, HELLO]

    client.responses.create(model="gpt-5", input=known)

    assert "Well." in str(emulator.received[-1].effective["input"])
    with pytest.raises(openai.NotFoundError, match="Item with id 'msg_9' not found"):
        client.responses.create(model="gpt-5", input=unknown)


async def test_the_host_chains_responses(emulator: ProviderEmulator) -> None:
    """The host's automatic chaining sends only what is new and is accepted."""
    emulator.script(answer(Thinking("Ask."), Call("wind", {})), "Calm.")
    provider = OpenAIProvider(base_url=emulator.openai_url, api_key="none")
    settings = OpenAIResponsesModelSettings(openai_previous_response_id="auto")
    agent = Agent(OpenAIResponsesModel("gpt-5", provider=provider), model_settings=settings)
    agent.tool_plain(wind)

    first = await agent.run("How is the wind?")
    await agent.run("Thanks.", message_history=first.all_messages())

    chained = [body.get("previous_response_id") for body in emulator.requests]
    assert emulator.refusals == ()
    assert chained[-1] == "resp_0002"


async def test_lost_reasoning_is_refused(emulator: ProviderEmulator) -> None:
    """A call that was made with reasoning does not come back without it."""
    emulator.script(answer(Thinking("Ask."), Call("wind", {})), "Calm.")
    provider = OpenAIProvider(base_url=emulator.openai_url, api_key="none")
    agent = Agent(OpenAIResponsesModel("gpt-5", provider=provider))
    agent.tool_plain(wind)
    history = (await agent.run("How is the wind?")).all_messages()

    with pytest.raises(Exception, match="without its required 'reasoning' item: 'rs_0001'"):
        await agent.run("Thanks.", message_history=[_without_thinking(message) for message in history])


def wind() -> str:
    """Say how the wind is."""
    return "calm"


def _without_thinking(message: ModelMessage) -> ModelMessage:
    if not isinstance(message, ModelResponse):
        return message
    kept = [part for part in message.parts if not isinstance(part, ThinkingPart)]
    return ModelResponse(kept, model_name=message.model_name, provider_name=message.provider_name)
