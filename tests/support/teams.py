"""An agent of either framework whose requests are assembled, over a provider on this machine.

A `Task` is what it works on: a frame and a ledger that its tool changes at the requests a test names. A `Team` asks the
same agent question after question and shows what was sent, dumped and kept. `Sent` reads a request body of three APIs
alike. The tool loop is `loop`, the provider `recording_langchain`.
"""

from __future__ import annotations

import json
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

import pytest
from langchain.agents import create_agent
from langchain_core.messages import HumanMessage
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter
from pydantic_ai.settings import ModelSettings

from agents import run_async
from emulator import Call, Step, Thinking, answer
from kedi_compile import HistoryPrefixWarning
from kedi_compile.assembly import (
    Contract,
    ContractRegistry,
    EvidenceLedger,
    ExperimentalFlag,
    LiveFrame,
    Provenance,
    RequestCompiler,
    RequestInputs,
    Source,
    StableCore,
    SteeringSlot,
    TaskEpoch,
)
from kedi_compile.conversation import ConversationState, history_scope
from kedi_compile.dump.schema import AssemblyDump, RequestDump
from kedi_langchain import LangChainAdapter
from kedi_pydantic_ai import PydanticAdapter
from recording import Lane
from recording_langchain import ChatProvider

LANES: Final = tuple(Lane(api, streams) for api in ("anthropic", "chat", "responses") for streams in (False, True))

BINDING_MODEL: Final = "claude-opus-5-5"

PHASES: Final = {"edit": "implement"}

OBJECTIVE: Final = "Mend the pump."
"""The epoch's objective, which stands in every tail and nowhere else."""

SUCCESSOR: Final = (
    "This frame replaces the earlier frames of this run; steering that it does not repeat holds no longer."
)

STEERING: Final = '# Active steering "'


def loop(requests: int = 10, *, thinks: bool = True, tool: str = "look") -> list[Step]:
    """Return the answers of a loop: each but the last calls the tool with the number of the next request."""
    thought = [Thinking("Hm.")] if thinks else []
    calls: list[Step] = [answer(*thought, Call(tool, {"ahead": number})) for number in range(2, requests + 1)]
    return [*calls, answer(*thought, "Done.")]


@dataclass
class Task:
    """What is worked on; `changes` are made by the tool call in front of the request they are given for."""

    changes: Mapping[int, Callable[[Task], object]] = field(default_factory=dict)
    flags: frozenset[ExperimentalFlag] = frozenset()
    frame: LiveFrame = field(default_factory=lambda: LiveFrame(TaskEpoch("e1", OBJECTIVE)))
    evidence: EvidenceLedger = field(default_factory=EvidenceLedger)

    def inputs(self, **options: Any) -> RequestInputs:
        """Return the inputs, whose ledgers go on changing."""
        return RequestInputs(StableCore("Be careful."), self.frame, self.evidence, flags=self.flags, **options)

    def read(self, path: str, body: str) -> None:
        """Record what a tool read."""
        self.evidence.record(Source(path, "v1", body, Provenance(tool_call_id="call_1")))

    def steer(self, name: str) -> None:
        """Let an operator steer."""
        self.frame.steer(SteeringSlot(name, "Keep it dry.", Provenance(author="operator")))

    def look(self, ahead: int) -> str:
        """Look at the pump."""
        if ahead in self.changes:
            self.changes[ahead](self)
        return f"seen {ahead}"

    def edit(self, ahead: int) -> str:
        """Turn a screw."""
        return f"{self.look(ahead)}, turned"


