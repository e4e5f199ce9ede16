"""Read where each piece of history came from, and change nothing.

Origins are known to the runs of one adapter, and are never part of a prompt. A run's `source_location` is a label of
the caller's choice.

Prints on stdout:

    request 1
      g1 [0:2] no tools
      g2 [2:3] no tools
    request 2
      g1 [0:2] no tools
      g2 [2:5] tool-call find_order call-7 of shop.py:desk
    request 1
      g1 [0:2] no tools
      g2 [2:6] tool-call find_order call-7 of shop.py:desk; tool-result find_order call-7 of shop.py:desk
      g3 [6:7] no tools
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import HistoryOrigin, HistoryProcessorContext
from kedi_pydantic_ai import PydanticAdapter


def told(origin: HistoryOrigin) -> str:
    """Tell which tool a piece came from, in which run's place; identifiers, no arguments and no results."""
    return f"{origin.kind} {origin.tool_name} {origin.tool_call_id} of {origin.source_location}"


def inspect_origins(ctx: HistoryProcessorContext[ModelMessage]) -> list[ModelMessage]:
    """Print the tools behind each group."""
    print(f"request {ctx.request_index}")
    for group in ctx.groups:
        tools = "; ".join(told(piece) for piece in group.origins if piece.tool_name)
        print(f"  {group.group_id} [{group.entry_start}:{group.entry_end}]", tools or "no tools")
    return list(ctx.messages)


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: look an order up when asked for it."""
    last = messages[-1].parts[-1]
    if isinstance(last, UserPromptPart) and "order" in str(last.content):
        return ModelResponse(parts=[ToolCallPart("find_order", {"number": 7}, tool_call_id="call-7")])
    return ModelResponse(parts=[TextPart("It ships tomorrow.")])


agent = Agent(
    FunctionModel(offline),  # for a real one: "openai:gpt-6-luna"
    capabilities=[PydanticAdapter(history_processor=inspect_origins)],
)


@agent.tool_plain
def find_order(number: int) -> str:
    """Find an order."""
    return f"order {number}: packed"


imported: list[ModelMessage] = [
    ModelRequest(parts=[UserPromptPart("Hello")]),
    ModelResponse(parts=[TextPart("Hello!")]),
]
first = agent.run_sync("Where is my order?", message_history=imported, metadata={"source_location": "shop.py:desk"})
agent.run_sync("Thank you.", message_history=first.all_messages(), metadata={"source_location": "shop.py:bye"})
