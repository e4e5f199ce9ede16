"""Continue a conversation from call to call, and from a checkpoint."""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import ConversationCheckpoint, ConversationState, history_scope
from kedi_pydantic_ai import PydanticAdapter


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: say how many messages it was sent."""
    return ModelResponse(parts=[TextPart(f"messages sent: {len(messages)}")])


model = FunctionModel(offline)  # for a real one: model = "anthropic:claude-sonnet-4-6"
agent = Agent(model, capabilities=[PydanticAdapter()])

state = ConversationState()
with history_scope(enabled=True, state=state, processor=lambda ctx: ctx.keep_recent_groups(1)):
    print("first:", agent.run_sync("Remember project Ferry.").output)
    print("second:", agent.run_sync("A tagline for it?").output)
    with history_scope(enabled=False):
        print("unrelated:", agent.run_sync("What is a ferry?").output)
    with history_scope(processor=None):
        print("all of it:", agent.run_sync("Another one?").output)

text = state.checkpoint().to_json()
later = ConversationState.restore(ConversationCheckpoint.from_json(text))
with history_scope(enabled=True, state=later):
    print("restored:", agent.run_sync("Which was the first?").output)
print(state.turns, "turns before,", later.turns, "after")
