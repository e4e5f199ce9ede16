"""Archive the old tool exchanges of a long loop, and let the model read them back.

The history of each request stays short: once it is above the threshold, completed exchanges are stored as they are, and
one short text takes their place. What the model needs of them it reads with the tool `read_archive`.

Prints on stdout:

    1 message
    3 messages
    5 messages
    3 messages; Archived 2 completed tool exchanges (4 messages) of this task, unchanged.
    The second valve, by log 1.
"""

import re

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart, UserPromptPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import HistoryArchiveSettings
from kedi_pydantic_ai import PydanticAdapter


def prompt(messages: list[ModelMessage]) -> str:
    """Return the user's side of the conversation as text, a checkpoint included."""
    parts = [part for message in messages for part in message.parts if isinstance(part, UserPromptPart)]
    pieces = [piece for part in parts for piece in ([part.content] if isinstance(part.content, str) else part.content)]
    return " ".join(str(getattr(piece, "content", piece)) for piece in pieces)


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: fetch three logs, read the archived ones back, answer."""
    results = [part for message in messages for part in message.parts if isinstance(part, ToolReturnPart)]
    if results and results[-1].tool_name == "read_archive":
        found = re.search(r"log (\d).{0,40}?the (\w+ valve) broke", str(results[-1].content))
        assert found is not None
        return ModelResponse(parts=[TextPart(f"The {found[2]}, by log {found[1]}.")])
    told = re.search(r"(Archived .*?\.).*reference='(.*?)'", prompt(messages))
    print(f"{len(messages)} message{'s' * (len(messages) > 1)}{'; ' + told[1] if told else ''}")
    if told is not None:
        return ModelResponse(parts=[ToolCallPart("read_archive", {"reference": told[2]})])
    return ModelResponse(parts=[ToolCallPart("fetch_log", {"number": len(results) + 1})])


def fetch_log(number: int) -> str:
    """Fetch a log."""
    what = "the second valve broke" if number == 1 else "nothing happened"
    return f"log {number}: {what}. " + "All gauges are steady. " * 100


agent = Agent(
    FunctionModel(offline),  # for a real one: "anthropic:claude-sonnet-4-6"
    tools=[fetch_log],
    capabilities=[
        PydanticAdapter(
            history_archive=HistoryArchiveSettings(
                threshold_tokens=2_500, preserve_recent_tokens=500, minimum_reduction_tokens=1_000
            )
        )
    ],
)
print(agent.run_sync("Which valve broke?").output)
