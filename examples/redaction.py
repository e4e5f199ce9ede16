"""Replace a group that must not be sent again by a summary, as a whole, and refuse to change a part of it.

The request in which the number is first said is sent: the current group stays as it is. A protected group cannot be
replaced either, so its request is refused. To pick only `eligible` groups would send it, number and all.

Prints on stdout:

    forget_cards
      request  The customer gave a card; it is on file.
      response Noted.
      request  Send the blue one.
      response It ships tomorrow.
      request  And the green one too.
    forget_cards, where the group is protected
      refused: system_altered, entries (0,)
    mask_cards
      refused: altered_entry, entries (0,)
"""

import re

from pydantic_ai import Agent
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    UserPromptPart,
)
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import (
    HistoryProcessingValidationError,
    HistoryProcessorCallback,
    HistoryProcessorContext,
)
from kedi_pydantic_ai import PydanticAdapter

CARD = re.compile(r"\b\d{4} \d{4} \d{4} \d{4}\b")
Context = HistoryProcessorContext[ModelMessage]


def forget_cards(ctx: Context) -> list[ModelMessage]:
    """Replace each group before the current one that shows a card number; what may not be replaced is refused."""
    earlier = ctx.groups[:-1]
    found = [group for group in earlier if CARD.search(str(ctx.messages[group.entry_start : group.entry_end]))]
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


def ask(processor: HistoryProcessorCallback[ModelMessage], history: list[ModelMessage]) -> None:
    """Ask for the green one, and say so if that was refused."""
    agent = Agent(
        FunctionModel(offline),  # for a real one: "openai:gpt-6-luna"
        capabilities=[PydanticAdapter(history_processor=processor)],
    )
    try:
        agent.run_sync("And the green one too.", message_history=history)
    except HistoryProcessingValidationError as error:
        print(f"  refused: {error.rule}, entries {error.violations[0].entries}")


gave = UserPromptPart("My card is 4000 1234 5678 9010.")
later: list[ModelMessage] = [
    ModelResponse(parts=[TextPart("Thank you, I have noted 4000 1234 5678 9010.")]),
    ModelRequest(parts=[UserPromptPart("Send the blue one.")]),
    ModelResponse(parts=[TextPart("It ships tomorrow.")]),
]

print("forget_cards")
ask(forget_cards, [ModelRequest(parts=[gave]), *later])
print("forget_cards, where the group is protected")  # as the first group of an agent with `system_prompt=` is
ask(forget_cards, [ModelRequest(parts=[SystemPromptPart("You sell tents."), gave]), *later])
print("mask_cards")
ask(mask_cards, [ModelRequest(parts=[gave]), *later])
