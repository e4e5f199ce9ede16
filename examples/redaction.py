"""Replace a turn that must not be sent again by a summary, as a whole, and refuse to change a part of it.

Prints:

    forget_cards
      request  The customer gave a card; it is on file.
      response Noted.
      request  Send the blue one.
      response It ships tomorrow.
      request  And the green one too.
    mask_cards
      refused: altered_entry, entries (0,)
"""

import re

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse, TextPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import HistoryGroup, HistoryProcessingValidationError, HistoryProcessorContext
from kedi_pydantic_ai import PydanticAdapter

CARD = re.compile(r"\b\d{4} \d{4} \d{4} \d{4}\b")
Context = HistoryProcessorContext[ModelMessage]


def forget_cards(ctx: Context) -> list[ModelMessage]:
    """Replace each group that shows a card number."""

    def shows_card(group: HistoryGroup) -> bool:
        return bool(CARD.search(str(ctx.messages[group.entry_start : group.entry_end])))

    found = [group for group in ctx.groups if group.eligible and shows_card(group)]
    if not found:
        return list(ctx.messages)
    return ctx.replace_groups(found, *ctx.summary_messages("The customer gave a card; it is on file."))


def mask_cards(ctx: Context) -> list[ModelMessage]:
    """Try what looks simpler: change the one message and keep the answer to it."""
    first = ctx.messages[0].parts[0]
    assert isinstance(first, UserPromptPart)
    first.content = CARD.sub("****", str(first.content))
    return list(ctx.messages)


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: show what came."""
    for message in messages:
        print(f"  {message.kind:8} {getattr(message.parts[0], 'content', '')}")
    return ModelResponse(parts=[TextPart("Done.")])


history: list[ModelMessage] = [
    ModelRequest(parts=[UserPromptPart("My card is 4000 1234 5678 9010.")]),
    ModelResponse(parts=[TextPart("Thank you, I have noted 4000 1234 5678 9010.")]),
    ModelRequest(parts=[UserPromptPart("Send the blue one.")]),
    ModelResponse(parts=[TextPart("It ships tomorrow.")]),
]

for processor in (forget_cards, mask_cards):
    print(processor.__name__)
    # For a real model: Agent("openai:gpt-6-luna", ...)
    agent = Agent(FunctionModel(offline), capabilities=[PydanticAdapter(history_processor=processor)])
    try:
        agent.run_sync("And the green one too.", message_history=history)
    except HistoryProcessingValidationError as error:
        print(f"  refused: {error.rule}, entries {error.violations[0].entries}")
