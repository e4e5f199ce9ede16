"""Hand a conversation to another agent, with the tokens its provider has measured.

The first agent's turn ends with a call of a tool that somebody else runs. Its checkpoint travels as text; who receives
it restores the conversation, answers the call and goes on. The measured tokens count there too, because the history is
exactly the one they were measured on; what was changed on the way is refused.

Prints on stdout:

    measured tokens: None
    handed over: 1 turn, waiting for the weather in Oslo
    measured tokens: 157
    answer: It is 4 degrees in Oslo.
    changed on the way: ConversationError
"""

from pydantic_ai import Agent, CallDeferred, DeferredToolRequests, DeferredToolResults
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.usage import RequestUsage

from kedi_compile import (
    ConversationCheckpoint,
    ConversationError,
    ConversationState,
    HistoryProcessorState,
    history_scope,
)
from kedi_pydantic_ai import PydanticAdapter


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: ask for the weather, then tell it."""
    if isinstance(result := messages[-1].parts[-1], ToolReturnPart):
        return ModelResponse(parts=[TextPart(f"It is {result.content} in Oslo.")])
    usage = RequestUsage(input_tokens=100, output_tokens=20)
    return ModelResponse(parts=[ToolCallPart("weather", {"city": "Oslo"}, tool_call_id="c1")], usage=usage)


def weather(city: str) -> str:
    """Leave the call to whoever can make it."""
    raise CallDeferred(metadata={"city": city})


def is_long(state: HistoryProcessorState) -> bool:
    """Show what is known of the history's size, and edit nothing."""
    print("measured tokens:", state.measured_tokens)
    return False


model = FunctionModel(offline)  # for a real one: model = "anthropic:claude-sonnet-4-6"


def new_agent() -> Agent[None, str | DeferredToolRequests]:
    """Make an agent as either side would: the same model and tools, so the same lane."""
    adapter = PydanticAdapter(lambda ctx: ctx.keep_recent_groups(10), is_long)
    return Agent(model, output_type=[str, DeferredToolRequests], tools=[weather], capabilities=[adapter])


ours = ConversationState()
with history_scope(enabled=True, state=ours):
    asked = new_agent().run_sync("How cold is it in Oslo?").output
assert isinstance(asked, DeferredToolRequests)
text = ours.checkpoint().to_json()
print(f"handed over: {ours.turns} turn, waiting for the weather in {asked.metadata['c1']['city']}")

theirs = ConversationState.restore(ConversationCheckpoint.from_json(text))
with history_scope(enabled=True, state=theirs):
    results = DeferredToolResults(calls={"c1": "4 degrees"})
    print("answer:", new_agent().run_sync(deferred_tool_results=results).output)

try:
    ConversationCheckpoint.from_json(text.replace("Oslo", "Rome"))
except ConversationError as error:
    print("changed on the way:", type(error).__name__)
