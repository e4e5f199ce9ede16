"""Rebuilding a runnable so that every chat model in it edits its history.

The rule: models are wrapped where they stand, in bindings, sequences, parallels, retries and fallbacks; what cannot be
looked into is refused with a word on what to wrap instead, never passed through. Retries and fallbacks are one logical
request: their attempts share one edit.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, TypeVar, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableParallel, RunnableSequence, RunnableWithFallbacks
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.retry import RunnableRetry

from kedi_compile import HistoryConfigurationError
from kedi_compile.history.flow import Outcome
from kedi_langchain.dialect import LangChainDialect
from kedi_langchain.wrapped import EditingModel

RunnableT = TypeVar("RunnableT", bound=Runnable[Any, Any])
Wrap = Callable[[BaseChatModel], BaseChatModel]
Memo = dict[tuple[bytes, ...], Outcome[BaseMessage]]

_outcomes: ContextVar[Memo | None] = ContextVar("kedi_outcomes", default=None)
"""The outcomes of the logical request under way, by the fingerprints of its messages; attempts reuse them."""


def shared_outcome(messages: Sequence[BaseMessage]) -> Outcome[BaseMessage] | None:
    """Return the outcome an earlier attempt at this logical request had, or None."""
    known = _outcomes.get()
    return known.get(_key(messages)) if known else None


def share_outcome(messages: Sequence[BaseMessage], outcome: Outcome[BaseMessage]) -> None:
    """Keep an outcome for later attempts, if there may be any."""
    known = _outcomes.get()
    if known is not None:
        known[_key(messages)] = outcome


def _key(messages: Sequence[BaseMessage]) -> tuple[bytes, ...]:
    return tuple(map(LangChainDialect().fingerprint, messages))


def rebuild(runnable: Runnable[Any, Any], wrap: Wrap) -> Runnable[Any, Any]:
    """Return `runnable` with every chat model in it wrapped; the given one is left alone.

    Raises:
        HistoryConfigurationError: there is no chat model in it, or it cannot be looked into.
    """
    if isinstance(runnable, BaseChatModel):
        return wrap(runnable)
    for kind, rebuilder in _REBUILDERS:
        if isinstance(runnable, kind):
            return rebuilder(runnable, wrap)
    name = type(runnable).__name__
    msg = (
        f"A {name} cannot be looked into, so its requests would go out unedited; wrap the chat model itself before "
        "composing it, or use `.middleware()` for an agent"
    )
    raise HistoryConfigurationError(msg)


def holds_model(runnable: object) -> bool:
    """Tell whether there is a chat model in sight, in this runnable or in what it is made of."""
    if isinstance(runnable, BaseChatModel):
        return True
    if isinstance(runnable, RunnableBindingBase):
        return holds_model(runnable.bound)
    if isinstance(runnable, RunnableWithFallbacks):
        return any(map(holds_model, runnable.runnables))
    if isinstance(runnable, RunnableSequence):
        return any(map(holds_model, runnable.steps))
    return isinstance(runnable, RunnableParallel) and any(map(holds_model, runnable.steps__.values()))


def _binding(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    return cast("Runnable[Any, Any]", runnable.model_copy(update={"bound": rebuild(runnable.bound, wrap)}))


def _retry(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    return _one_request(_binding(runnable, wrap))


def _fallbacks(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    first, others = rebuild(runnable.runnable, wrap), [rebuild(one, wrap) for one in runnable.fallbacks]
    return _one_request(runnable.model_copy(update={"runnable": first, "fallbacks": others}))


def _sequence(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    if not holds_model(runnable):
        msg = "There is no chat model in sight in this sequence; wrap the chat model itself before composing it"
        raise HistoryConfigurationError(msg)
    steps = [rebuild(step, wrap) if holds_model(step) else step for step in runnable.steps]
    return RunnableSequence(*steps, name=runnable.name)


def _parallel(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    steps = {name: rebuild(step, wrap) if holds_model(step) else step for name, step in runnable.steps__.items()}
    if not holds_model(runnable):
        msg = "There is no chat model in sight in this parallel; wrap the chat model itself before composing it"
        raise HistoryConfigurationError(msg)
    return RunnableParallel(steps)


_REBUILDERS: Final[tuple[tuple[type, Callable[[Any, Wrap], Runnable[Any, Any]]], ...]] = (
    (RunnableRetry, _retry),
    (RunnableBindingBase, _binding),
    (RunnableWithFallbacks, _fallbacks),
    (RunnableSequence, _sequence),
    (RunnableParallel, _parallel),
)


class _OneRequest:
    """Opens the memory that the attempts of one logical request share."""

    def invoke(self, *args: Any, **kwargs: Any) -> Any:
        with _shared():
            return super().invoke(*args, **kwargs)  # type: ignore[misc]  # a mixin in front of a runnable

    def batch(self, *args: Any, **kwargs: Any) -> Any:
        with _shared():
            return super().batch(*args, **kwargs)  # type: ignore[misc]  # a mixin in front of a runnable

    async def ainvoke(self, *args: Any, **kwargs: Any) -> Any:
        with _shared():
            return await super().ainvoke(*args, **kwargs)  # type: ignore[misc]  # a mixin in front of a runnable

    async def abatch(self, *args: Any, **kwargs: Any) -> Any:
        with _shared():
            return await super().abatch(*args, **kwargs)  # type: ignore[misc]  # a mixin in front of a runnable


@contextmanager
def _shared() -> Generator[None]:
    token = _outcomes.set({})
    try:
        yield
    finally:
        _outcomes.reset(token)


def _one_request(runnable: RunnableT) -> RunnableT:
    """Make the attempts of a retry or a fallback share one edit."""
    cls = type(runnable)
    if not issubclass(cls, _OneRequest):
        namespace = {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
        runnable = runnable.model_copy()  # type: ignore[attr-defined]  # both kinds are serializable models
        runnable.__class__ = type(cls.__name__, (_OneRequest, cls), namespace)
    return runnable


def refuse_wrapped(model: object) -> None:
    """Refuse a model that is wrapped already: it would be edited twice.

    Raises:
        HistoryConfigurationError: it is.
    """
    if isinstance(model, EditingModel):
        msg = f"This {type(model).__name__} is wrapped already; two edits of one request would follow each other"
        raise HistoryConfigurationError(msg)
