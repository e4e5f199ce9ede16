"""Rebuilding a runnable so that every chat model in it edits its history.

The rule: models are wrapped where they stand, in what `_REBUILDERS` lists; what holds a model and cannot be looked into
is refused with a word on what to wrap instead, never passed through. Measured on langchain-core 1.8.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, cast

from langchain_core.language_models import BaseChatModel
from langchain_core.runnables import (
    Runnable,
    RunnableAssign,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnableSequence,
    RunnableWithFallbacks,
)
from langchain_core.runnables.base import RunnableBindingBase, RunnableEachBase
from langchain_core.runnables.retry import RunnableRetry
from langgraph.pregel import Pregel

from kedi_compile import HistoryConfigurationError
from kedi_langchain.attempts import as_attempt
from kedi_langchain.wrapped import EditingModel

Wrap = Callable[[BaseChatModel], BaseChatModel]


def rebuild(runnable: Runnable[Any, Any], wrap: Wrap) -> Runnable[Any, Any]:
    """Return `runnable` with every chat model in it wrapped; the given one is left alone.

    Raises:
        HistoryConfigurationError: there is no chat model in it, or it cannot be looked into.
    """
    if isinstance(runnable, BaseChatModel):
        return wrap(runnable)
    _refuse_name(runnable)
    for kind, rebuilder in _REBUILDERS:
        if isinstance(runnable, kind):
            return rebuilder(_with_a_model(runnable), wrap)
    name = type(runnable).__name__
    msg = (
        f"A {name} cannot be looked into, so its requests would go out unedited; wrap the chat model itself before "
        "composing it, or use `.middleware()` for an agent"
    )
    raise HistoryConfigurationError(msg)


def _refuse_name(runnable: Any) -> None:
    if isinstance(runnable, (str, type)):
        name = runnable if isinstance(runnable, str) else runnable.__name__
        msg = f"{name!r} is no chat model but the name of one; make it first, for example with `init_chat_model`"
        raise HistoryConfigurationError(msg)


def _with_a_model(runnable: Any) -> Any:
    if not may_hold_model(runnable):
        msg = (
            f"There is no chat model in sight in this {type(runnable).__name__}; wrap the chat model itself before "
            "composing it"
        )
        raise HistoryConfigurationError(msg)
    return runnable


def may_hold_model(value: object) -> bool:
    """Tell whether a chat model may be asked somewhere in this value: a runnable, or anything one is made of."""
    # The class of a configurable model is private to the host, so it goes by name.
    if isinstance(value, (BaseChatModel, Pregel)) or type(value).__name__ == "_ConfigurableModel":
        return True
    return any(map(may_hold_model, _parts(value)))


def _parts(value: object) -> Iterator[object]:
    if isinstance(value, RunnableLambda):
        yield from value.deps
    elif isinstance(value, Runnable):
        yield from vars(value).values()
    elif isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, (list, tuple)):
        yield from value


def _step(runnable: Runnable[Any, Any], wrap: Wrap) -> Runnable[Any, Any]:
    return rebuild(runnable, wrap) if may_hold_model(runnable) else runnable


def _bound(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    return cast("Runnable[Any, Any]", runnable.model_copy(update={"bound": rebuild(runnable.bound, wrap)}))


def _retry(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    return cast("Runnable[Any, Any]", runnable.model_copy(update={"bound": _attempt(runnable.bound, wrap)}))


def _fallbacks(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    first, *others = (_attempt(one, wrap) for one in runnable.runnables)
    return cast("Runnable[Any, Any]", runnable.model_copy(update={"runnable": first, "fallbacks": others}))


def _attempt(runnable: Runnable[Any, Any], wrap: Wrap) -> Runnable[Any, Any]:
    rebuilt = _step(runnable, wrap)
    return rebuilt if _is_direct(rebuilt) else as_attempt(rebuilt)


def _is_direct(runnable: object) -> bool:
    """Whether an attempt is a model's own, so that its parent run is the call it is an attempt at."""
    if isinstance(runnable, RunnableBindingBase) and not isinstance(runnable, RunnableRetry):
        return _is_direct(runnable.bound)
    return isinstance(runnable, BaseChatModel)


def _sequence(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    return RunnableSequence(*(_step(step, wrap) for step in runnable.steps), name=runnable.name)


def _parallel(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    return RunnableParallel({name: _step(step, wrap) for name, step in runnable.steps__.items()})


def _assign(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    return RunnableAssign(cast("RunnableParallel[Any]", _parallel(runnable.mapper, wrap)), name=runnable.name)


def _branch(runnable: Any, wrap: Wrap) -> Runnable[Any, Any]:
    branches = [(_step(condition, wrap), _step(then, wrap)) for condition, then in runnable.branches]
    return RunnableBranch(*branches, _step(runnable.default, wrap))


_REBUILDERS: Final[tuple[tuple[type, Callable[[Any, Wrap], Runnable[Any, Any]]], ...]] = (
    (RunnableRetry, _retry),
    (RunnableBindingBase, _bound),
    (RunnableEachBase, _bound),
    (RunnableWithFallbacks, _fallbacks),
    (RunnableSequence, _sequence),
    (RunnableParallel, _parallel),
    (RunnableAssign, _assign),
    (RunnableBranch, _branch),
)


def refuse_wrapped(model: object) -> None:
    """Refuse a model that is wrapped already: it would be edited twice.

    Raises:
        HistoryConfigurationError: the model is wrapped already.
    """
    if isinstance(model, EditingModel):
        msg = (
            f"This {type(model).__name__} is wrapped already, and its requests would be edited twice; give the model "
            "as it was before `.wrap`"
        )
        raise HistoryConfigurationError(msg)