class Sent:
    """A request body, in the same words for three APIs."""

    def __init__(self, body: Mapping[str, Any]) -> None:
        self.body = body

    @property
    def head(self) -> bytes:
        """Everything before the messages that a prefix cache or a bound thought depends on."""
        return _bytes([self.body.get(name) for name in ("system", "instructions", "tools")])

    @property
    def messages(self) -> list[bytes]:
        """The messages or items, byte for byte but for cache marks."""
        return [_bytes(message) for message in self.body.get("messages", self.body.get("input", []))]

    @property
    def system(self) -> str:
        """The system text."""
        stated = self.body.get("system", self.body.get("instructions")) or ""
        texts = [stated] if isinstance(stated, str) else [block["text"] for block in stated]
        return "\n\n".join([*texts, *(text for role, text in self._texts() if role in ("system", "developer"))])

    @property
    def user(self) -> list[str]:
        """The texts of users, one for each block, in order; `<result>`, `<image>` for what is no text."""
        return [text for role, text in self._texts() if role in ("user", "tool")]

    @property
    def tails(self) -> list[str]:
        """The texts that hold the objective."""
        return [text for text in self.user if OBJECTIVE in text]

    def _texts(self) -> Iterator[tuple[str, str]]:
        for message in self.body.get("messages", self.body.get("input", [])):
            yield from _said(message)


