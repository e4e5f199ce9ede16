"""How history is processed: the policy is checked when it is made."""

from typing import Any

import pytest

from kedi_compile import HistoryConfigurationError, HistoryProcessorContext
from kedi_compile.history.policy import HistoryPolicy
from toy import Context, Message


def keep(ctx: HistoryProcessorContext[Message]) -> list[Message]:
    """Return the history as it is."""
    return list(ctx.messages)


def test_a_policy_does_nothing_by_default() -> None:
    """Without any option there is no processor, no condition, and the strictest protection."""
    policy: HistoryPolicy[Message] = HistoryPolicy()

    assert (policy.processor, policy.condition, policy.token_counter) == (None, None, None)
    assert (policy.reasoning_protection, policy.bound_reasoning) == ("always", None)


def test_a_condition_without_a_processor_is_refused() -> None:
    """A condition alone chooses nothing to run."""
    with pytest.raises(HistoryConfigurationError) as caught:
        HistoryPolicy(condition=lambda state: True)

    assert str(caught.value) == (
        "`history_processor_condition` is set without a `history_processor`; a condition alone does nothing"
    )


@pytest.mark.parametrize(
    ("options", "name"),
    [
        ({"processor": [1]}, "history_processor"),
        ({"processor": keep, "condition": True}, "history_processor_condition"),
        ({"processor": keep, "token_counter": 3}, "token_counter"),
    ],
)
def test_what_is_not_callable_is_refused(options: dict[str, Any], name: str) -> None:
    """A callback is a reference to a function, not the result of calling it."""
    with pytest.raises(
        HistoryConfigurationError, match=f"^`{name}` is .*; pass the function itself, not what it returned, or None"
    ):
        HistoryPolicy(**options)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"reasoning_protection": "never"},
            "`reasoning_protection` is 'never'; it must be one of 'always', 'open_cycle'",
        ),
        ({"reasoning_protection": None}, "`reasoning_protection` is None; it must be one of 'always', 'open_cycle'"),
        ({"bound_reasoning": "drop"}, "`bound_reasoning` is 'drop'; it must be one of None, 'refuse', 'strip'"),
    ],
)
def test_an_unknown_choice_is_refused_by_name(options: dict[str, Any], message: str) -> None:
    """The error lists what may be chosen."""
    with pytest.raises(HistoryConfigurationError) as caught:
        HistoryPolicy(keep, **options)

    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("setting", "models", "treatment"),
    [
        (None, ("claude-sonnet-4-5",), None),
        (None, ("claude-opus-5-5",), "refuse"),
        (None, ("small", "claude-opus-5-5"), "refuse"),
        (None, (), None),
        ("refuse", ("small",), "refuse"),
        ("strip", ("small",), "strip"),
        ("strip", ("claude-opus-5-5",), "strip"),
    ],
)
def test_an_explicit_choice_applies_to_every_model(
    setting: Any, models: tuple[str, ...], treatment: str | None
) -> None:
    """Without a choice, edits before reasoning are refused on the models known to bind it, also as a fallback."""
    policy = HistoryPolicy(keep, bound_reasoning=setting)

    assert policy.binding_for(models) == treatment


def test_a_policy_is_frozen() -> None:
    """What was checked stays as it is."""

    def edit(ctx: Context) -> list[Message]:
        return keep(ctx)

    policy = HistoryPolicy(edit)

    with pytest.raises(AttributeError):
        policy.processor = keep  # type: ignore[misc]  # the point of the test


@pytest.mark.parametrize(
    ("options", "is_active"),
    [({}, False), ({"processor": keep}, True), ({"assembles": True}, True), ({"token_counter": len}, False)],
)
def test_a_policy_is_active_where_there_is_anything_to_do(options: dict[str, Any], is_active: bool) -> None:
    """Edit, archive, or assemble: a counter alone does nothing."""
    assert HistoryPolicy(**options).is_active is is_active
