"""`history_scope`: which conversation and which processing hold for the calls inside, lexically.

The rule: what a scope leaves out is inherited, from the scope around it and at last from the adapter. A new processor
without a condition is unconditional, None clears, and nothing of an adapter is changed. A call takes the scope it is
made in, also where its stream is read elsewhere. Source: History specification, Native Configuration and Conditional
Processing.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Collection, Generator
from contextlib import AbstractContextManager, contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any, Final, Literal, TypeVar, overload

from kedi_compile.conversation.state import ConversationState
from kedi_compile.conversation.tickets import Ticket, around
from kedi_compile.errors import HistoryConfigurationError
from kedi_compile.history.context import HistoryProcessorCallback, HistoryProcessorCondition
from kedi_compile.history.policy import HistoryPolicy, check_callable, warn_about_prefix

MessageT = TypeVar("MessageT")


class Omitted(Enum):
    """What stands for an argument that was left out, where None means something."""

    OMITTED = "omitted"

    def __repr__(self) -> str:
        return "<omitted>"


OMITTED: Final = Omitted.OMITTED

Processor = HistoryProcessorCallback[Any] | None | Literal[Omitted.OMITTED]
Condition = HistoryProcessorCondition | None | Literal[Omitted.OMITTED]


@dataclass(frozen=True, slots=True)
class HistoryProcessingSettings:
    """What a profile or a scope says about processing; left out is inherited, None clears.

    With `inherit_processor=False`, a processor that is left out is none.

    Raises:
        HistoryConfigurationError: something not callable, or a condition beside a processor that is None.
    """

    processor: Processor = OMITTED
    condition: Condition = OMITTED
    inherit_processor: bool = True

    def __post_init__(self) -> None:
        for name, value in (("processor", self.processor), ("condition", self.condition)):
            if value is not OMITTED:
                check_callable(name, value)
        if self.own_processor is None and callable(self.condition):
            msg = (
                "A condition stands beside a processor that is None; a condition alone does nothing, so give a "
                "processor too, or leave the condition out"
            )
            raise HistoryConfigurationError(msg)

    @property
    def own_processor(self) -> Processor:
        """The processor it sets: none, if it inherits none and names none."""
        return None if self.processor is OMITTED and not self.inherit_processor else self.processor

    def over(self, outer: HistoryProcessingSettings) -> HistoryProcessingSettings:
        """Return what holds inside `outer`."""
        processor = self.own_processor
        if processor is OMITTED:
            return replace(outer, condition=outer.condition if self.condition is OMITTED else self.condition)
        return HistoryProcessingSettings(processor, None if self.condition is OMITTED else self.condition)


@dataclass(frozen=True, slots=True)
class AgentProfile:
    """What calls of a kind have in common; None inherits.

    Raises:
        HistoryConfigurationError: `history_processing` is something else.
    """

    history_processing: HistoryProcessingSettings | None = None

    def __post_init__(self) -> None:
        _check_settings(self.history_processing)


def _check_settings(given: object) -> None:
    if given is not None and not isinstance(given, HistoryProcessingSettings):
        msg = f"`history_processing` is {given!r}; pass `HistoryProcessingSettings`, or None to inherit"
        raise HistoryConfigurationError(msg)


@dataclass(frozen=True, slots=True)
class Scope:
    """What holds for a call; `given_within` are the turns inside which `state` was named."""

    enabled: bool = False
    state: ConversationState | None = None
    processing: HistoryProcessingSettings = HistoryProcessingSettings()
    given_within: tuple[Ticket, ...] = ()

    def policy(self, own: HistoryPolicy[MessageT]) -> HistoryPolicy[MessageT]:
        """Return an adapter's own policy as it is in this scope; the same one if nothing is set.

        Raises:
            HistoryConfigurationError: a condition is left without a processor.
        """
        inherited = HistoryProcessingSettings(own.processor, own.condition)
        found = self.processing.over(inherited)
        assert found.processor is not OMITTED  # an adapter leaves nothing out
        assert found.condition is not OMITTED  # an adapter leaves nothing out
        if found.processor is own.processor and found.condition is own.condition:
            return own
        return replace(own, processor=found.processor, condition=found.condition)


_scopes: ContextVar[tuple[Scope, ...]] = ContextVar("kedi_scopes", default=())

_NO_SCOPE: Final = Scope()


def current_scope() -> Scope:
    """Return the scope of the caller."""
    scopes = _scopes.get()
    return scopes[-1] if scopes else _NO_SCOPE


def refuse_processing(adapter: str, capabilities: Collection[str]) -> None:
    """Refuse the processor or condition of this scope for an adapter that cannot run one.

    Raises:
        HistoryConfigurationError: one is set, and `capabilities` lack `"history_processing"`.
    """
    set_here = current_scope().processing
    if "history_processing" not in capabilities and (callable(set_here.processor) or callable(set_here.condition)):
        msg = (
            f"The {adapter} adapter cannot run a history processor, and this scope sets one; nothing was sent. Use "
            "`history_scope(processor=None)` around the call"
        )
        raise HistoryConfigurationError(msg)


@contextmanager
def entered(scope: Scope) -> Generator[None]:
    """Make a scope the current one inside, as it was captured elsewhere."""
    frame = replace(scope)  # the same scope may be entered twice
    _scopes.set((*_scopes.get(), frame))
    try:
        yield
    finally:
        # Left by name and not by `reset`: a generator may be left in another context, or out of order.
        _scopes.set(tuple(one for one in _scopes.get() if one is not frame))


@overload
def history_scope(
    enabled: Literal[True],
    state: ConversationState | None = ...,
    processor: Processor = ...,
    processor_condition: Condition = ...,
    profile: AgentProfile | None = ...,
) -> AbstractContextManager[ConversationState]: ...


@overload
def history_scope(
    enabled: bool | None = ...,  # noqa: FBT001  # reads well: `history_scope(False)`
    state: ConversationState | None = ...,
    processor: Processor = ...,
    processor_condition: Condition = ...,
    profile: AgentProfile | None = ...,
) -> AbstractContextManager[ConversationState | None]: ...


@contextmanager
def history_scope(
    enabled: bool | None = None,  # noqa: FBT001  # as above
    state: ConversationState | None = None,
    processor: Processor = OMITTED,
    processor_condition: Condition = OMITTED,
    profile: AgentProfile | None = None,
) -> Generator[Any]:
    """Say which conversation and processing hold for the calls inside, in this task and those it starts.

    Args:
        enabled: True continues a conversation from call to call, False runs calls without one, None inherits.
        state: The conversation to continue. None inherits; where there is none to inherit, True makes a new one.
        processor: The processor of the calls inside; left out it is inherited, None runs none.
        processor_condition: Its condition; left out it is inherited with the processor, None clears it.
        profile: Settings that stand between those of the scope around and the arguments given here.

    Yields:
        The conversation, also one that is disabled here; None where there is none.

    Raises:
        HistoryConfigurationError: an argument that can never work. A condition that finds no processor is refused by
            the call, before any model I/O.

    Source: History specification, Stateful Conversation History and Native Configuration.
    """
    _check(enabled, state, profile, processor_condition)
    processing = HistoryProcessingSettings(processor, processor_condition)
    if profile is not None and profile.history_processing is not None:
        processing = processing.over(profile.history_processing)
    if callable(processing.processor):
        _warn_once(processing.processor)
    scope = _inside(current_scope(), enabled=enabled, state=state, processing=processing)
    with entered(scope):
        yield scope.state


def _check(enabled: object, state: object, profile: object, condition: object) -> None:
    if enabled is not None and not isinstance(enabled, bool):
        msg = f"`enabled` is {enabled!r}; it must be True, False, or None to inherit"
        raise HistoryConfigurationError(msg)
    if state is not None and not isinstance(state, ConversationState):
        msg = f"`state` is {state!r}; pass a `ConversationState`, or None to inherit"
        raise HistoryConfigurationError(msg)
    if profile is not None and not isinstance(profile, AgentProfile):
        msg = f"`profile` is {profile!r}; pass an `AgentProfile`, or None"
        raise HistoryConfigurationError(msg)
    if condition is not OMITTED:
        check_callable("processor_condition", condition)


def _inside(
    outer: Scope,
    *,
    enabled: bool | None,
    state: ConversationState | None,
    processing: HistoryProcessingSettings,
) -> Scope:
    is_enabled = outer.enabled if enabled is None else enabled
    found = outer.state if state is None else state
    if found is None and is_enabled:
        found = ConversationState()
    given_within = outer.given_within if state is None else around()
    return Scope(is_enabled, found, processing.over(outer.processing), given_within)


_warned: dict[int, Any] = {}
"""The processors that were warned about, by `id()` while they live; one that cannot be referred to weakly lives on."""


def _warn_once(processor: Callable[..., Any]) -> None:
    """Warn, at the `with` statement, once for each processor."""
    function = getattr(processor, "__func__", processor)  # a bound method is a new object each time
    key = id(function)
    if key not in _warned:
        try:
            _warned[key] = weakref.ref(function, lambda _: _warned.pop(key, None))
        except TypeError:
            _warned[key] = function
        warn_about_prefix(stacklevel=5)
