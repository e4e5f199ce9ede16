"""Run a compiled turn with Pydantic AI, and record it once the model has answered.

The agent gets the messages as its history and no prompt: the current instruction is the last of them. Tools and the
output type are the agent's own; nothing of them is stored. A model that fails leaves the branch as it was.

Prints on stdout:

    the model failed: 1 record
    the model read: ModelRequest, and no more
    answer: About two hours.
    the model answered: 3 records
"""

from pydantic_ai import Agent, ModelHTTPError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import TurnRequest, compile_chat_request
from kedi_compile.turn import AssistantResponse, Branch, Instruction
from kedi_pydantic_ai import to_model_messages


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model."""
    print(f"the model read: {', '.join(type(message).__name__ for message in messages)}, and no more")
    return ModelResponse(parts=[TextPart("About two hours.")])


def overloaded(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model that is overloaded."""
    raise ModelHTTPError(529, "offline")


branch = Branch("You know every path around the hut.")
compiled = compile_chat_request(branch, TurnRequest(Instruction.create("How long is the way to the lake?")))

agent = Agent(FunctionModel(offline))  # for a real one: Agent("anthropic:claude-sonnet-4-6")
try:
    agent.run_sync(message_history=to_model_messages(compiled), model=FunctionModel(overloaded))
except ModelHTTPError:
    print(f"the model failed: {len(branch.progression)} record")

result = agent.run_sync(message_history=to_model_messages(compiled))
branch.append(compiled.instruction, AssistantResponse.create(result.output))
print(f"answer: {result.output}")
print(f"the model answered: {len(branch.progression)} records")
