"""Write down every request of an agent, without its secrets, and ask why it was what it was."""

import re
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import HistoryProcessorContext
from kedi_pydantic_ai import PydanticAdapter

MOST = 2


def forget(ctx: HistoryProcessorContext[ModelMessage]) -> list[ModelMessage]:
    """Replace the first group by a summary once there are more than two."""
    if len(ctx.groups) <= MOST:
        return list(ctx.messages)
    return ctx.replace_groups(ctx.groups[:1], *ctx.summary_messages("BADGE-17 came in; api_key=12345678abcdefgh"))


def hide_badges(text: str) -> str:
    """Take a secret of your own out; those of known shapes are taken out anyway."""
    return re.sub(r"\bBADGE-\d+", "[redacted: badge]", text)


def offline(_messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model."""
    return ModelResponse(parts=[TextPart("Noted.")])


with TemporaryDirectory() as folder:
    dump = Path(folder) / "requests.jsonl"
    model = FunctionModel(offline)  # for a real one: model = "anthropic:claude-sonnet-4-6"
    agent = Agent(model, capabilities=[PydanticAdapter(forget, dump=dump, redact=hide_badges)])
    history: list[ModelMessage] = []
    for question in ("Let me in, BADGE-17.", "Is the lift working?", "And the stairs?"):
        history = agent.run_sync(question, message_history=history).all_messages()

    inspect = [sys.executable, "-m", "kedi_compile", "inspect", str(dump)]  # or: kedi-compile inspect requests.jsonl
    asked = subprocess.run([*inspect, "--request", "3"], capture_output=True, text=True, check=True)  # noqa: S603
    history_part = asked.stdout.partition("\nHistory\n")[2].partition("\nUsage ")[0]
    print("\n".join(line.rstrip() for line in history_part.splitlines()))
