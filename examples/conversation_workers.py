"""Two workers on one conversation: who commits second is told, and asks again over what the first has left.

Set DATABASE_URL to run it on PostgreSQL, as several machines would: postgresql://user:password@host/name. Without it
an SQLite file is used, which several processes of one machine may share.

Prints on stdout:

    worker B: messages sent: 1
    worker A: somebody was faster, once more
    worker A: messages sent: 3
    the conversation: Question of B, messages sent: 1, Question of A, messages sent: 3
"""

import asyncio
import os
import tempfile
from pathlib import Path
from uuid import uuid4

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import ConversationConflict, ConversationState, history_scope
from kedi_compile.conversation import SQLConversationStore
from kedi_pydantic_ai import PydanticAdapter

asked, answered = asyncio.Event(), asyncio.Event()


async def offline(messages: list[ModelMessage], _info: AgentInfo) -> ModelResponse:
    """Stand in for a model: say how many messages it was sent; A's answer takes as long as the whole turn of B."""
    if "A" in str(messages[-1].parts[-1].content) and not answered.is_set():  # type: ignore[union-attr]  # a prompt
        asked.set()
        await answered.wait()
    return ModelResponse(parts=[TextPart(f"messages sent: {len(messages)}")])


model = FunctionModel(offline)  # for a real one: model = "anthropic:claude-sonnet-4-6"
agent = Agent(model, capabilities=[PydanticAdapter()])


async def work(name: str, state: ConversationState) -> None:
    """Make one turn, again if another worker was faster."""
    while True:
        try:
            with history_scope(enabled=True, state=state):
                result = await agent.run(f"Question of {name}")
        except ConversationConflict:
            print(f"worker {name}: somebody was faster, once more")
        else:
            print(f"worker {name}: {result.output}")
            return


async def main() -> None:
    """Let B make its turn while A waits for its answer."""
    with tempfile.TemporaryDirectory() as folder:
        address = os.environ.get("DATABASE_URL", f"sqlite:///{Path(folder) / 'chats.db'}")
        session = f"ferry-{uuid4().hex}"
        with SQLConversationStore(address) as store_a, SQLConversationStore(address) as store_b:
            slow = asyncio.ensure_future(work("A", ConversationState(session, store_a)))
            await asked.wait()
            state = ConversationState(session, store_b)
            await work("B", state)
            answered.set()
            await slow
            with history_scope(enabled=True, state=state):
                history = (await agent.run("What was said?")).all_messages()[:-2]
            store_b.delete(session)
    print("the conversation:", ", ".join(str(part.content) for message in history for part in message.parts))  # type: ignore[union-attr]  # texts


asyncio.run(main())
