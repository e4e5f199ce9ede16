"""How history is processed, as one frozen value checked when it is made.

Defaults, and what each option means, are the adapters' public keywords. Source: History specification, Native
Configuration and Conditional Processing.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, get_args

from kedi_compile.errors import HistoryConfigurationError, HistoryPrefixWarning
from kedi_compile.history.archive_settings import HistoryArchiveSettings
from kedi_compile.history.context import HistoryProcessorCallback, HistoryProcessorCondition
from kedi_compile.history.reasoning import BoundReasoning, ReasoningProtection, binds_reasoning

MessageT = TypeVar("MessageT")


@dataclass(frozen=True, slots=True)
class HistoryPolicy(Generic[MessageT]):
    """The processor, its condition, the archive, and how tokens and reasoning are treated.

    Raises:
        HistoryConfigurationError: a condition without a processor, something not callable, or an unknown choice.
    """

    processor: HistoryProcessorCallback[MessageT] | None = None
    condition: HistoryProcessorCondition | None = None
    token_counter: Callable[[MessageT], int] | None = None
    reasoning_protection: ReasoningProtection = "always"
    bound_reasoning: BoundReasoning | None = None
    archive: HistoryArchiveSettings | None = None
    assembles: bool = False
    """Whether texts stand in each request that the history does not hold."""

    def __post_init__(self) -> None:
        check_callable("history_processor", self.processor)
        check_callable("history_processor_condition", self.condition)
        check_callable("token_counter", self.token_counter)
        _check_choice("reasoning_protection", self.reasoning_protection, get_args(ReasoningProtection))
        _check_choice("bound_reasoning", self.bound_reasoning, (None, *get_args(BoundReasoning)))
        _check_archive(self.archive)
        if self.condition is not None and self.processor is None:
            msg = "`history_processor_condition` is set without a `history_processor`; a condition alone does nothing"
            raise HistoryConfigurationError(msg)

    @property
    def is_active(self) -> bool:
        """Whether there is anything to do before a request."""
        return self.processor is not None or self.archive is not None or self.assembles

    def binding_for(self, model_names: tuple[str, ...]) -> BoundReasoning | None:
        """Return how bound reasoning is treated for a request that any of these models may serve."""
        if self.bound_reasoning is not None:
            return self.bound_reasoning
        return "refuse" if binds_reasoning(model_names) else None


def warn_about_prefix(stacklevel: int = 3) -> None:
    """Warn, at the line that makes an adapter, that its edits may cost cached prefixes; called by its `__init__`."""
    warnings.warn(
        "Edits may alter messages a provider has cached, so fewer requests may hit its prefix cache. Silence with "
        "warnings.filterwarnings('ignore', category=HistoryPrefixWarning)",
        HistoryPrefixWarning,
        stacklevel=stacklevel,
    )


def check_callable(name: str, value: Any) -> None:
    """Refuse what is neither callable nor None.

    Raises:
        HistoryConfigurationError: it is not.
    """
    if value is not None and not callable(value):
        msg = f"`{name}` is {value!r}; pass the function itself, not what it returned, or None"
        raise HistoryConfigurationError(msg)


def _check_choice(name: str, value: object, choices: tuple[object, ...]) -> None:
    if value not in choices:
        msg = f"`{name}` is {value!r}; it must be one of {', '.join(map(repr, choices))}"
        raise HistoryConfigurationError(msg)


def _check_archive(value: object) -> None:
    if value is not None and not isinstance(value, HistoryArchiveSettings):
        msg = f"`history_archive` is {value!r}; it must be HistoryArchiveSettings, or None"
        raise HistoryConfigurationError(msg)
