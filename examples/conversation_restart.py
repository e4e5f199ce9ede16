"""A chat that survives a restart: each question is asked by a process of its own, over one SQLite file.

Prints on stdout:

    process 1: messages sent: 1, turns kept: 1
    process 2: messages sent: 3, turns kept: 2
    process 3: messages sent: 5, turns kept: 3
"""

import subprocess
import sys
import tempfile
from pathlib import Path

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import ConversationState, history_scope
from kedi_compile.conversation import SQLConversationStore
from kedi_pydantic_ai import PydanticAdapter


def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: say how many messages it was sent."""
    return ModelResponse(parts=[TextPart(f"messages sent: {len(messages)}")])


def chat(address: str, number: int) -> None:
    """Ask one question in the conversation "ferry", as a process that has just been started."""
    model = FunctionModel(offline)  # for a real one: model = "anthropic:claude-sonnet-4-6"
    agent = Agent(model, capabilities=[PydanticAdapter()])
    with SQLConversationStore(address) as store:
        state = ConversationState("ferry", store)
        with history_scope(enabled=True, state=state):
            answer = agent.run_sync(f"Question {number}").output
        print(f"process {number}: {answer}, turns kept: {state.turns}", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1 and sys.argv[1].startswith("sqlite"):
        chat(sys.argv[1], int(sys.argv[2]))
    else:
        with tempfile.TemporaryDirectory() as folder:
            address = f"sqlite:///{Path(folder) / 'chats.db'}"
            for number in (1, 2, 3):
                subprocess.run([sys.executable, __file__, address, str(number)], check=True)  # noqa: S603  # this file
