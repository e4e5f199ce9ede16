"""Conversations: what a stateful turn costs over the same run with its history given, and what others pay to store.

Every round makes one turn of each kind over the same history, whose answer is a word, and takes the processor seconds
of the whole process. A row is what its kind takes more than the run that is given its history, in passes over that
history (R). The stores' rows count what this process does; a database server does more.
"""

from __future__ import annotations

import asyncio
import os
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any
from uuid import uuid4

from langchain.agents import create_agent
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.conversation_store import InMemoryConversationStore
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from benchmarks import stacks
from benchmarks.clock import Reference, now, quiet
from benchmarks.report import Table
from benchmarks.rows import Row, spread_of
from benchmarks.samples import Samples
from kedi_compile import ConversationState, history_scope
from kedi_compile.conversation import ConversationStore, MemoryConversationStore, SQLConversationStore
from kedi_langchain import LangChainAdapter
from kedi_pydantic_ai import PydanticAdapter

NAME = "conversation"
GOAL = 1.5

Turn = Callable[[], Awaitable[object]]


@dataclass(frozen=True, slots=True)
class Kind:
    """A way to make a turn; `goal` is the most it may take more than being given the history."""

    name: str
    turn: Turn
    goal: float | None = None


def measure(count: int, rounds: int) -> Table:
    """Take all samples and return the table."""
    return asyncio.run(_measure(count, rounds))


async def _measure(count: int, rounds: int) -> Table:
    sections, samples = {}, []
    for title, stack, kinds in (
        ("a turn on Pydantic AI, over `message_history=`", stacks.load("pydantic-ai"), _pydantic_ai),
        ("a turn on LangChain, over a thread that is given", stacks.load("langchain"), _langchain),
    ):
        async with AsyncExitStack() as resources:
            folder = Path(resources.enter_context(tempfile.TemporaryDirectory()))
            history = stack.history(count)
            reference = Reference(stack.plain(history))
            made = await kinds(history, folder, resources)
            times, references = await _times(made, reference, rounds)
            unit = median(references)
            sections[title] = [_row(kind, times, made[0].name, unit) for kind in made[1:]]
            samples.append(Samples(count, reference.size, references))
    names = ("pydantic-ai-slim", "langchain", "langgraph", "langgraph-checkpoint-sqlite", "SQLAlchemy", "psycopg")
    return Table({name: stacks.installed(name) for name in names}, samples, sections)


async def _times(
    kinds: Sequence[Kind], reference: Reference, rounds: int
) -> tuple[dict[str, list[float]], list[float]]:
    """Seconds by kind and of the reference, round by round; the first round is thrown away."""
    times: dict[str, list[float]] = {kind.name: [] for kind in kinds}
    references = []
    for _ in range(rounds + 1):
        references.append(reference.seconds())
        for kind in kinds:
            with quiet():
                start = now()
                await kind.turn()
                times[kind.name].append(now() - start)
    return {name: found[1:] for name, found in times.items()}, references[1:]


def _row(kind: Kind, times: dict[str, list[float]], base: str, unit: float) -> Row:
    more = (own - given for own, given in zip(times[kind.name], times[base], strict=True))
    return Row(kind.name, "R", spread_of(more, unit), kind.goal)


def _stores(folder: Path, resources: AsyncExitStack) -> dict[str, ConversationStore]:
    """The stores to measure; PostgreSQL where `KEDI_POSTGRES` names a server."""
    sqlite = resources.enter_context(SQLConversationStore(f"sqlite:///{folder / 'conversations.db'}"))
    stores: dict[str, ConversationStore] = {"memory, as bytes": MemoryConversationStore(), "SQLite": sqlite}
    if address := os.environ.get("KEDI_POSTGRES"):
        stores["PostgreSQL"] = resources.enter_context(SQLConversationStore(address))
    return stores


def _states(folder: Path, resources: AsyncExitStack) -> dict[str, ConversationState]:
    stored = {
        f"a conversation in {name}": ConversationState(f"bench-{uuid4().hex}", store)
        for name, store in _stores(folder, resources).items()
    }
    return {"a conversation": ConversationState(), **stored}


async def _answer(messages: list[ModelMessage], info: object) -> ModelResponse:  # noqa: ARG001  # a model's signature
    return ModelResponse(parts=[TextPart("Yes.")])


async def _pydantic_ai(history: list[Any], folder: Path, resources: AsyncExitStack) -> list[Kind]:
    bare: Agent = Agent(FunctionModel(_answer))
    agent: Agent = Agent(FunctionModel(_answer), capabilities=[PydanticAdapter()])
    theirs = InMemoryConversationStore()
    await theirs.save(Conversation(messages=list(history), conversation_id="bench"))

    async def by_their_store() -> None:
        known = await theirs.load("bench")
        result = await bare.run("Well?", conversation=known)
        await theirs.save(result.conversation)

    kinds = [Kind("given", lambda: bare.run("Well?", message_history=list(history)))]
    for name, state in _states(folder, resources).items():
        with history_scope(enabled=True, state=state):
            await agent.run("Well?", message_history=list(history))

        async def turn(state: ConversationState = state) -> None:
            with history_scope(enabled=True, state=state):
                await agent.run("Well?")

        kinds.append(Kind(name, turn, None if state.ledger.is_stored else GOAL))
    return [*kinds, Kind("the host's own store in memory", by_their_store)]


class _Word(BaseChatModel):
    """Answers with a word."""

    @property
    def _llm_type(self) -> str:
        return "word"

    def _generate(self, *_: Any, **__: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("Yes."))])

    async def _agenerate(self, *_: Any, **__: Any) -> ChatResult:
        return self._generate()


async def _langchain(history: list[BaseMessage], folder: Path, resources: AsyncExitStack) -> list[Kind]:
    model, asked = _Word(), HumanMessage("Well?")
    saver = await resources.enter_async_context(AsyncSqliteSaver.from_conn_string(str(folder / "threads.db")))
    bare: Any = create_agent(model, [])
    agent: Any = create_agent(model, [], middleware=[LangChainAdapter().middleware()])
    kinds = [Kind("given", lambda: bare.ainvoke({"messages": [*history, asked]}))]
    for name, state in _states(folder, resources).items():
        with history_scope(enabled=True, state=state):
            await agent.ainvoke({"messages": [*history, asked]})

        async def turn(state: ConversationState = state) -> None:
            with history_scope(enabled=True, state=state):
                await agent.ainvoke({"messages": [HumanMessage("Well?")]})

        kinds.append(Kind(name, turn))
    for name, checkpointer in (("memory", InMemorySaver()), ("SQLite", saver)):
        threaded: Any = create_agent(model, [], checkpointer=checkpointer)
        config = {"configurable": {"thread_id": "bench"}}
        await threaded.ainvoke({"messages": [*history, asked]}, config)

        async def saved(threaded: Any = threaded, config: Any = config) -> None:
            await threaded.ainvoke({"messages": [HumanMessage("Well?")]}, config)

        kinds.append(Kind(f"a LangGraph thread in {name}", saved))
    return kinds
