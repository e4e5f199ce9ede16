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

from kedi_compile.assembly.run import AssembledStep
from kedi_compile.conversation.lanes import Lane
from kedi_compile.conversation.turns import Turn
from kedi_compile.dump.recording import RequestRecord
from kedi_compile.history.context import RequestInfo
from kedi_compile.history.flow import Outcome, Skipped, Staged
from kedi_compile.session import RunSession
from kedi_langchain.assembly import RunTails, live_request, with_system_first
from kedi_langchain.continuation import model_without_old_state, without_old_state, without_response_ids
from kedi_langchain.conversation import ConversationCall
from kedi_langchain.pauses import is_pause, letting_the_graph_pause
from kedi_langchain.usage import reported_tokens, reported_usage


class Attempt(NamedTuple):
    """What an attempt at a request was shown, and what became of it."""

    shown: tuple[BaseMessage, ...]
    outcome: Outcome[BaseMessage]
    assembled: AssembledStep | None = None
    tails: RunTails | None = None
    """Which put what was assembled to its place."""


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
    tools: tuple[Any, ...] = ()
    tails: RunTails | None = None
    """The assembly of the run that this request belongs to."""
    assembled: AssembledStep | None = None
    record: RequestRecord | None = None

    def edit(self, known: Attempt | None = None) -> EditedRequest:
        """Take over an attempt that is known, or run the condition and the processor on a synchronous path."""
        with letting_the_graph_pause():
            if known is not None or not self._is_to_edit:
                again = self.reuse(known or Attempt(self.shown, Skipped()))
                return again if again.assembled is not None else again.assemble()
            return self._finished(self.session.edit_sync(self.shown, self.info)).assemble()

    async def aedit(self, known: Attempt | None = None) -> EditedRequest:
        """Do what `edit` does on an asynchronous path."""
        with letting_the_graph_pause():
            if known is not None or not self._is_to_edit:
                again = self.reuse(known or Attempt(self.shown, Skipped()))
                return again if again.assembled is not None else await again.aassemble()
            return await self._finished(await self.session.edit(self.shown, self.info)).aassemble()

    def assemble(self) -> EditedRequest:
        """Assemble the edited request, where its run is assembled."""
        if self.tails is None or not self.shown:
            return self
        live, standing = live_request(self.history, self.info, self.tools), self.tails.standing(self.history)
        return self._with_assembled(self.session.assemble_sync(self.history, self.info, live, standing))

    async def aassemble(self) -> EditedRequest:
        """Do what `assemble` does on an asynchronous path."""
        if self.tails is None or not self.shown:
            return self
        live, standing = live_request(self.history, self.info, self.tools), self.tails.standing(self.history)
        return self._with_assembled(await self.session.assemble(self.history, self.info, live, standing))

    def _with_assembled(self, assembled: AssembledStep) -> EditedRequest:
        """What no server-side chain may go on from names none either."""
        if self.record is not None:
            self.record.assembly = assembled.dump()
        model, arguments = model_without_old_state(self.model), without_old_state(self.arguments)
        return replace(self, assembled=assembled, model=model, arguments=arguments)

    @property
    def _is_to_edit(self) -> bool:
        return bool(self.shown) and self.session.is_active

    @property
    def attempt(self) -> Attempt:
        """What a later attempt at this request takes over."""
        return Attempt(self.shown, self.outcome, self.assembled, self.tails)

    def reuse(self, earlier: Attempt) -> EditedRequest:
        """Take over what an earlier attempt at this logical request had, for a model that may be another.

        Raises:
            HistoryProcessingValidationError: the model binds reasoning that the edit left behind a change.
        """
        shown, outcome, assembled, tails = earlier
        self.session.reuse(outcome, shown)
        if isinstance(outcome, Staged):
            self.session.check_binding(outcome, self.info.model_names)
        taken = replace(self, shown=shown)._finished(outcome)  # noqa: SLF001  # its own class
        self.session.check_fallback(taken.history, self.info, self.info.model_names)
        return taken if assembled is None else replace(taken, tails=tails)._with_assembled(assembled)  # noqa: SLF001

    def _finished(self, outcome: Outcome[BaseMessage]) -> EditedRequest:
        if self.session.continuation.may_name_old_state:
            return replace(self, outcome=outcome)
        clean = without_old_state(self.arguments)
        return replace(self, outcome=outcome, model=model_without_old_state(self.model), arguments=clean)

    @property
    def may_name_old_state(self) -> bool:
        """Whether the request may name state on the provider's side: not behind a rewrite, nor with assembled texts."""
        return self.session.continuation.may_name_old_state and self.assembled is None

    @property
    def is_followed(self) -> bool:
        """Whether somebody wants to know the whole answer of a stream."""
        return self.call is not None or self.record is not None

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
        bare = self.is_rewritten or self.assembled is not None
        messages = without_response_ids(self.history, self.model) if bare else self.history
        if self.assembled is None or self.tails is None:
            return messages
        return self.tails.put(messages, self.assembled.tails)

    @property
    def whole(self) -> list[BaseMessage]:
        """The messages to send to a chat model, which takes its system message with them."""
        return self.messages if self.assembled is None else with_system_first(self.messages, self.assembled.system)

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

    def durable(self, answer: BaseMessage) -> BaseMessage:
        """Return an answer as it is kept: without the id of a response whose request held assembled texts.

        A later request that goes on from it would bring them back, whoever makes it.
        """
        return answer if self.assembled is None else without_response_ids([answer], self.model)[0]

    def read(self) -> AbstractContextManager[None]:
        """Let the caller of a stream do what it likes between two chunks."""
        return nullcontext() if self.call is None else self.call.turn.read()

    async def commit(self, answer: BaseMessage | None) -> None:
        """Commit the turn that this request is, if it is one; without an answer nothing is committed."""
        if self.call is not None:
            await self.call.turn.end(self._committed(self.call, answer))

    def commit_sync(self, answer: BaseMessage | None) -> None:
        """Do what `commit` does on a synchronous path."""
        if self.call is not None:
            self.call.turn.end_sync(self._committed(self.call, answer))

    def _committed(self, call: ConversationCall, answer: BaseMessage | None) -> Lane[BaseMessage] | None:
        kept = None if answer is None else self.durable(answer)
        return call.committed(self.history, kept, self.session.carried)

    async def abandon(self, error: BaseException) -> None:
        """Give up the turn that this request is, if it is one."""
        if self.call is not None:
            await self.call.turn.abandon(error)

    def abandon_sync(self, error: BaseException) -> None:
        """Do what `abandon` does on a synchronous path."""
        if self.call is not None:
            self.call.turn.abandon_sync(error)

    @contextmanager
    def recording(self) -> Generator[None]:
        """Write down why no answer came, where none does."""
        try:
            yield
        except BaseException as error:
            self.failed(error)
            raise

    def unseen(self) -> None:
        """Write down a request whose answer nobody sees here."""
        if self.record is not None:
            self.record.history = self.session.report()
            self.record.sent()

    def failed(self, error: BaseException) -> None:
        """Write down why no answer came."""
        if self.record is None:
            return
        if is_pause(error):
            self.record.given_up(error)
            return
        self.record.history = self.session.report()
        self.record.failed(error)

    def answered(self, response: BaseMessage | None, run_id: str | None = None) -> None:
        """Note the answer; None for a stream, whose answer the caller puts together."""
        if self.record is not None:
            self.record.history = self.session.report()
            self.record.answered(reported_usage(response))
        if not self.shown:
            return
        info = replace(self.info, run_id=run_id or self.info.run_id)
        self.session.observe(self.history, response, reported_tokens(response) if response else None, info)


def request_info(model: BaseChatModel, request_index: int = 1, run_id: str | None = None) -> RequestInfo:
    """Describe a request to a chat model."""
    name = model_name(model)
    provider = str(model._get_ls_params().get("ls_provider") or model._llm_type)  # noqa: SLF001  # how core names it
    return RequestInfo(f"{provider}:{name}", request_index, run_id=run_id, model_names=(name,))


def in_conversation(info: RequestInfo, turn: Turn | None) -> RequestInfo:
    """Return the description with the name of the conversation that the request is a turn of, if it is of one."""
    return info if turn is None else replace(info, conversation_id=turn.state.session_id)


def model_name(model: BaseChatModel) -> str:
    """Return the model's name, or its type where it has none."""
    found = (getattr(model, attribute, None) for attribute in ("model_name", "model", "model_id"))
    return next((name for name in found if isinstance(name, str) and name), model._llm_type)  # noqa: SLF001  # as above
