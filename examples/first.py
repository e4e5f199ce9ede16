"""Keep a long conversation short, in whole groups."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_pydantic_ai import PydanticAdapter


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: say how many messages it was sent."""
    return ModelResponse(parts=[TextPart(f"messages sent: {len(messages)}")])


model = FunctionModel(offline)  # for a real one: model = "anthropic:claude-sonnet-4-6"
agent = Agent(
    model,
    capabilities=[PydanticAdapter(history_processor=lambda ctx: ctx.keep_recent_groups(2, over=4))],
)

history: list[ModelMessage] = []
for number in range(1, 9):
    result = agent.run_sync(f"Question {number}", message_history=history)
    history = result.all_messages()
    print(f"question {number}: {result.output}")
