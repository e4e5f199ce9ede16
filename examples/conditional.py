"""Trim only when the history has grown large: the condition is asked before every request.

Prints on stdout:

    question 1: messages sent: 1
    question 2: messages sent: 3
    question 3: messages sent: 5
    question 4: messages sent: 7
    question 5: messages sent: 3
    question 6: messages sent: 5
    question 7: messages sent: 7
    question 8: messages sent: 3
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import HistoryProcessorState
from kedi_pydantic_ai import PydanticAdapter

LIMIT = 2_000


def is_large(state: HistoryProcessorState) -> bool:
    """Tell whether to trim; runs on the event loop, so it only compares."""
    return state.estimated_tokens >= LIMIT


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: say something long, some 500 tokens by the estimate."""
    return ModelResponse(parts=[TextPart(f"messages sent: {len(messages)}." + " And so on." * 140)])


agent = Agent(
    FunctionModel(offline),  # for a real one: "openai:gpt-6-luna"
    capabilities=[
        PydanticAdapter(
            history_processor=lambda ctx: ctx.keep_recent_groups(1),
            history_processor_condition=is_large,
        )
    ],
)

history: list[ModelMessage] = []
for number in range(1, 9):
    result = agent.run_sync(f"Question {number}", message_history=history)
    history = result.all_messages()
    print(f"question {number}: {result.output.partition('.')[0]}")
