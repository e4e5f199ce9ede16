"""Laws of reasoning that is bound to its prefix: what the policy lets through, a binding server accepts.

The server is the Anthropic validator with the memory of the unedited conversation, in its prefix-bound mode: a signed
thought is valid only while everything before it is unchanged, and thoughts go from the oldest on. The model is one
whose system prompt the host leaves alone; on others it says there what retries look like, while the history holds one.
"""

from dataclasses import replace
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage, ModelResponse, ThinkingPart

from bodies import APIS
from edits import outcome_of, refusals, share
from histories import Plan, Scene, Text, permitted_plans, scenes
from kedi_compile import HistoryProcessingValidationError
from kedi_compile.history.flow import Staged

BINDING = replace(APIS["anthropic"], model_name="claude-opus-5-5")
PROTECTIONS = st.sampled_from(["always", "open_cycle"])


@st.composite
def edited_scenes(draw: st.DrawFn) -> tuple[Scene, Plan, str]:
    """Draw a conversation with thoughts, a permitted edit that changes something, and the protection."""
    scene = draw(scenes("anthropic"))
    protection = draw(PROTECTIONS)
    plan = draw(permitted_plans(scene, protection))
    assume(plan != tuple(range(len(scene.messages))))
    return scene, plan, protection


def _is_thoughtful(message: ModelMessage) -> bool:
    return isinstance(message, ModelResponse) and any(isinstance(part, ThinkingPart) for part in message.parts)


def _stale(scene: Scene, plan: Plan) -> list[int]:
    """Return the entries with thoughts that stand at or behind the first difference."""
    change = next(place for place, item in enumerate(plan) if item != place)
    return sorted(item for item in plan[change:] if not isinstance(item, Text) and _is_thoughtful(scene.messages[item]))


def _is_closed(scene: Scene, entry: int) -> bool:
    (block,) = (block for block in scene.blocks if entry in block.entries)
    return block.wall not in ("current", "interrupted")


@share(2)
@given(edited_scenes())
def test_refuse_lets_through_what_a_binding_server_accepts(edited: tuple[Scene, Plan, Any]) -> None:
    """With `refuse` an edit is refused exactly when a thought behind it is kept."""
    scene, plan, protection = edited
    stale = _stale(scene, plan)

    if stale:
        with pytest.raises(HistoryProcessingValidationError) as caught:
            outcome_of(scene, plan, reasoning_protection=protection, bound_reasoning="refuse")
        assert [(one.rule, list(one.entries)) for one in caught.value.violations] == [("bound_reasoning", stale)]
        return
    outcome = outcome_of(scene, plan, reasoning_protection=protection, bound_reasoning="refuse")
    assert isinstance(outcome, Staged)
    assert refusals(BINDING, scene, outcome.messages, bound=True) == []


@share(2)
@given(edited_scenes())
def test_strip_lets_through_what_a_binding_server_accepts(edited: tuple[Scene, Plan, Any]) -> None:
    """With `strip` stale thoughts of closed groups are left out, and only others refuse the edit."""
    scene, plan, protection = edited
    stale = _stale(scene, plan)
    fixed = [entry for entry in stale if not _is_closed(scene, entry)]

    if fixed:
        with pytest.raises(HistoryProcessingValidationError) as caught:
            outcome_of(scene, plan, reasoning_protection=protection, bound_reasoning="strip")
        assert [(one.rule, list(one.entries)) for one in caught.value.violations] == [("bound_reasoning", fixed)]
        return
    outcome = outcome_of(scene, plan, reasoning_protection=protection, bound_reasoning="strip")
    assert isinstance(outcome, Staged)
    assert sorted(outcome.stripped) == stale
    assert refusals(BINDING, scene, outcome.messages, bound=True) == []


@share(10)
@given(edited_scenes())
def test_a_binding_server_refuses_what_the_policy_refuses(edited: tuple[Scene, Plan, Any]) -> None:
    """Without a policy the same edits are refused by the server, so `refuse` costs nothing that would have worked."""
    scene, plan, protection = edited
    assume(_stale(scene, plan))

    outcome = outcome_of(scene, plan, reasoning_protection=protection)

    assert isinstance(outcome, Staged)
    rules = {refusal.partition(":")[0] for refusal in refusals(BINDING, scene, outcome.messages, bound=True)}
    assert rules == {"thinking_fits_its_prefix"}
