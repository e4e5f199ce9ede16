"""The public generics as users write them: this file passes mypy in strict mode, and runs.

A function that is typed wrongly carries the error its checker must report; an ignore that is not needed is an error,
so each one proves that the types are as narrow as they look.
"""

from collections.abc import Awaitable, Sequence
from typing import TypeVar, assert_type

from kedi_compile import (
    HistoryEntry,
    HistoryGroup,
    HistoryProcessingValidationError,
    HistoryProcessorCallback,
    HistoryProcessorCondition,
    HistoryProcessorContext,
    HistoryProcessorState,
    ProtectedReason,
    Violation,
)
from toy import NOW, Message, result_of, talk, user

MessageT = TypeVar("MessageT")


def keep_recent_cycles(ctx: HistoryProcessorContext[MessageT]) -> list[MessageT]:
    """Work on any framework's messages, as the documentation shows."""
    return ctx.keep_recent_groups(1)


def inspect_only(ctx: HistoryProcessorContext[MessageT]) -> Sequence[MessageT]:
    """Look at everything and return the input."""
    assert_type(ctx.messages, Sequence[MessageT])
    assert_type(ctx.groups, tuple[HistoryGroup, ...])
    assert_type(ctx.entries, tuple[HistoryEntry, ...])
    assert_type(ctx.groups[0].protected_reasons, frozenset[ProtectedReason])
    assert_type(ctx.measured_tokens, int | None)
    return ctx.messages


def summarize(ctx: HistoryProcessorContext[Message]) -> list[Message]:
    """Replace a group of one framework's messages."""
    assert_type(ctx.text_message("hi"), Message)
    assert_type(ctx.summary_messages("hi"), list[Message])
    return ctx.replace_groups(ctx.groups[0], *ctx.summary_messages("Short."))


async def summarize_later(ctx: HistoryProcessorContext[Message]) -> list[Message]:
    """Do the same asynchronously."""
    return summarize(ctx)


def is_large(state: HistoryProcessorState) -> bool:
    """Decide by numbers."""
    assert_type(state.history_version, str)
    return state.estimated_tokens >= 1


async def is_large_later(state: HistoryProcessorState) -> bool:
    """Decide asynchronously."""
    return is_large(state)


CALLBACKS: tuple[HistoryProcessorCallback[Message], ...] = (
    keep_recent_cycles,
    inspect_only,
    summarize,
    summarize_later,
    lambda ctx: ctx.keep_recent_groups(1, over=2),
    lambda ctx: tuple(ctx.messages),
)
CONDITIONS: tuple[HistoryProcessorCondition, ...] = (is_large, is_large_later, lambda state: state.cache_epoch == 0)

A_DICT: HistoryProcessorCallback[Message] = lambda ctx: {"messages": ctx.messages}  # type: ignore[return-value,assignment]  # noqa: E731  # a dict is no sequence of messages
A_NUMBER: HistoryProcessorCondition = lambda state: state.estimated_tokens  # type: ignore[return-value,assignment]  # noqa: E731  # a number is no bool


def other_messages(ctx: HistoryProcessorContext[str]) -> list[str]:
    """Work on messages of another framework."""
    return list(ctx.messages)


FOREIGN: HistoryProcessorCallback[Message] = other_messages  # type: ignore[assignment]  # str is no Message


def test_every_typed_callback_runs() -> None:
    """What the checkers accept is accepted when it runs."""
    history = [*talk("a", "b"), user(NOW)]

    lengths = [len(result_of(history, callback)) for callback in CALLBACKS]

    assert lengths == [3, 5, 5, 5, 5, 5]


def test_every_typed_condition_runs() -> None:
    """A condition answers with a bool or with something to await."""
    history = [*talk("a", "b"), user(NOW)]

    assert all(len(result_of(history, keep_recent_cycles, condition=condition)) == 3 for condition in CONDITIONS)


def test_an_errors_facts_are_typed() -> None:
    """`violations` is a tuple of facts, `rule` a name."""
    error = HistoryProcessingValidationError([Violation("blank_text", "empty")])

    assert assert_type(error.violations, tuple[Violation, ...])[0].rule == assert_type(error.rule, str)


def test_a_callback_may_return_an_awaitable_or_a_sequence() -> None:
    """The alias covers both, and nothing is lost on the way."""
    returned: Sequence[Message] | Awaitable[Sequence[Message]] | None = None
    seen: list[object] = []

    def note(ctx: HistoryProcessorContext[Message]) -> Sequence[Message] | Awaitable[Sequence[Message]]:
        nonlocal returned
        returned = CALLBACKS[0](ctx)
        seen.append(returned)
        return returned

    result_of([*talk("a", "b"), user(NOW)], note)

    assert len(seen) == 1
