"""One way to write a history for both adapters, and to read back what became of it.

A history is written as lines, one for each thing said: `S` system text, `U` the user's text, `A` an answer, `C` an
answer that calls the named ids, `R` the result of one id, `T` as `C` behind a signed thought, `H` an answer behind a
signed thought, `P` one that the provider's own tool served, `I` one that broke off, `K` one behind a compaction, `F`
state of the framework. A `Stack` turns lines into native messages and back, so the two adapters can be compared line by
line although one message of the one may be several of the other.
"""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Literal, NamedTuple, cast

from langchain.agents import create_agent
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from pydantic_ai import Agent
from pydantic_ai import messages as m
from pydantic_ai.messages import ModelMessage, ModelRequest, ModelResponse

import agents
import chats
from kedi_compile import HistoryProcessorCallback, HistoryProcessorContext
from kedi_compile.dialect import Dialect
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.flow import Staged
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from kedi_langchain import LangChainDialect
from kedi_pydantic_ai import PydanticDialect

Lines = tuple[str, ...]
Context = HistoryProcessorContext[Any]
Processor = HistoryProcessorCallback[Any]

_THINKING: dict[str, Any] = {"type": "thinking", "thinking": "hm", "signature": "s"}
_CALLED: dict[str, Any] = {"type": "server_tool_use", "id": "srv_1", "name": "web_search", "input": {}}
_FOUND: dict[str, Any] = {"type": "web_search_tool_result", "tool_use_id": "srv_1", "content": []}
_COMPACTION: dict[str, Any] = {"type": "compaction", "content": "they talked", "signature": "s"}
_BEFORE = {"T": [_THINKING], "H": [_THINKING], "P": [_CALLED, _FOUND], "K": [_COMPACTION]}
"""The blocks that stand before the text or the calls of an answer on LangChain."""


class Turn(NamedTuple):
    """What a processor saw of one request: its number in the run, the generation, and the groups in lines."""

    request_index: int
    cache_epoch: int
    groups: Lines


@dataclass
class Watching:
    """A processor that notes each request before it does what it is told."""

    stack: Stack
    edit: Processor
    turns: list[Turn] = field(default_factory=list)

    def __call__(self, ctx: Context) -> Any:
        self.turns.append(Turn(ctx.request_index, ctx.cache_epoch, self.stack.groups_of(ctx)))
        return self.edit(ctx)


class Stack(ABC):
    """A framework with its adapter."""

    name: str
    dialect: Dialect[Any]

    @abstractmethod
    def build(self, lines: Sequence[str]) -> list[Any]:
        """Write lines as native messages."""

    @abstractmethod
    def read(self, message: Any) -> Lines:
        """Read one native message as the lines that it says."""

    @abstractmethod
    def alter(self, message: Any) -> None:
        """Change the text of a message in place."""

    @abstractmethod
    def record(self) -> Any:
        """Build a text message that claims to come from a provider."""

    @abstractmethod
    def run(self, lines: Sequence[str], processor: Processor, *, loops: int = 0) -> list[Lines]:
        """Run an agent over a history that ends in a request and return each request as it was sent.

        The model calls a tool in its first `loops` answers.
        """

    def lines(self, messages: Sequence[Any]) -> Lines:
        """Read messages as lines."""
        return tuple(line for message in messages for line in self.read(message))

    def groups_of(self, ctx: Context) -> Lines:
        """Write the groups of a context as lines: `[start, end)` in lines, whether it is closed, and its reasons."""
        ends = [0]
        for message in ctx.messages:
            ends.append(ends[-1] + len(self.read(message)))
        return tuple(_group_line(ends, group) for group in ctx.groups)

    def session(self, processor: Processor, **policy: Any) -> RunSession[Any]:
        """Return a run of the core that speaks this framework's dialect and knows no host."""
        return RunSession(HistoryPolicy(processor, **policy), self.dialect, owner=object())

    def edited(self, lines: Sequence[str], processor: Processor, **policy: Any) -> Lines:
        """Carry out an edit in the core alone."""
        messages = self.build(lines)
        outcome = self.session(processor, **policy).edit_sync(messages, RequestInfo("provider:model", 1))
        return self.lines(outcome.messages if isinstance(outcome, Staged) else messages)

    def groups(self, lines: Sequence[str], **policy: Any) -> Lines:
        """Return the groups that the core alone finds."""
        watching = Watching(self, lambda ctx: ctx.messages)
        self.edited(lines, watching, **policy)
        return watching.turns[0].groups


def _group_line(ends: Sequence[int], group: Any) -> str:
    words = ["closed" if group.closed else "open", *sorted(group.protected_reasons)]
    return f"{ends[group.entry_start]}:{ends[group.entry_end]} {' '.join(words)}"


def _ids(line: str) -> list[str]:
    return line[2:].split()


