"""Summarize old groups with a second model: an async processor, and an agent of its own without the adapter.

The processor may not call back into the adapter that it belongs to; an agent without a processor is fine.

Prints on stdout:

    boots
      ['boots']
    ropes
      ['boots', 'ropes']
    maps
      ['boots', 'ropes', 'maps']
    huts
      ['boots', 'ropes', 'maps', 'huts']
    weather
      ['boots; ropes; maps', 'huts', 'weather']
    food
      ['boots; ropes; maps', 'huts', 'weather', 'food']
    trains
      ['boots; ropes; maps; huts; weather', 'food', 'trains']
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import HistoryProcessorContext
from kedi_pydantic_ai import PydanticAdapter

MOST = 3


def questions(messages: list[ModelMessage]) -> list[str]:
    """Return what the user asked."""
    return [str(part.content) for message in messages for part in message.parts if isinstance(part, UserPromptPart)]


def offline_summary(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a small model: say what was talked about."""
    *asked, _ = questions(messages)
    return ModelResponse(parts=[TextPart("; ".join(asked))])


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for the agent's model: show the user's side of what came."""
    print(f"  {questions(messages)}")
    return ModelResponse(parts=[TextPart("Noted.")])


small = Agent(FunctionModel(offline_summary))  # for a real one: "openai:gpt-6-luna"


async def summarize(ctx: HistoryProcessorContext[ModelMessage]) -> list[ModelMessage]:
    """Replace all but the last eligible group by a summary once there are more than `MOST`; a summary is one too."""
    eligible = [group for group in ctx.groups if group.eligible]
    if len(eligible) <= MOST:
        return list(ctx.messages)
    old = eligible[:-1]
    said = [message for group in old for message in ctx.messages[group.entry_start : group.entry_end]]
    summary = await small.run("Say in a line what we talked about.", message_history=said)
    return ctx.replace_groups(old, *ctx.summary_messages(summary.output))


agent = Agent(
    FunctionModel(offline),  # for a real one: "anthropic:claude-sonnet-4-6"
    capabilities=[PydanticAdapter(history_processor=summarize)],
)

history: list[ModelMessage] = []
for question in ("boots", "ropes", "maps", "huts", "weather", "food", "trains"):
    print(question)
    history = agent.run_sync(question, message_history=history).all_messages()
