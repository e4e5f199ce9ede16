"""What a scope leaves out is inherited, None clears, and leaving it brings back what was before.

Every combination of what can be set is in `test_scope_matrix.py`.
"""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import AsyncGenerator, Generator, Sequence
from typing import Any

import pytest

from kedi_compile import HistoryConfigurationError, HistoryPrefixWarning
from kedi_compile.conversation import AgentProfile, HistoryProcessingSettings, history_scope
from kedi_compile.conversation.scope import OMITTED, current_scope
from kedi_compile.history.policy import HistoryPolicy
from scopes import A, I, Named, O, a, i, letters, o
from toy import Context, Message

quiet = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryPrefixWarning")


@quiet
def test_a_profile_stands_between_the_scope_around_and_the_arguments() -> None:
    """A profile overrides what is outside, and the arguments beside it override the profile."""
    profile = AgentProfile(HistoryProcessingSettings(processor=I, condition=i))

    with history_scope(processor=O, processor_condition=o), history_scope(profile=profile):
        assert letters(HistoryPolicy(A, a)) == "Ii"
    with history_scope(profile=profile, processor_condition=None):
        assert letters(HistoryPolicy(A, a)) == "I"
    with history_scope(profile=profile, processor=None):
        assert letters(HistoryPolicy(A, a)) == "-"


@quiet
def test_a_scope_keeps_the_other_options_of_an_adapter() -> None:
    """Only processor and condition are a scope's to say; the adapter's own policy is left as it was."""
    own: HistoryPolicy[Message] = HistoryPolicy(A, a, reasoning_protection="open_cycle", bound_reasoning="strip")

    with history_scope(processor=O):
        inside = current_scope().policy(own)

    assert (inside.reasoning_protection, inside.bound_reasoning) == ("open_cycle", "strip")
    assert (own.processor, own.condition) == (A, a)
    assert current_scope().policy(own) is own


def test_two_enabled_scopes_without_a_state_are_two_conversations() -> None:
    """Where nothing is inherited, each scope has a conversation of its own."""
    with history_scope(True) as first:
        pass
    with history_scope(True) as second:
        pass

    assert first is not second


@quiet
def test_leaving_a_scope_by_an_error_restores_what_was_before() -> None:
    """A scope ends with its block, however the block ends."""
    with history_scope(processor=O):
        with pytest.raises(LookupError), history_scope(True, processor=I):
            raise LookupError
        inside = letters(HistoryPolicy(A)), current_scope().enabled

    assert inside == ("O", False)
    assert letters(HistoryPolicy(A)) == "A"


@quiet
def test_a_scope_that_is_refused_changes_nothing() -> None:
    """A bad argument leaves the caller where it was."""
    with history_scope(processor=None):
        with pytest.raises(HistoryConfigurationError), history_scope(processor_condition=i):
            pytest.fail("the scope was entered")  # pragma: no cover
        inside = letters(HistoryPolicy(A))

    assert inside == "-"


@quiet
def test_tasks_take_the_scope_they_are_started_in() -> None:
    """Calls that run at the same time each have the processor of their own scope."""
    barrier = asyncio.Barrier(3)

    async def call() -> str:
        await barrier.wait()
        return letters(HistoryPolicy(A))

    async def scoped(processor: Any) -> str:
        with history_scope(processor=processor):
            return await call()

    async def main() -> list[str]:
        with history_scope(processor=I):
            started = asyncio.create_task(call())
        return list(await asyncio.gather(started, scoped(O), scoped(None)))

    assert asyncio.run(main()) == ["I", "O", "-"]


@quiet
def test_a_thread_has_the_scope_of_the_context_it_runs_in() -> None:
    """A bare thread begins without a scope, one that runs in a copied context with that one's."""
    seen: list[str] = []

    def call() -> None:
        seen.append(letters(HistoryPolicy(A)))

    with history_scope(processor=O):
        context = contextvars.copy_context()
        for target in (call, lambda: context.run(call)):
            thread = threading.Thread(target=target)
            thread.start()
            thread.join()

    assert seen == ["A", "O"]


@quiet
def test_scopes_that_are_left_out_of_order_leave_nothing_behind() -> None:
    """Two generators hold scopes in one context; whichever ends first, the other's stays."""

    def holding(processor: Any) -> Generator[None]:
        with history_scope(processor=processor):
            yield

    first, second = holding(O), holding(I)
    next(first)
    next(second)

    first.close()
    inside = letters(HistoryPolicy(A))
    second.close()

    assert (inside, letters(HistoryPolicy(A))) == ("I", "A")