def _said(message: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    role = message.get("role", "")
    if role == "tool" or message.get("type") == "function_call_output":
        yield "tool", "<result>"
        return
    content = message.get("content") or []
    for block in [{"type": "text", "text": content}] if isinstance(content, str) else content:
        yield role, _plain(block["text"]) if "text" in block else f"<{_KINDS.get(block['type'], block['type'])}>"


def _plain(text: str) -> str:
    """A text without what parts it from its neighbours, for servers that join the blocks of a message."""
    return text.removeprefix("\n\n").removesuffix("\n\n")


_KINDS: Final = {"tool_result": "result", "image_url": "image", "input_image": "image"}


def _bytes(value: Any) -> bytes:
    return json.dumps(_unmarked(value), ensure_ascii=False).encode()


def _unmarked(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _unmarked(member) for name, member in value.items() if name != "cache_control"}
    return [_unmarked(member) for member in value] if isinstance(value, list) else value


class Team(ABC):
    """An agent with an adapter, over one provider; `options` are the adapter's.

    With `remembers` the conversation of a `history_scope` carries the history from question to question, else the
    framework's own ways do. `around` are other capabilities or middleware, in front of ours, `behind` those behind it.
    """

    name: str

    def __init__(
        self, provider: ChatProvider, compiler: RequestCompiler, task: Task, *, remembers: bool = False, **options: Any
    ) -> None:
        self._provider, self.compiler, self._task = provider, compiler, task
        self._state = ConversationState() if remembers else None
        self.options = options
        self.dumped: list[RequestDump] = []

    @property
    def sent(self) -> list[Sent]:
        """What was sent so far."""
        return [Sent(body) for body in self._provider.bodies]

    @property
    def assembled(self) -> list[AssemblyDump]:
        """What the dumps say of the assembly, request by request."""
        return [dump.assembly for dump in self.dumped if dump.assembly is not None]

    async def ask(self, prompt: Any, *steps: Step, **options: Any) -> None:
        """Ask one question and let the tools be called until the answer is there; `options` are those of `_run`."""
        self._provider.script(*steps)
        if self._state is None:
            await self._run(prompt, **options)
            return
        with history_scope(True, self._state):
            await self._run(prompt, **options)

    @property
    @abstractmethod
    def kept(self) -> str:
        """Everything that outlives the requests, as text."""

    @abstractmethod
    async def _run(
        self, prompt: Any, *, model: Any = None, settings: Any = None, around: Sequence[Any] = (), behind: Any = ()
    ) -> None: ...

    def _options(self) -> dict[str, Any]:
        return {"request_compiler": self.compiler, "dump": self.dumped.append, **self.options}


class PydanticTeam(Team):
    """An agent of Pydantic AI; the history is handed on as `message_history`."""

    name = "pydantic_ai"
    history: Sequence[ModelMessage] = ()

    async def _run(
        self, prompt: Any, *, model: Any = None, settings: Any = None, around: Sequence[Any] = (), behind: Any = ()
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HistoryPrefixWarning)
            adapter: PydanticAdapter[Any] = PydanticAdapter(**self._options())
        agent = Agent(
            model or self._provider.model(),
            instructions="Be brief.",
            model_settings={**ModelSettings(max_tokens=2048), **(settings or {})},
            capabilities=[*around, adapter, *behind],
        )
        agent.tool_plain(self._task.look)
        agent.tool_plain(self._task.edit)
        history = None if self._state is not None else list(self.history)
        done = await run_async(self._provider.lane.entry, agent, prompt, message_history=history)
        self.history = done.all_messages

    @property
    def kept(self) -> str:
        conversation = "" if self._state is None else self._state.checkpoint().to_json()
        return ModelMessagesTypeAdapter.dump_json(list(self.history)).decode() + conversation


class LangChainTeam(Team):
    """An agent of LangChain; the history is a thread in a checkpointer."""

    name = "langchain"

    def __init__(
        self, provider: ChatProvider, compiler: RequestCompiler, task: Task, *, remembers: bool = False, **options: Any
    ) -> None:
        super().__init__(provider, compiler, task, remembers=remembers, **options)
        self._saver = InMemorySaver()
        self._final: Any = None

    async def _run(
        self, prompt: Any, *, model: Any = None, settings: Any = None, around: Sequence[Any] = (), behind: Any = ()
    ) -> None:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", HistoryPrefixWarning)
            adapter = LangChainAdapter(**self._options())
        agent = create_agent(
            model or self._provider.chat(**(settings or {})),
            tools=[StructuredTool.from_function(tool) for tool in (self._task.look, self._task.edit)],
            system_prompt="Be brief.",
            middleware=[*around, adapter.middleware(), *behind],
            checkpointer=None if self._state is not None else self._saver,
        )
        asked: Any = {"messages": [HumanMessage(prompt)]}
        config: Any = {"configurable": {"thread_id": "pump"}, "recursion_limit": 100}
        if self._provider.lane.streams:
            async for mode, chunk in agent.astream(asked, config, stream_mode=["messages", "values"]):
                self._final = chunk if mode == "values" else self._final
        else:
            self._final = await agent.ainvoke(asked, config)

    @property
    def kept(self) -> str:
        conversation = "" if self._state is None else self._state.checkpoint().to_json()
        saver = self._saver
        return repr((self._final, dict(saver.storage), dict(saver.blobs), dict(saver.writes))) + conversation


TEAMS: Final[Sequence[type[Team]]] = (PydanticTeam, LangChainTeam)

EVERY_TEAM = pytest.mark.parametrize("kind", TEAMS, ids=lambda kind: kind.name)


def lanes(*apis: str, streams: bool = True) -> pytest.MarkDecorator:
    """Run a test in the lanes of these APIs, or of all; with or without those that stream."""
    chosen = [lane for lane in LANES if (lane.dialect in apis or not apis) and (streams or not lane.streams)]
    return pytest.mark.parametrize("provider", chosen, indirect=True, ids=str)


def compiler(task: Task, *contracts: Contract, **options: Any) -> RequestCompiler:
    """Return a compiler of the task's requests."""
    return RequestCompiler(ContractRegistry(contracts), inputs=task.inputs(**options), tool_phases=PHASES)


def team(kind: type[Team], provider: ChatProvider, task: Task, *, remembers: bool = False, **options: Any) -> Team:
    """Return a team that works on the task without contracts."""
    return kind(provider, compiler(task), task, remembers=remembers, **options)


def appended(sent: list[Sent]) -> list[bool]:
    """Say for each request but the first whether it is the one before it and more."""
    return [
        later.head == earlier.head and later.messages[: len(earlier.messages)] == earlier.messages
        for earlier, later in pairwise(sent)
    ]
