"""The emulator driven by the real clients: agents with tools in three dialects, JSON and stream."""

from collections.abc import AsyncIterator, Callable

import pytest
from pydantic_ai import Agent, ModelHTTPError
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, ThinkingPart, ToolCallPart
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

from emulator import Call, Native, ProviderEmulator, Thinking, answer
from wire.reading import Body, mappings_of

MakeModel = Callable[[ProviderEmulator], Model]


def anthropic_model(emulator: ProviderEmulator, name: str = "claude-sonnet-4-6") -> Model:
    """Return the host's Messages client of the emulator; it streams unasked if `max_tokens` is not set."""
    provider = AnthropicProvider(base_url=emulator.url, api_key="none")
    return AnthropicModel(name, provider=provider, settings={"max_tokens": 1024})


def chat_model(emulator: ProviderEmulator, name: str = "gpt-4o") -> Model:
    """Return the host's Chat client of the emulator."""
    return OpenAIChatModel(name, provider=OpenAIProvider(base_url=emulator.openai_url, api_key="none"))


def responses_model(emulator: ProviderEmulator, name: str = "gpt-5") -> Model:
    """Return the host's Responses client of the emulator."""
    return OpenAIResponsesModel(name, provider=OpenAIProvider(base_url=emulator.openai_url, api_key="none"))


DIALECTS = pytest.mark.parametrize(
    "make_model",
    [anthropic_model, chat_model, responses_model],
    ids=["anthropic", "openai_chat", "openai_responses"],
)
STREAMING = pytest.mark.parametrize("stream", [False, True], ids=["json", "stream"])


@pytest.fixture
def anyio_backend() -> str:
    """The clients run on asyncio."""
    return "asyncio"


@pytest.fixture
async def emulator() -> AsyncIterator[ProviderEmulator]:
    """An emulator without a script."""
    with ProviderEmulator() as served:
        yield served


def weather_agent(model: Model) -> Agent[None, str]:
    """Return an agent with two tools."""
    agent = Agent(model, instructions="Use the tools.")

    @agent.tool_plain
    def temperature(city: str) -> str:
        return f"{city}: 21 degrees"

    @agent.tool_plain
    def wind(city: str) -> str:
        return f"{city}: calm"

    return agent


async def ask(
    agent: Agent[None, str], prompt: str, *, stream: bool, history: list[ModelMessage] | None = None
) -> tuple[str, list[ModelMessage]]:
    """Run an agent once and return its output with all messages."""
    if not stream:
        result = await agent.run(prompt, message_history=history)
        return result.output, result.all_messages()
    async with agent.run_stream(prompt, message_history=history) as streamed:
        return await streamed.get_output(), streamed.all_messages()


@STREAMING
@DIALECTS
async def test_an_agent_runs_its_tools(emulator: ProviderEmulator, make_model: MakeModel, stream: bool) -> None:
    """A tool loop with parallel calls and thinking comes through as scripted."""
    emulator.script(
        answer(
            Thinking("Both are needed, so both are asked for."),
            Call("temperature", {"city": "Tōkyō"}),
            Call("wind", {"city": "Tōkyō"}),
        ),
        answer(Call("wind", {"city": "Kyoto"})),
        answer("Mild and calm in both cities."),
    )

    output, messages = await ask(weather_agent(make_model(emulator)), "How is the weather?", stream=stream)

    assert output == "Mild and calm in both cities."
    assert [len(message.parts) for message in messages] == [1, 3, 2, 1, 1, 1]
    assert [part.content for part in messages[1].parts if isinstance(part, ThinkingPart)] == [
        "Both are needed, so both are asked for."
    ]
    assert emulator.refusals == ()
    assert [bool(body.get("stream")) for body in emulator.requests] == [stream] * 3


@STREAMING
@DIALECTS
async def test_usage_grows_with_the_prompt(emulator: ProviderEmulator, make_model: MakeModel, stream: bool) -> None:
    """The reported tokens are measured over the whole request, unless the script says otherwise."""
    emulator.script(answer(Call("wind", {"city": "Kyoto" * 40})), answer("Calm.", output_tokens=7))

    _, messages = await ask(weather_agent(make_model(emulator)), "And the wind?", stream=stream)
    first, last = (message.usage for message in messages if message.kind == "response")

    assert last.input_tokens > first.input_tokens + 50
    assert last.output_tokens == 7


