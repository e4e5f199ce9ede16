"""The story that the cassettes of the Pydantic AI adapter tell, in lanes: one for each API and way of answering.

A skipper tells a harbour office a secret, compares two tides in one parallel batch of calls, and then asks for a berth,
a loop of three requests. Prompts and tool results are written here, so a test can say literally what a provider gets;
the steps are what the emulator answers when a cassette is recorded from it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Final

import pytest
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.anthropic import AnthropicModelSettings
from pydantic_ai.models.openai import OpenAIResponsesModelSettings
from pydantic_ai.settings import ModelSettings

from agents import Context, Finished, run_async
from emulator import Call, Step, Thinking, answer
from kedi_pydantic_ai import PydanticAdapter
from recording import Lane, Provider, Recall

CASSETTES: Final = Path(__file__).parents[2] / "cassettes" / "pydantic_ai"
LANES: Final = tuple(
    Lane(dialect, streams) for dialect in ("anthropic", "chat", "responses") for streams in (False, True)
)
REASONING: Final = tuple(lane for lane in LANES if lane.dialect != "chat")
SERVER_HELD: Final = tuple(lane for lane in LANES if lane.dialect == "responses")
(ANTHROPIC_JSON,) = (lane for lane in LANES if str(lane) == "anthropic-json")

SECRET: Final = "The code word of my boat is saffron. Answer only with: Noted."
COMPARE: Final = (
    "Call the tool tide for Dover and for Calais, both at once. Then say in one sentence where it is higher."
)
MOOR: Final = (
    "Call the tool tide for Ostend. When you have its result, call the tool berths for Ostend. "
    "Then say in one sentence whether I can moor there."
)
ASK: Final = "Which code word did I tell you? Answer with that word only, or with: Unknown."

NOTED: Final[Sequence[Step]] = ("Noted.",)
COMPARED: Final[Sequence[Step]] = (
    answer(Call("tide", {"port": "Dover"}), Call("tide", {"port": "Calais"})),
    "It is higher at Calais.",
)
MOORED: Final[Sequence[Step]] = (
    answer(Call("tide", {"port": "Ostend"})),
    answer(Call("berths", {"port": "Ostend"})),
    "You can moor at Ostend: two berths are free, and the tide is high enough.",
)

SECRET_LINES: Final = [f"user {SECRET}"]
COMPARE_LINES: Final = [
    f"user {COMPARE}",
    "call tide Dover",
    "call tide Calais",
    "result Dover: 5.1 m",
    "result Calais: 6.2 m",
]
MOOR_LINES: Final = [
    f"user {MOOR}",
    "call tide Ostend",
    "result Ostend: 4.4 m",
    "call berths Ostend",
    "result Ostend: 2 free",
]
THOUGHT_LINES: Final = [COMPARE_LINES[0], "reasoning", *COMPARE_LINES[1:]]
RUNNING_LINES: Final = [MOOR_LINES[0], "reasoning", *MOOR_LINES[1:]]
SUMMARY_LINE: Final = "user The skipper gave a code word."


def replayed(story: str, *lanes: Lane, again: bool = False) -> Callable[[Any], Any]:
    """Replay the cassette of a story in each lane; `again` reads what another test has recorded."""

    def mark(test: Any) -> Any:
        kwargs = {"record_mode": "none"} if again else {}
        for one in (pytest.mark.vcr(**kwargs), pytest.mark.default_cassette(story)):
            test = one(test)
        return pytest.mark.parametrize("provider", lanes, indirect=True, ids=str)(test)

    return mark


class Harbour:
    """The host's agent of the harbour office over one provider: `history` grows by each question that is asked."""

    def __init__(self, provider: Provider) -> None:
        self._provider = provider
        self.history: list[ModelMessage] = []

    async def ask(
        self,
        prompt: str,
        steps: Sequence[Step | Recall],
        *capabilities: PydanticAdapter[Any],
        model: Model | None = None,
        settings: ModelSettings | None = None,
    ) -> Finished:
        """Ask, with what a recording emulator answers, and carry the messages on."""
        self._provider.script(*steps)
        agent = Agent(
            model or self._provider.model(), model_settings=ModelSettings(max_tokens=2048), capabilities=capabilities
        )
        agent.tool_plain(tide)
        agent.tool_plain(berths)
        finished = await run_async(
            self._provider.lane.entry, agent, prompt, message_history=self.history, model_settings=settings
        )
        self.history = finished.all_messages
        return finished

    async def talk(self) -> None:
        """Tell the secret, then compare two tides: three requests by the host alone."""
        await self.ask(SECRET, NOTED)
        await self.ask(COMPARE, COMPARED)


def tide(port: str) -> str:
    """Tell the height of the next high tide."""
    heights = {"Dover": "5.1 m", "Calais": "6.2 m", "Ostend": "4.4 m"}
    return f"{port}: {heights[port]}"


def berths(port: str) -> str:
    """Count the free berths."""
    return f"{port}: 2 free"


def redact(ctx: Context) -> list[ModelMessage]:
    """Put a summary in the place of the turn that holds the code word, once."""
    secret = [group for group in ctx.groups if "saffron" in repr(ctx.messages[group.entry_start : group.entry_end])]
    if not secret:
        return list(ctx.messages)
    return ctx.replace_groups(secret, *ctx.summary_messages("The skipper gave a code word."))


def thinking(lane: Lane) -> ModelSettings:
    """Return the settings by which a lane's model reasons."""
    if lane.dialect == "anthropic":
        return AnthropicModelSettings(anthropic_thinking={"type": "enabled", "budget_tokens": 1024})
    return OpenAIResponsesModelSettings(openai_reasoning_effort="low", openai_reasoning_summary="auto")


def thoughtful(provider: Provider) -> dict[str, Any]:
    """Return a model that reasons, with its settings."""
    name = "gpt-5-mini" if provider.lane.dialect == "responses" else None
    return {"model": provider.model(name), "settings": thinking(provider.lane)}


def thought_over(steps: Sequence[Step]) -> list[Step]:
    """Return the steps with signed reasoning before the first one's calls."""
    first = steps[0]
    assert not isinstance(first, str)
    assert not callable(first)
    return [answer(Thinking("Both ports, so two calls."), *first.parts), *steps[1:]]


def signatures(body: dict[str, Any]) -> list[str]:
    """Return the signatures and the encrypted reasoning of a body."""
    if "input" in body:
        return [item["encrypted_content"] for item in body["input"] if item.get("type") == "reasoning"]
    contents = [message["content"] for message in body["messages"] if not isinstance(message["content"], str)]
    return [block["signature"] for content in contents for block in content if block["type"] == "thinking"]


def held_by(id_: str) -> OpenAIResponsesModelSettings:
    """Return settings that continue a stored response or a conversation."""
    if id_.startswith("conv"):
        return OpenAIResponsesModelSettings(openai_conversation_id=id_)
    return OpenAIResponsesModelSettings(openai_previous_response_id=id_)


def response_id(finished: Finished) -> str:
    """Return the provider's id of the last response."""
    last = finished.all_messages[-1]
    assert last.kind == "response"
    assert last.provider_response_id is not None
    return last.provider_response_id
