"""What earlier attempts at a request had sent, for the next attempt at the same one.

A retry or a fallback makes several attempts at one logical request; the prompt hook is asked and the edit is proved
once, and a later attempt takes both over. In an agent, all attempts of one model step share them (`ModelSteps`). Around
a wrapped model, attempts belong together when they stand below one parent run, or below one retry or fallback that was
wrapped with its sequences; only failed ones leave anything behind, so two equal requests of one batch never share an
edit (`FailedAttempts`). Measured on langchain-core 1.8.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Generator, Hashable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from langchain_core.callbacks import BaseCallbackManager
from langchain_core.messages import BaseMessage
from langchain_core.runnables import Runnable, RunnableConfig
from langchain_core.runnables.base import RunnableBinding
from langchain_core.runnables.config import ensure_config, var_child_runnable_config

from kedi_langchain.dialect import DIALECT
from kedi_langchain.editing import Attempt

LeftT = TypeVar("LeftT")
Key = tuple[bytes, ...]

_KEPT: Final = 256
"""How many callers with failed attempts are remembered."""

_ONE_CALL: Final = "__kedi_one_call"
"""The configurable that names the call of a retry or fallback; names like this stay out of traces and checkpoints."""

_invoking: ContextVar[Hashable] = ContextVar("kedi_invoking", default=None)


class _Left(Generic[LeftT]):
    """What failed attempts leave, by caller and by the fingerprints of messages; each is taken once."""

    def __init__(self) -> None:
        self._by_caller: OrderedDict[Hashable, dict[Key, list[LeftT]]] = OrderedDict()

    def leave(self, caller: Hashable, messages: Sequence[BaseMessage], left: LeftT) -> None:
        """Leave something; a request that stands alone leaves nothing."""
        if caller is not None:
            self._by_caller.setdefault(caller, {}).setdefault(_key(messages), []).append(left)
            while len(self._by_caller) > _KEPT:
                self._by_caller.popitem(last=False)

    def take(self, caller: Hashable, messages: Sequence[BaseMessage]) -> LeftT | None:
        """Take what was left, or None."""
        left = self._by_caller.get(caller) if caller is not None else None
        found = left.get(_key(messages)) if left else None
        return found.pop() if found else None


class FailedAttempts:
    """What failed attempts had done: their outcomes, and the prompts that the prompt hook had returned."""

    def __init__(self) -> None:
        self._outcomes: _Left[Attempt] = _Left()
        self._prompts: _Left[BaseMessage] = _Left()

    def leave(self, caller: Hashable, attempt: Attempt) -> None:
        """Leave an attempt that failed."""
        self._outcomes.leave(caller, attempt.shown, attempt)

    def take(self, caller: Hashable, messages: Sequence[BaseMessage]) -> Attempt | None:
        """Take over what an earlier attempt at this request left, or None."""
        return self._outcomes.take(caller, messages)

    def leave_prompt(self, caller: Hashable, given: BaseMessage, submitted: BaseMessage) -> None:
        """Leave what a failed attempt sent in place of the prompt it was given."""
        self._prompts.leave(caller, [given], submitted)

    def take_prompt(self, caller: Hashable, given: BaseMessage) -> BaseMessage | None:
        """Take over what an earlier attempt sent in place of this prompt, or None."""
        return self._prompts.take(caller, [given])


class ModelSteps:
    """The outcome of each model step of an agent under way, for whatever retry or fallback tries it again.

    A step is known by the callback manager the host makes for its node: all attempts find it in their context, and it
    goes when the step is over.
    """

    def __init__(self) -> None:
        self._steps: WeakKeyDictionary[Any, Attempt] = WeakKeyDictionary()
        self._prompts: WeakKeyDictionary[Any, tuple[BaseMessage, BaseMessage]] = WeakKeyDictionary()

    def remember(self, attempt: Attempt) -> None:
        """Remember what this step's attempts are to share."""
        if (step := _callbacks()) is not None:
            self._steps[step] = attempt

    def known(self, shown: tuple[BaseMessage, ...]) -> Attempt | None:
        """Return an earlier attempt at this step that showed the same messages, or None."""
        step = _callbacks()
        earlier = self._steps.get(step) if step is not None else None
        return earlier if earlier is not None and _are_same(earlier.shown, shown) else None

    def forget(self) -> None:
        """Forget what this step's attempts share: what it refers to is gone."""
        if (step := _callbacks()) is not None:
            self._steps.pop(step, None)

    def remember_prompt(self, given: BaseMessage, submitted: BaseMessage) -> None:
        """Remember what this step's attempts are to send in place of a prompt."""
        if (step := _callbacks()) is not None:
            self._prompts[step] = (given, submitted)

    def known_prompt(self, given: BaseMessage) -> BaseMessage | None:
        """Return what an earlier attempt at this step sent in place of this prompt, or None."""
        step = _callbacks()
        earlier = self._prompts.get(step) if step is not None else None
        return earlier[1] if earlier is not None and _are_same(earlier[:1], (given,)) else None


def _are_same(some: tuple[BaseMessage, ...], others: tuple[BaseMessage, ...]) -> bool:
    """By content, never by `==`: an artifact need not have a plain one."""
    if len(some) != len(others):
        return False
    pairs = ((one, other) for one, other in zip(some, others, strict=True) if one is not other)
    return all(_key([one]) == _key([other]) for one, other in pairs)


def _callbacks() -> BaseCallbackManager | None:
    """The manager itself: `ensure_config` would return a copy."""
    found = (var_child_runnable_config.get() or {}).get("callbacks")
    return found if isinstance(found, BaseCallbackManager) else None


def caller_of(config: RunnableConfig | None = None, callbacks: Any = None) -> Hashable:
    """Return what the attempts of one logical request have in common; None if this one stands alone."""
    known = ensure_config(config)
    marked = known.get("configurable", {}).get(_ONE_CALL)
    parent = getattr(callbacks or known.get("callbacks"), "parent_run_id", None)
    return next((one for one in (marked, _invoking.get(), parent) if one is not None), None)


@contextmanager
def invoking(config: RunnableConfig | None) -> Generator[None]:
    """Keep what `config` says of the caller for `generate`, which gets its callbacks alone."""
    token = _invoking.set(((config or {}).get("configurable") or {}).get(_ONE_CALL))
    try:
        yield
    finally:
        _invoking.reset(token)


def as_attempt(runnable: Runnable[Any, Any]) -> Runnable[Any, Any]:
    """Return what a retry or fallback tries, so that models deep in it know which call they are an attempt at."""
    return RunnableBinding(bound=runnable, config_factories=[_mark])


def _mark(config: RunnableConfig) -> RunnableConfig:
    return {"configurable": {_ONE_CALL: caller_of(config)}}


def _key(messages: Sequence[BaseMessage]) -> Key:
    return tuple(map(DIALECT.fingerprint, messages))