@STREAMING
@DIALECTS
async def test_a_second_run_continues_the_first(
    emulator: ProviderEmulator, make_model: MakeModel, stream: bool
) -> None:
    """The whole history goes back and is accepted."""
    emulator.script(answer(Thinking("Ask."), Call("wind", {"city": "Kyoto"})), "Calm.", "You're welcome.")
    agent = weather_agent(make_model(emulator))

    _, messages = await ask(agent, "How is the wind?", stream=stream)
    output, _ = await ask(agent, "Thank you.", stream=stream, history=messages)

    assert output == "You're welcome."
    assert emulator.refusals == ()


@DIALECTS
async def test_a_broken_request_is_refused_in_the_providers_words(
    emulator: ProviderEmulator, make_model: MakeModel
) -> None:
    """A call without its result ends in the client's own error for a 400."""
    emulator.script("Never said.")
    unanswered: list[ModelMessage] = [
        ModelRequest.user_text_prompt("How is the wind?"),
        ModelResponse([ToolCallPart("wind", {"city": "Kyoto"}, "call_1")]),
        ModelRequest.user_text_prompt("Well?"),
    ]

    with pytest.raises(ModelHTTPError) as caught:
        await model_request(make_model(emulator), unanswered)

    (refusal,) = emulator.refusals
    assert caught.value.status_code == 400
    assert refusal.message in str(caught.value.body)
    assert "call_1" in refusal.message


@DIALECTS
async def test_two_emulators_answer_alike(make_model: MakeModel) -> None:
    """Ids and times are counted, so two runs of one script are equal."""
    seen: list[tuple[Body, ...]] = []
    for _ in range(2):
        with ProviderEmulator(answer(Thinking("Ask."), Call("wind", {"city": "Kyoto"})), "Calm.") as emulator:
            await ask(weather_agent(make_model(emulator)), "How is the wind?", stream=False)
            seen.append(emulator.requests)

    assert seen[0] == seen[1]


async def test_a_script_step_may_read_the_request(emulator: ProviderEmulator) -> None:
    """An answer can depend on what was sent."""
    emulator.script(lambda body: answer(f"{len(mappings_of(body['messages']))} message"))

    output, _ = await ask(Agent(anthropic_model(emulator)), "Count.", stream=False)

    assert output == "1 message"


async def test_a_used_up_script_is_an_error_of_the_server(emulator: ProviderEmulator) -> None:
    """A request without an answer is not answered with an invention."""
    with pytest.raises(ModelHTTPError, match="request 1 has no answer"):
        await Agent(chat_model(emulator)).run("Hello")


async def test_a_default_answers_every_further_request() -> None:
    """With a default the script has no end."""
    with ProviderEmulator("First.", default="Again.") as emulator:
        agent = Agent(chat_model(emulator))

        said = [(await agent.run("Hello")).output for _ in range(3)]

    assert said == ["First.", "Again.", "Again."]


async def test_a_failing_step_is_an_error_of_the_server(emulator: ProviderEmulator) -> None:
    """What a step raises is told to the client instead of being lost in a thread."""
    emulator.script(lambda body: answer(str(body["missing"])))

    with pytest.raises(ModelHTTPError, match="KeyError"):
        await Agent(chat_model(emulator)).run("Hello")


async def test_a_deepseek_reasoner_gets_its_reasoning_back(emulator: ProviderEmulator) -> None:
    """The host returns `reasoning_content`, so the loop is accepted."""
    emulator.script(answer(Thinking("Ask."), Call("wind", {"city": "Kyoto"})), "Calm.")

    output, _ = await ask(weather_agent(chat_model(emulator, "deepseek-reasoner")), "Wind?", stream=False)

    assert output == "Calm."
    assert [m.get("reasoning_content") for m in mappings_of(emulator.requests[1]["messages"])][2] == "Ask."


@STREAMING
async def test_redacted_thinking_goes_back(emulator: ProviderEmulator, stream: bool) -> None:
    """Redacted thinking opens a loop like readable thinking."""
    emulator.script(answer(Thinking("Hidden.", redacted=True), Call("wind", {"city": "Kyoto"})), "Calm.")

    output, messages = await ask(weather_agent(anthropic_model(emulator)), "Wind?", stream=stream)

    assert output == "Calm."
    assert "Hidden." not in str(messages)
    assert "redacted_thinking" in str(emulator.requests[1])


async def test_a_suspended_answer_is_continued(emulator: ProviderEmulator) -> None:
    """An answer that pauses in a server tool goes back as the last message and is no prefill."""
    search = {"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {"query": "wind"}}
    found = {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_1", "content": []}
    emulator.script(answer(Native(search), Native(found), stop="pause"), "Calm.")

    output, _ = await ask(Agent(anthropic_model(emulator)), "Wind?", stream=False)

    assert output == "Calm."
    assert [m["role"] for m in mappings_of(emulator.requests[1]["messages"])] == ["user", "assistant"]
    assert emulator.refusals == ()
