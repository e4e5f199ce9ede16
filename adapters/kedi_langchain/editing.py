"""One model request and its edit: the piece that wrapped models, middleware and nodes share.

It turns the core's outcome into what LangChain sends: the edited messages, and model and arguments without server-side
state from before a rewrite. What becomes of the durable history is the callers' business.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage

from kedi_compile.history.context import RequestInfo
from kedi_compile.history.flow import Outcome, Skipped, Staged
from kedi_compile.session import RunSession
from kedi_langchain.continuation import model_without_old_state, without_old_state, without_response_ids
from kedi_langchain.usage import reported_tokens


@dataclass(frozen=True)
class EditedRequest:
    """A request to a chat model; `edit` and `aedit` return it as it goes out."""

    session: RunSession[BaseMessage]
    info: RequestInfo
    shown: tuple[BaseMessage, ...]
    model: BaseChatModel
    arguments: dict[str, Any] = field(default_factory=dict)
    outcome: Outcome[BaseMessage] = field(default_factory=Skipped)

    def edit(self) -> EditedRequest:
        """Run the condition and the processor on a synchronous path."""
        return self._finished(self.session.edit_sync(self.shown, self.info))

    async def aedit(self) -> EditedRequest:
        """Run the condition and the processor on an asynchronous path."""
        return self._finished(await self.session.edit(self.shown, self.info))

    def reuse(self, outcome: Outcome[BaseMessage]) -> EditedRequest:
        """Take over the outcome an earlier attempt at this logical request had, for a model that may be another.

        Raises:
            HistoryProcessingValidationError: the model binds reasoning that the edit left behind a change.
        """
        self.session.reuse(outcome)
        if isinstance(outcome, Staged):
            self.session.check_binding(outcome, self.info.model_names)
        return self._finished(outcome)

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

    def answered(self, response: BaseMessage | None, run_id: str | None = None) -> None:
        """Note the answer; None for a stream, whose answer the caller puts together."""
        info = replace(self.info, run_id=run_id or self.info.run_id)
        self.session.observe(self.history, response, reported_tokens(response) if response else None, info)


def request_info(model: BaseChatModel, request_index: int = 1, run_id: str | None = None) -> RequestInfo:
    """Describe a request to a chat model."""
    name = model_name(model)
    provider = str(model._get_ls_params().get("ls_provider") or model._llm_type)  # noqa: SLF001  # how core names it
    return RequestInfo(f"{provider}:{name}", request_index, run_id=run_id, model_names=(name,))


def model_name(model: BaseChatModel) -> str:
    """Return the model's name, or its type where it has none."""
    found = (getattr(model, attribute, None) for attribute in ("model_name", "model", "model_id"))
    return next((name for name in found if isinstance(name, str) and name), model._llm_type)  # noqa: SLF001  # as above
