"""One model request and its edit: the piece that wrapped models, middleware and nodes share.

It turns the core's outcome into what LangChain sends: the edited messages, and model and arguments without server-side
state from before a rewrite. What becomes of the durable history is the callers' business.
"""

from __future__ import annotations

from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field, replace
from itertools import takewhile
from typing import Any, NamedTuple

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langgraph.errors import GraphBubbleUp

from kedi_compile import HistoryProcessingError
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.flow import Outcome, Skipped, Staged
from kedi_compile.session import RunSession
from kedi_langchain.continuation import model_without_old_state, without_old_state, without_response_ids
from kedi_langchain.conversation import ConversationCall
from kedi_langchain.usage import reported_tokens


class Attempt(NamedTuple):
    """What an attempt at a request was shown, and what became of it."""

    shown: tuple[BaseMessage, ...]
    outcome: Outcome[BaseMessage]


@dataclass(frozen=True)
class EditedRequest:
    """A request to a chat model; `edit` and `aedit` return it as it goes out."""

    session: RunSession[BaseMessage]
    info: RequestInfo
    shown: tuple[BaseMessage, ...]
    model: BaseChatModel
    arguments: dict[str, Any] = field(default_factory=dict)
    outcome: Outcome[BaseMessage] = field(default_factory=Skipped)
    front: int = 0
    """How many of the shown messages are a conversation's and stand in front of a thread's own."""
    call: ConversationCall | None = None
    """The turn that this request is the whole of."""
    prompt: BaseMessage | None = None
    """The prompt that the hook was asked about, as it was given; what it returned is the last that is shown."""

    def edit(self, known: Attempt | None = None) -> EditedRequest:
        """Take over an attempt that is known, or run the condition and the processor on a synchronous path."""
        if known is not None or not self._is_to_edit:
            return self.reuse(known or Attempt(self.shown, Skipped()))
        with _letting_the_graph_pause():
            return self._finished(self.session.edit_sync(self.shown, self.info))

    async def aedit(self, known: Attempt | None = None) -> EditedRequest:
        """Do what `edit` does on an asynchronous path."""
        if known is not None or not self._is_to_edit:
            return self.reuse(known or Attempt(self.shown, Skipped()))
        with _letting_the_graph_pause():
            return self._finished(await self.session.edit(self.shown, self.info))

    @property
    def _is_to_edit(self) -> bool:
        return bool(self.shown) and self.session.is_active

    @property
    def attempt(self) -> Attempt:
        """What a later attempt at this request takes over."""
        return Attempt(self.shown, self.outcome)

    def reuse(self, earlier: Attempt) -> EditedRequest:
        """Take over what an earlier attempt at this logical request had, for a model that may be another.

        Raises:
            HistoryProcessingValidationError: the model binds reasoning that the edit left behind a change.
        """
        shown, outcome = earlier
        self.session.reuse(outcome)
        if isinstance(outcome, Staged):
            self.session.check_binding(outcome, self.info.model_names)
        taken = replace(self, shown=shown)
        return taken._finished(outcome)  # noqa: SLF001  # its own class

    def _finished(self, outcome: Outcome[BaseMessage]) -> EditedRequest:
        if self.session.continuation.may_name_old_state:
            return replace(self, outcome=outcome)
        clean = without_old_state(self.arguments)
        return replace(self, outcome=outcome, model=model_without_old_state(self.model), arguments=clean)

    @property
    def is_rewritten(self) -> bool:
        """Whether this request's history was edited."""
        return isinstance(self.outcome, Staged)

    @property
    def history(self) -> list[BaseMessage]:
        """The history as it is to be kept, without the answer."""
        return list(self.outcome.messages if isinstance(self.outcome, Staged) else self.shown)

    @property
    def messages(self) -> list[BaseMessage]:
        """The messages to send."""
        return without_response_ids(self.history, self.model) if self.is_rewritten else self.history

    @property
    def cut(self) -> int:
        """Where in `history` what belongs to the thread begins: behind the last message of the conversation.

        A new text behind it belongs to the conversation too where the thread's own first message comes next: then it
        stands for what was the conversation's.
        """
        if not self.front:
            return 0
        entries = list(self.outcome.entries) if isinstance(self.outcome, Staged) else list(range(len(self.shown)))
        behind = 1 + max(
            (place for place, entry in enumerate(entries) if entry is not None and entry < self.front), default=-1
        )
        new = len(list(takewhile(lambda entry: entry is None, entries[behind:])))
        return behind + new if entries[behind + new] == self.front else behind

    def read(self) -> AbstractContextManager[None]:
        """Let the caller of a stream do what it likes between two chunks."""
        return nullcontext() if self.call is None else self.call.turn.read()

    async def commit(self, answer: BaseMessage | None) -> None:
        """Commit the turn that this request is, if it is one; without an answer nothing is committed."""
        if self.call is not None:
            await self.call.turn.end(self.call.committed(self.history, answer, self.session.carried))

    def commit_sync(self, answer: BaseMessage | None) -> None:
        """Do what `commit` does on a synchronous path."""
        if self.call is not None:
            self.call.turn.end_sync(self.call.committed(self.history, answer, self.session.carried))

    async def abandon(self, error: BaseException) -> None:
        """Give up the turn that this request is, if it is one."""
        if self.call is not None:
            await self.call.turn.abandon(error)

    def abandon_sync(self, error: BaseException) -> None:
        """Do what `abandon` does on a synchronous path."""
        if self.call is not None:
            self.call.turn.abandon_sync(error)

    def answered(self, response: BaseMessage | None, run_id: str | None = None) -> None:
        """Note the answer; None for a stream, whose answer the caller puts together."""
        if not self.shown:
            return
        info = replace(self.info, run_id=run_id or self.info.run_id)
        self.session.observe(self.history, response, reported_tokens(response) if response else None, info)


@contextmanager
def _letting_the_graph_pause() -> Generator[None]:
    """Let `interrupt()` in a callback pause the graph, as in any other code of a node."""
    try:
        yield
    except HistoryProcessingError as error:
        if isinstance(error.__cause__, GraphBubbleUp):
            raise error.__cause__ from None
        raise


def request_info(model: BaseChatModel, request_index: int = 1, run_id: str | None = None) -> RequestInfo:
    """Describe a request to a chat model."""
    name = model_name(model)
    provider = str(model._get_ls_params().get("ls_provider") or model._llm_type)  # noqa: SLF001  # how core names it
    return RequestInfo(f"{provider}:{name}", request_index, run_id=run_id, model_names=(name,))


def model_name(model: BaseChatModel) -> str:
    """Return the model's name, or its type where it has none."""
    found = (getattr(model, attribute, None) for attribute in ("model_name", "model", "model_id"))
    return next((name for name in found if isinstance(name, str) and name), model._llm_type)  # noqa: SLF001  # as above
