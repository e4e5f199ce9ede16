"""The assembled parts of a request as LangChain sends them: a system message, and what stands around messages.

Places 1 to 4 come in front of the system message, 5 to 8 around the user's text, or as a message behind tool results.
They are put into one request alone; nothing of them is kept in a graph's state. Measured on langchain-core 1.8.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from threading import Lock
from typing import Any, Final

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from kedi_compile.assembly import LiveRequest, RequestCompiler, ToolSchema
from kedi_compile.assembly.run import RunAssembly, Standing, Tail
from kedi_compile.assembly.ui_tokens import UiTokens
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import begin_assembly
from kedi_langchain.blocks import Content
from kedi_langchain.dialect import DIALECT
from kedi_langchain.prompt import without_ui_tokens

_KEPT: Final = 1_024
"""How many runs that may be paused are remembered."""


class RunTails:
    """The assembly of one run's requests, and the messages its tails stand by."""

    def __init__(self, assembly: RunAssembly, tokens: UiTokens) -> None:
        self.assembly = assembly
        self._tokens = tokens
        self._anchors: list[BaseMessage] = []  # holds them, so that no `id()` is used twice

    def standing(self, messages: Sequence[BaseMessage]) -> Standing:
        """Say where a request stands; a message goes by the name that the host keeps with it."""
        self._anchors.append(messages[-1])
        return Standing(_anchor(messages[-1]), frozenset(map(_anchor, messages)))

    def put(self, messages: Sequence[BaseMessage], tails: Iterable[Tail]) -> list[BaseMessage]:
        """Return the messages with the tails at their places, and without what is meant for an interface."""
        by_anchor: dict[Hashable, list[Tail]] = {}
        for tail in tails:
            by_anchor.setdefault(tail.anchor, []).append(tail)
        placed = (_placed(self._shown(one), by_anchor.get(_anchor(one), [])) for one in messages)
        return list(chain.from_iterable(placed))

    def _shown(self, message: BaseMessage) -> BaseMessage:
        return without_ui_tokens(message, self._tokens)


class PausedRuns:
    """The assembly of runs that may be paused, by the answer whose tools are being called.

    A checkpointer is given nothing of it, so a run that another process resumes begins anew.
    """

    def __init__(self) -> None:
        self._lock = Lock()
        self._runs: OrderedDict[str, RunTails] = OrderedDict()

    def answered(self, tails: RunTails, answer: BaseMessage, before: BaseMessage | None) -> None:
        """Note the newest answer of a run, in the place of the one `before`; one that calls no tools ends it."""
        with self._lock:
            if before is not None:
                self._runs.pop(str(before.id), None)
            if answer.id and isinstance(answer, AIMessage) and answer.tool_calls:
                self._runs[answer.id] = tails
            while len(self._runs) > _KEPT:
                self._runs.popitem(last=False)

    def resumed(self, answer: BaseMessage | None) -> RunTails | None:
        """Return the assembly of the run whose newest answer this is; None where it is not in this process."""
        with self._lock:
            return None if answer is None else self._runs.get(str(answer.id))


def newest_answer(messages: Sequence[BaseMessage]) -> BaseMessage | None:
    """Return the newest answer of a model, or None."""
    return next((message for message in reversed(messages) if isinstance(message, AIMessage)), None)


def new_tails(compiler: RequestCompiler | None, policy: HistoryPolicy[BaseMessage]) -> RunTails | None:
    """Return the assembly of a run that begins; None where nothing is assembled."""
    assembly = begin_assembly(compiler, policy, DIALECT)
    return None if compiler is None or assembly is None else RunTails(assembly, compiler.ui_tokens)


def _anchor(message: BaseMessage) -> Hashable:
    return message.id or id(message)


def _placed(message: BaseMessage, tails: Sequence[Tail]) -> Iterator[BaseMessage]:
    """The message with its tails around a user's text, or behind anything else."""
    if isinstance(message, HumanMessage):
        for tail in tails:
            message = message.model_copy(update={"content": _around(message.content, tail)})
        yield message
        return
    yield message
    for tail in tails:
        yield HumanMessage("\n\n".join(text for text in (tail.before, tail.slot) if text))


def _around(content: Content, tail: Tail) -> Content:
    # Some servers join the blocks of a message without anything between them.
    behind = [_block(f"\n\n{tail.slot}")] if tail.slot else []
    return [_block(f"{tail.before}\n\n"), *_blocks(content), *behind]


def _blocks(content: Content) -> list[str | dict[Any, Any]]:
    return [_block(content)] if isinstance(content, str) else list(content)


def _block(text: str) -> dict[Any, Any]:
    return {"type": "text", "text": text}


def with_system(given: SystemMessage | None, system: str) -> SystemMessage:
    """Return a system message with the stable text in front of the given one's."""
    if given is None:
        return SystemMessage(system)
    if isinstance(given.content, str):
        return given.model_copy(update={"content": f"{system}\n\n{given.content}"})
    return given.model_copy(update={"content": [_block(system), *given.content]})


def with_system_first(messages: Sequence[BaseMessage], system: str) -> list[BaseMessage]:
    """Return the messages of a chat model with the stable text in front."""
    first = messages[0] if messages else None
    if isinstance(first, SystemMessage):
        return [with_system(first, system), *messages[1:]]
    return [with_system(None, system), *messages]


def live_request(messages: Sequence[BaseMessage], info: RequestInfo, tools: Iterable[Any]) -> LiveRequest:
    """Describe a request to the callback that gives its inputs; its tokens are filled in by the session."""
    start = _turn_start(messages)
    return LiveRequest(
        request_index=info.request_index,
        model_id=info.model_id,
        calls=tuple(_calls(messages[start:])),
        earlier_calls=tuple(_calls(messages[:start])),
        tools=tuple(_schemas(tools)),
        user_text=str(messages[start].text) if isinstance(messages[start], HumanMessage) else "",
        run_id=info.run_id,
        conversation_id=info.conversation_id,
        context=info.context,
    )


def _turn_start(messages: Sequence[BaseMessage]) -> int:
    """The index of the user's current message; 0 where there is none."""
    places = (place for place in range(len(messages) - 1, -1, -1) if isinstance(messages[place], HumanMessage))
    return next(places, 0)


def _calls(messages: Iterable[BaseMessage]) -> Iterator[str]:
    return (call["name"] for message in messages if isinstance(message, AIMessage) for call in message.tool_calls)


def _schemas(tools: Iterable[Any]) -> Iterator[ToolSchema]:
    """The tools with a name each; of those that a provider runs several may be of one kind, which are numbered."""
    kinds: Counter[str] = Counter()
    for tool in tools:
        plain: Mapping[str, Any] = tool if isinstance(tool, Mapping) else convert_to_openai_tool(tool)
        function = plain.get("function", plain)
        parameters = function.get("parameters", function.get("input_schema"))
        if parameters is not None:
            yield ToolSchema(function["name"], function.get("description", ""), parameters)
            continue
        kind = _kind(plain)
        kinds[kind] += 1
        yield ToolSchema(kind if kinds[kind] == 1 else f"{kind} {kinds[kind]}", "", dict(plain))


def _kind(tool: Mapping[str, Any]) -> str:
    """What a tool that the provider runs goes by: its name, its type, or the one key that Google's have."""
    return str(tool.get("name") or tool.get("type") or next(iter(tool), "tool"))
