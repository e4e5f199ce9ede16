"""Test a processor with no provider: run it in an agent over `FunctionModel`, and look at what that was sent.

Contexts are made by the adapter alone. What such a test sees has passed the rules too, as in earnest.

Prints on stdout:

    ['Question 2', 'Answer 2', 'Question 3']
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import HistoryProcessorCallback, HistoryProcessorContext
from kedi_pydantic_ai import PydanticAdapter


def keep_one(ctx: HistoryProcessorContext[ModelMessage]) -> list[ModelMessage]:
    """Keep the last eligible group: the function under test."""
    return ctx.keep_recent_groups(1)


def sent_with(processor: HistoryProcessorCallback[ModelMessage], history: list[ModelMessage]) -> list[str]:
    """Ask one more question, and return the texts that the model was sent."""
    sent: list[ModelMessage] = []

    def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
        sent.extend(messages)
        return ModelResponse(parts=[TextPart("Answer 3")])

    agent = Agent(FunctionModel(offline), capabilities=[PydanticAdapter(history_processor=processor)])
    agent.run_sync("Question 3", message_history=history)
    return [str(getattr(part, "content", "")) for message in sent for part in message.parts]


def test_the_last_group_is_kept() -> None:
    """Of two closed groups the second one is sent, and the question."""
    history: list[ModelMessage] = [
        ModelRequest(parts=[UserPromptPart("Question 1")]),
        ModelResponse(parts=[TextPart("Answer 1")]),
        ModelRequest(parts=[UserPromptPart("Question 2")]),
        ModelResponse(parts=[TextPart("Answer 2")]),
    ]

    sent = sent_with(keep_one, history)

    print(sent)
    assert sent == ["Question 2", "Answer 2", "Question 3"]


test_the_last_group_is_kept()  # or let pytest find it