class PydanticStack(Stack):
    """Pydantic AI: results of a batch share one request."""

    name = "pydantic_ai"
    dialect = PydanticDialect()

    def build(self, lines: Sequence[str]) -> list[ModelMessage]:
        out: list[ModelMessage] = []
        for is_result, found in groupby(lines, lambda line: line[0] == "R"):
            if is_result:
                parts = [m.ToolReturnPart("look", "seen", tool_call_id=line[2:]) for line in found]
                out.append(ModelRequest(parts=parts))
            else:
                out += map(self._message, found)
        return out

    def _message(self, line: str) -> ModelMessage:
        text = line[2:]
        match line[0]:
            case "S":
                return ModelRequest(parts=[m.SystemPromptPart(text)])
            case "U":
                return ModelRequest(parts=[m.UserPromptPart(text)])
            case "F":
                return ModelRequest(parts=[m.InstructionBaselinePart(instructions=[])])
            case "C" | "T":
                return agents.calls(*_ids(line), thought="hm" if line[0] == "T" else None)
            case letter:
                before = list(self._before(letter))
                state: Literal["interrupted", "complete"] = "interrupted" if letter == "I" else "complete"
                return ModelResponse(parts=[*before, m.TextPart(text)], state=state)

    @staticmethod
    def _before(letter: str) -> Iterator[m.ModelResponsePart]:
        if letter == "H":
            yield agents.signed("hm")
        elif letter == "P":
            yield m.NativeToolCallPart("web_search", {}, tool_call_id="srv_1", provider_name="function")
            yield m.NativeToolReturnPart("web_search", [], tool_call_id="srv_1", provider_name="function")
        elif letter == "K":
            yield m.CompactionPart("they talked", provider_name="function")

    def read(self, message: ModelMessage) -> Lines:
        if isinstance(message, ModelRequest):
            return tuple(map(_part_line, message.parts))
        kinds = {type(part) for part in message.parts}
        ids = [part.tool_call_id for part in message.parts if isinstance(part, m.ToolCallPart)]
        letter = _letter(
            calls=bool(ids),
            thinks=m.ThinkingPart in kinds,
            served=m.NativeToolCallPart in kinds,
            compacted=m.CompactionPart in kinds,
            broken=message.state == "interrupted",
        )
        return (f"{letter} {' '.join(ids) or message.text}",)

    def alter(self, message: Any) -> None:
        message.parts[0].content += "!"

    def record(self) -> ModelMessage:
        return ModelResponse(parts=[m.TextPart("forged", id="msg_1", provider_name="openai")])

    def run(self, lines: Sequence[str], processor: Processor, *, loops: int = 0) -> list[Lines]:
        script = agents.Script(*[agents.calls(f"new{n}", tool="look") for n in range(loops)], "done")
        agent = Agent(script.model, capabilities=[agents.adapter(processor)])
        agent.tool_plain(look)
        asyncio.run(agent.run(message_history=self.build(lines)))
        return [self.lines(request) for request in script.requests]


def _part_line(part: Any) -> str:
    if isinstance(part, m.ToolReturnPart):
        return f"R {part.tool_call_id}"
    if isinstance(part, m.InstructionBaselinePart):
        return "F state"
    if isinstance(part, m.UserPromptPart) and str(part.content).startswith("<system>"):
        return f"S {str(part.content)[8:-9]}"  # how the host writes system text that does not stand first
    return f"{'S' if isinstance(part, m.SystemPromptPart) else 'U'} {part.content}"


class LangChainStack(Stack):
    """LangChain: each result is a message of its own."""

    name = "langchain"
    dialect = LangChainDialect()

    def build(self, lines: Sequence[str]) -> list[BaseMessage]:
        return list(map(self._message, lines))

    @staticmethod
    def _message(line: str) -> BaseMessage:
        letter, text = line[0], line[2:]
        if letter in "SUR":
            kinds: dict[str, Any] = {"S": SystemMessage, "U": HumanMessage, "R": _result}
            return cast(BaseMessage, kinds[letter](text))
        calls = chats.calls(*text.split()).tool_calls if letter in "CT" else []
        before: list[Any] = [dict(block) for block in _BEFORE.get(letter, ())]
        said: list[Any] = [] if letter in "CT" else [{"type": "text", "text": text}]
        metadata = {"status": "incomplete"} if letter == "I" else {}
        return AIMessage([*before, *said] or "", tool_calls=calls, response_metadata=metadata)

    def read(self, message: BaseMessage) -> Lines:
        if isinstance(message, ToolMessage):
            return (f"R {message.tool_call_id}",)
        if not isinstance(message, AIMessage):
            return (f"{'S' if isinstance(message, SystemMessage) else 'U'} {message.text}",)
        blocks = message.content if isinstance(message.content, list) else []
        kinds = {block["type"] for block in blocks if isinstance(block, dict)}
        ids = [str(call["id"]) for call in message.tool_calls]
        letter = _letter(
            calls=bool(ids),
            thinks="thinking" in kinds,
            served="server_tool_use" in kinds,
            compacted="compaction" in kinds,
            broken=message.response_metadata.get("status") == "incomplete",
        )
        return (f"{letter} {' '.join(ids) or message.text}",)

    def alter(self, message: Any) -> None:
        message.content += "!"

    def record(self) -> BaseMessage:
        return AIMessage("forged", id="msg_1", response_metadata={"model_provider": "openai"})

    def run(self, lines: Sequence[str], processor: Processor, *, loops: int = 0) -> list[Lines]:
        answers = [chats.calls(f"new{n}", tool="look") for n in range(loops)]
        transport = chats.Transport([*answers, "done"])
        middleware = chats.adapter(processor).middleware()
        agent = create_agent(chats.Chat(transport=transport), tools=[look], middleware=[middleware])
        state: Any = {"messages": self.build(lines)}  # the host types it by a schema of its own
        agent.invoke(state)
        return [self.lines(request) for request in transport.requests]


def look() -> str:
    """Look around."""
    return "seen"


def _result(call_id: str) -> BaseMessage:
    return ToolMessage("seen", tool_call_id=call_id, name="look")


def _letter(*, calls: bool, thinks: bool, served: bool, compacted: bool, broken: bool) -> str:
    if calls:
        return "T" if thinks else "C"
    flags = {"H": thinks, "P": served, "K": compacted, "I": broken}
    return next((letter for letter, is_set in flags.items() if is_set), "A")


STACKS: tuple[Stack, ...] = (PydanticStack(), LangChainStack())
