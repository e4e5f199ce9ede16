"""Ask what history processing sees in a history that was saved, without running an agent or a model.

The same at a shell: `kedi-compile explain history.json --keep 1`. It reads what Pydantic AI's
`result.all_messages_json()` writes, and LangChain's messages as `messages_to_dict` makes them.

Prints on stdout:

    pydantic-ai: 10 entries, 5 groups, 199 estimated tokens, 0 open tool calls
    The history ends without a next request, so entry 10, a placeholder for the next
    user message, was added. It is not in the file. Without it the last group would
    count as the current request.

    groups ─────────────────────────────────────────────────────────────────────────
    #  id  entries  begins with             tokens  closed  protected by     edit
    ────────────────────────────────────────────────────────────────────────────────
    0  g1    [0:2)  Good morning.               25  yes     eligible         dropped
    1  g2    [2:6)  How many beds are fre…     103  yes     eligible         dropped
    2  g3    [6:8)  Two of us come on Fri…      29  yes     eligible         dropped
    3  g4   [8:10)  And one on Sunday.          26  yes     eligible         kept
    4  g5  [10:11)  (the next user messag…      16  no      current_request  kept

    what ctx.keep_recent_groups(1) would do before the next request ────────────────
    dropped 3 groups, eligible, not one of the last 1: g1, g2, g3
    kept 1 group, eligible, one of the last 1: g4
    kept 1 group, protected by current_request: g5
    entries 11 to 3, estimated tokens 199 to 42; the first changed entry is 0
    No bound reasoning stands behind the change.
    The rules accept the edit.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: look beds up if it is asked for beds."""
    asked = str(getattr(messages[-1].parts[0], "content", ""))
    return ModelResponse(parts=[ToolCallPart("beds", {}) if "beds" in asked else TextPart("It is noted.")])


agent = Agent(FunctionModel(offline))  # for a real one: "anthropic:claude-sonnet-4-6"


@agent.tool_plain
def beds() -> str:
    """Count the free ones."""
    return "four are free"


history: list[ModelMessage] = []
for question in ("Good morning.", "How many beds are free?", "Two of us come on Friday."):
    history = agent.run_sync(question, message_history=history).all_messages()

with TemporaryDirectory() as folder:
    saved = Path(folder) / "history.json"
    saved.write_bytes(agent.run_sync("And one on Sunday.", message_history=history).all_messages_json())
    explain = [sys.executable, "-m", "kedi_compile", "explain", str(saved), "--keep", "1"]
    shown = subprocess.run(explain, capture_output=True, text=True, check=True).stdout  # noqa: S603
    print("\n".join(line.rstrip() for line in shown.splitlines()))
