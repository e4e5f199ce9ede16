"""What may not stand beside an adapter on one agent: other editors of the history, and what would begin its turn."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol

from pydantic_ai.capabilities import AbstractCapability, ProcessHistory, WrapperCapability
from pydantic_ai.capabilities.abstract import leaf_capabilities

from kedi_compile import HistoryConfigurationError
from kedi_pydantic_ai.conversation import ConversationRun


class Adapter(Protocol):
    """What is asked of an adapter."""

    @property
    def is_active(self) -> bool:
        """Whether it edits the history."""
        ...

    @property
    def conversation(self) -> ConversationRun | None:
        """The turn of its run."""
        ...


def refuse_rivals(adapter: Adapter, root: AbstractCapability[Any]) -> None:
    """Refuse what edits the history beside an adapter that does.

    Raises:
        HistoryConfigurationError: a `ProcessHistory`, or another adapter.
    """
    if not adapter.is_active:
        return
    if any(isinstance(leaf, ProcessHistory) for leaf in _leaves(root)):
        msg = "`ProcessHistory` stands beside an adapter that edits the history too; compose both in one callback"
        raise HistoryConfigurationError(msg)
    editors = [one for one in _adapters(adapter, root) if one.is_active]
    if len(editors) > 1:
        msg = (
            f"{len(editors)} `PydanticAdapter`s with a processor, an archive or a request compiler stand on one agent; "
            "keep one"
        )
        raise HistoryConfigurationError(msg)


def refuse_second_turn(adapter: Adapter, root: AbstractCapability[Any]) -> None:
    """Refuse rivals, and another adapter that would begin the same turn; all tickets are given back then.

    Raises:
        HistoryConfigurationError: there is one.
    """
    adapters = _adapters(adapter, root)
    try:
        refuse_rivals(adapter, root)
        _refuse_several(adapters)
    except HistoryConfigurationError:
        for run in [run for one in adapters if (run := one.conversation) is not None]:
            run.turn.release_unstarted()
        raise


def _refuse_several(adapters: Sequence[Adapter]) -> None:
    if len(adapters) > 1:
        msg = (
            f"{len(adapters)} `PydanticAdapter`s stand on one agent in a conversation; keep one, or each would begin "
            "the same turn"
        )
        raise HistoryConfigurationError(msg)


def _adapters(adapter: Adapter, root: AbstractCapability[Any]) -> list[Adapter]:
    return [leaf for leaf in _leaves(root) if isinstance(leaf, type(adapter))]


def _leaves(root: AbstractCapability[Any]) -> list[AbstractCapability[Any]]:
    return [_unwrapped(leaf) for leaf in leaf_capabilities(root)]


def _unwrapped(capability: AbstractCapability[Any]) -> AbstractCapability[Any]:
    while isinstance(capability, WrapperCapability):
        capability = capability.wrapped
    return capability
