"""Reasoning that a provider wants back: which models bind it, and when it protects its group."""

import pytest

from kedi_compile import ProtectedReason
from kedi_compile.history.groups import Span
from kedi_compile.history.reasoning import binds_reasoning, protect_reasoning
from toy import NOW, calls, revision, says, talk, user

SIGNED = frozenset({ProtectedReason.SIGNED_REASONING})


@pytest.mark.parametrize(
    "name",
    [
        "claude-opus-5-5",
        "claude-opus-5.5",
        "claude-sonnet-5-5-20261001",
        "claude-haiku-5-5@20261001",
        "us.anthropic.claude-fable-5-1-v1:0",
        "anthropic/claude-fable-5.2",
        "claude-mythos-5-2",
    ],
)
def test_a_binding_model_is_known_wherever_it_is_served(name: str) -> None:
    """Prefixes of a cloud, dates and version suffixes do not hide a model."""
    assert binds_reasoning([name])


@pytest.mark.parametrize(
    "name",
    ["claude-sonnet-4-5", "claude-opus-5", "claude-opus-5-50", "claude-mythos-5-1", "claude-fable-5-12", "gpt-5.5", ""],
)
def test_other_models_do_not_bind(name: str) -> None:
    """A model that is not in the table binds nothing, however alike its name is."""
    assert not binds_reasoning([name])


def test_one_binding_model_among_several_is_enough() -> None:
    """A request that a binding model may serve is treated as bound."""
    assert binds_reasoning(("gpt-5.5", "claude-opus-5-5"))
    assert not binds_reasoning(())


def test_signed_reasoning_protects_for_good_by_default() -> None:
    """With `always` nothing is taken from the reasons."""
    spans = [Span(0, 2, closed=True, reasons=SIGNED), Span(2, 3, closed=False, reasons=SIGNED)]

    assert protect_reasoning(spans, "always") == spans


def test_open_cycle_frees_closed_groups_only() -> None:
    """With `open_cycle` signed reasoning protects unfinished and current groups, and other reasons stay."""
    other = SIGNED | {ProtectedReason.CHECKPOINT}
    spans = [Span(0, 2, True, SIGNED), Span(2, 4, True, other), Span(4, 5, False, SIGNED)]

    freed = protect_reasoning(spans, "open_cycle")

    assert [span.reasons for span in freed] == [frozenset(), {ProtectedReason.CHECKPOINT}, SIGNED]


def test_signed_reasoning_protects_its_group() -> None:
    """One signed entry protects its closed group, unless only open cycles are protected."""
    messages = [user("q"), says("a", signature="sig"), *talk("b"), user("c"), calls("c1", signature="sig"), user(NOW)]

    always = revision(messages).groups
    open_cycle = revision(messages, reasoning_protection="open_cycle").groups

    assert [group.eligible for group in always] == [False, True, False, False]
    assert [group.eligible for group in open_cycle] == [True, True, False, False]
    assert open_cycle[2].protected_reasons == {"pending_tool_call", "signed_reasoning"}