@quiet
def test_a_scope_may_be_left_in_another_context() -> None:
    """A generator that is closed elsewhere ends without an error, and changes no scope there."""

    def holding() -> Generator[None]:
        with history_scope(processor=I):
            yield

    generator = holding()
    contextvars.copy_context().run(next, generator)

    with history_scope(processor=O):
        generator.close()
        inside = letters(HistoryPolicy(A))

    assert (inside, letters(HistoryPolicy(A))) == ("O", "A")


@quiet
def test_an_async_generator_may_be_closed_by_another_task() -> None:
    """A stream that another task ends leaves that task's scope alone."""

    async def streaming() -> AsyncGenerator[str]:
        with history_scope(processor=I):
            yield letters(HistoryPolicy(A))

    async def main() -> tuple[str, str, str]:
        stream = streaming()

        async def close() -> str:
            with history_scope(processor=O):
                await stream.aclose()
                return letters(HistoryPolicy(A))

        inside = await asyncio.create_task(anext(stream))
        return inside, await asyncio.create_task(close()), letters(HistoryPolicy(A))

    assert asyncio.run(main()) == ("I", "O", "A")


@quiet
def test_a_captured_callback_stays_the_one_that_was_captured() -> None:
    """A deeper definition of the same name does not take the place of the one a scope holds."""

    def edit(ctx: Context) -> Sequence[Message]:
        return ctx.messages

    captured = edit
    with history_scope(processor=edit):

        def edit(ctx: Context) -> Sequence[Message]:
            return []

        inside = current_scope().policy(HistoryPolicy(A)).processor

    assert inside is captured


def enter_each(*processors: Any) -> None:
    """Enter and leave a scope with each processor."""
    for processor in processors:
        with history_scope(processor=processor):
            pass


def test_a_scope_warns_once_for_each_processor() -> None:
    """The warning about cached prefixes comes where a processor is first put in a scope, and not again."""
    first, second = Named("1"), Named("2")

    with pytest.warns(HistoryPrefixWarning) as caught:
        enter_each(first, first, second, second)

    assert [warning.filename for warning in caught] == [__file__, __file__]


def test_a_bound_method_is_one_processor() -> None:
    """Every look at a method makes a new object, and still it is warned about once."""

    class Policy:
        def edit(self, ctx: Context) -> Sequence[Message]:
            return ctx.messages

    policy = Policy()

    with pytest.warns(HistoryPrefixWarning) as caught:
        enter_each(policy.edit, policy.edit)

    assert len(caught) == 1


@quiet
def test_a_processor_needs_no_weak_references() -> None:
    """A callable object that allows none is as good as any other."""

    class Slotted:
        __slots__ = ()

        def __call__(self, ctx: Context) -> Sequence[Message]:
            return ctx.messages

    processor = Slotted()

    with history_scope(processor=processor):
        assert current_scope().policy(HistoryPolicy(A)).processor is processor


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"enabled": "yes"}, "`enabled` is 'yes'; it must be True, False, or None to inherit"),
        ({"enabled": 1}, "`enabled` is 1; it must be True, False, or None to inherit"),
        ({"state": {}}, "`state` is {}; pass a `ConversationState`, or None to inherit"),
        ({"profile": "brief"}, "`profile` is 'brief'; pass an `AgentProfile`, or None"),
        ({"processor": [1]}, "`processor` is [1]; pass the function itself, not what it returned, or None"),
        (
            {"processor_condition": True},
            "`processor_condition` is True; pass the function itself, not what it returned, or None",
        ),
        (
            {"processor": None, "processor_condition": i},
            (
                "A condition stands beside a processor that is None; a condition alone does nothing, so give a "
                "processor too, or leave the condition out"
            ),
        ),
    ],
)
def test_an_argument_that_can_never_work_is_refused(arguments: dict[str, Any], message: str) -> None:
    """The scope is not entered, and the error says what would be right."""
    with pytest.raises(HistoryConfigurationError) as caught, history_scope(**arguments):
        pytest.fail("the scope was entered")  # pragma: no cover

    assert str(caught.value) == message


def test_settings_that_inherit_no_processor_take_no_condition_alone() -> None:
    """A condition needs a processor beside it, or one to inherit."""
    with pytest.raises(HistoryConfigurationError, match="a condition alone does nothing"):
        HistoryProcessingSettings(condition=i, inherit_processor=False)


def test_a_profile_takes_settings_and_nothing_like_them() -> None:
    """A profile is checked when it is made."""
    with pytest.raises(HistoryConfigurationError) as caught:
        AgentProfile(history_processing=I)  # type: ignore[arg-type]  # a processor is no settings

    assert str(caught.value).endswith("; pass `HistoryProcessingSettings`, or None to inherit")


def test_what_is_left_out_says_so() -> None:
    """The default of an argument is shown as what it means."""
    assert repr(OMITTED) == "<omitted>"
