"""Keep or free closed groups with signed reasoning: `reasoning_protection="always"` against `"open_cycle"`.

Prints on stdout:

    always
      g1 signed_reasoning
      g2 signed_reasoning
      g3 signed_reasoning
      g4 current_request
      HistoryProtectedWarning: The history processor could free nothing
      messages sent: 7
    open_cycle
      g1 eligible
      g2 eligible
      g3 eligible
      g4 current_request
      messages sent: 3
"""

import warnings
from typing import Literal

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ThinkingPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import HistoryProcessorContext, HistoryProtectedWarning
from kedi_pydantic_ai import PydanticAdapter


def keep_one(ctx: HistoryProcessorContext[ModelMessage]) -> list[ModelMessage]:
    """Keep the last eligible group, and say what stands in the way of dropping the others."""
    for group in ctx.groups:
        print(f"  {group.group_id}", ", ".join(sorted(group.protected_reasons)) or "eligible")
    return ctx.keep_recent_groups(1)


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: say how many messages it was sent."""
    return ModelResponse(parts=[TextPart(f"messages sent: {len(messages)}")])


def reasoned(number: int) -> list[ModelMessage]:
    """Build a group as a reasoning model leaves it: the signature is what a provider wants back."""
    thought = ThinkingPart("Let me see.", signature=f"signature-{number}", provider_name="anthropic")
    return [
        ModelRequest(parts=[UserPromptPart(f"Question {number}")]),
        ModelResponse(parts=[thought, TextPart(f"Answer {number}")]),
    ]


def run(protection: Literal["always", "open_cycle"]) -> None:
    """Ask the same question under one kind of protection."""
    print(protection)
    adapter = PydanticAdapter(history_processor=keep_one, reasoning_protection=protection)
    agent = Agent(FunctionModel(offline), capabilities=[adapter])  # for a real one: "anthropic:claude-sonnet-4-6"
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", HistoryProtectedWarning)
        result = agent.run_sync("Question 4", message_history=[*reasoned(1), *reasoned(2), *reasoned(3)])
    for warning in caught:
        print(f"  {warning.category.__name__}: {str(warning.message).partition(':')[0]}")
    print(f"  {result.output}")


run("always")
run("open_cycle")
