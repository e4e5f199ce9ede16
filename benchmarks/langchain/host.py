"""Runs of the host reduced to their hooks: call them in the host's order and time nothing else.

`AgentRun` is one `invoke` of an agent with one middleware: `before_agent` once, then `before_model` and
`wrap_model_call` for every request, each only where the middleware has it, as the agent graph does. What they return is
written into the state by the graph's own reducer. `ModelRun` calls `generate` of a chat model, wrapped or not, whose
own `generate` answers at once. `FunctionRun` calls a function over the history. All of it is on synchronous paths,
where callbacks run inline.

The account "host", which no row counts, has the reducer, the answer, and one pass that converts every message to what a
client sends, as a real request would.

Accounts: "before" (the edit), "note" (the answer is noted, the update made).
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import copy_context
from typing import Any, ClassVar

from langchain.agents.middleware import AgentMiddleware
from langchain.agents.middleware.types import ExtendedModelResponse, ModelRequest, ModelResponse
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage, convert_to_openai_messages
from langchain_core.outputs import ChatGeneration, ChatResult, LLMResult
from langgraph.graph.message import add_messages
from langgraph.runtime import Runtime

from benchmarks.clock import Stopwatch
from benchmarks.langchain.histories import LangChainAuthor

ACCOUNTS = ("before", "note")

Middleware = AgentMiddleware[Any, Any, Any]
State = dict[str, Any]


class AnsweringChat(BaseChatModel):
    """Answers with the response it was given and looks at nothing."""

    response: ClassVar[BaseMessage]
    watch: ClassVar[Stopwatch]

    @property
    def _llm_type(self) -> str:
        return "bench"

    def generate(self, messages: list[list[BaseMessage]], *args: Any, **kwargs: Any) -> LLMResult:  # noqa: ARG002
        """Return the prepared response; the host's own work on a request is not timed."""
        self.watch.turn("host")
        convert_to_openai_messages(messages[0])
        result = LLMResult(generations=[[ChatGeneration(message=self.response)]])
        self.watch.turn("note")
        return result

    def _generate(self, *args: Any, **kwargs: Any) -> ChatResult:
        raise NotImplementedError


MODEL = AnsweringChat()


class AgentRun:
    """One run of an agent in a tool loop over `history`."""

    def __init__(self, middleware: Middleware, history: list[BaseMessage]) -> None:
        self._state: State = {"messages": list(history)}
        self._given = tuple(history)  # a checkpointer keeps the state before: no row pays for freeing dropped messages
        self._middleware = middleware
        self._author = LangChainAuthor(2)
        self._runtime: Runtime[Any] = Runtime()
        self._watch = Stopwatch()
        self._is_new = True

    @property
    def messages(self) -> list[BaseMessage]:
        """The history as the state has it now."""
        messages: list[BaseMessage] = self._state["messages"]
        return messages

    async def step(self) -> dict[str, float]:
        """Make one model request, write the answer and a tool result, and return the seconds by account.

        The graph gives each node a context of its own, so context variables do not outlive it.
        """
        return copy_context().run(self._step)

    def _step(self) -> dict[str, float]:
        answer = self._author.call()
        self._watch = Stopwatch()
        if self._is_new:
            self._node("before_agent")
            self._is_new = False
        self._node("before_model")
        result, update = self._call_model(answer)
        for one in ({"messages": result}, update, {"messages": [self._author.result()]}):
            self._write(one)
        return {account: self._watch.seconds[account] for account in ACCOUNTS}

    def _node(self, hook: str) -> None:
        if _has(self._middleware, hook):
            self._watch.turn("before")
            update = getattr(self._middleware, hook)(self._state, self._runtime)
            self._watch.turn("host")
            self._write(update)

    def _call_model(self, answer: BaseMessage) -> tuple[list[BaseMessage], State | None]:
        def handler(request: ModelRequest[Any]) -> ModelResponse[Any]:
            self._watch.turn("host")
            convert_to_openai_messages(request.messages)
            response = ModelResponse(result=[answer])
            self._watch.turn("note")
            return response

        request = ModelRequest(model=MODEL, messages=self.messages, state=self._state, runtime=self._runtime)  # type: ignore[arg-type]  # the host's state is a dictionary of a union of its own classes
        hooked = _has(self._middleware, "wrap_model_call")
        self._watch.turn("before")
        response = self._middleware.wrap_model_call(request, handler) if hooked else handler(request)
        self._watch.turn("host")
        return _unpacked(response)

    def _write(self, update: State | None) -> None:
        """Write an update as the graph does: messages by its reducer, all else in the place of the old."""
        if update:
            state = {**self._state, **update}
            if "messages" in update:
                state["messages"] = add_messages(self._state["messages"], update["messages"])
            self._state = state


def _has(middleware: Middleware, hook: str) -> bool:
    return getattr(type(middleware), hook) is not getattr(AgentMiddleware, hook)


def _unpacked(response: Any) -> tuple[list[BaseMessage], State | None]:
    if not isinstance(response, ExtendedModelResponse):
        return response.result, None
    update = response.command.update if response.command else None
    return response.model_response.result, update if isinstance(update, dict) else None


class ModelRun:
    """A tool loop of a caller who keeps the history, and calls `generate` of a chat model with all of it."""

    def __init__(self, model: BaseChatModel, history: list[BaseMessage]) -> None:
        self.messages = history
        self._model = model
        self._author = LangChainAuthor(2)

    async def step(self) -> dict[str, float]:
        """Make one model request, append the answer and a tool result, and return the seconds by account."""
        AnsweringChat.response, AnsweringChat.watch = self._author.call(), Stopwatch()
        watch, request = AnsweringChat.watch, [list(self.messages)]
        watch.turn("before")
        self._model.generate(request)
        watch.turn("host")
        self.messages += [AnsweringChat.response, self._author.result()]
        return {account: watch.seconds[account] for account in ACCOUNTS}


class FunctionRun:
    """A tool loop of a caller who keeps the history, and has a function trim it for each request."""

    def __init__(self, trim: Callable[[list[BaseMessage]], list[BaseMessage]], history: list[BaseMessage]) -> None:
        self.messages = history
        self._trim = trim
        self._author = LangChainAuthor(2)

    async def step(self) -> dict[str, float]:
        """Trim for one request, append an answer and a tool result, and return the seconds by account."""
        watch = Stopwatch()
        watch.turn("before")
        trimmed = self._trim(self.messages)
        watch.turn("host")
        convert_to_openai_messages(trimmed)
        self.messages += [self._author.call(), self._author.result()]
        return {account: watch.seconds[account] for account in ACCOUNTS}
