"""Laws of history edits on Pydantic AI histories: what is permitted is accepted, here and by the providers.

The histories are drawn with their groups known, the core is driven with the real dialect, and each accepted list is
judged as the body that the provider's own model class makes of it. What is not permitted is in
`test_adapter_mutations.py`, whole runs in `test_adapter_runs.py`.
"""

import copy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from agents import Context, untouched
from bodies import APIS, Api
from edits import INFO, outcome_of, refusals, session, share
from histories import Plan, Scene, Text, flat, permitted_plans, scenes
from kedi_compile import HistoryProcessingValidationError, HistoryProcessorCallback
from kedi_compile.history.flow import Staged, Unchanged


def _list_of(ctx: Context) -> list[ModelMessage]:
    return list(ctx.messages)


def _copies_of(ctx: Context) -> list[ModelMessage]:
    return copy.deepcopy(list(ctx.messages))


def _keeping_all(ctx: Context) -> list[ModelMessage]:
    return ctx.keep_recent_groups(100)


NOOPS = st.sampled_from([untouched, _list_of, _copies_of, _keeping_all])
EVERY_API = pytest.mark.parametrize("api", APIS.values(), ids=APIS)
PROTECTIONS = st.sampled_from(["always", "open_cycle"])
pytestmark = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning")


@st.composite
def edited_scenes(draw: st.DrawFn, provider: str) -> tuple[Scene, Plan, str]:
    """Draw a history, a permitted edit of it, and the reasoning protection it is permitted under."""
    scene = draw(scenes(provider))
    protection = draw(PROTECTIONS)
    return scene, draw(permitted_plans(scene, protection)), protection


@EVERY_API
@share(10)
@given(data=st.data())
def test_a_drawn_history_is_well_formed(api: Api, data: st.DataObject) -> None:
    """The unedited histories are accepted by their provider, so a refusal speaks of an edit."""
    scene = data.draw(scenes(api.provider_name))

    assert refusals(api, scene, scene.messages) == []


@given(scenes("anthropic"), PROTECTIONS)
def test_the_groups_are_the_cycles(scene: Scene, protection: Any) -> None:
    """Groups partition the entries into whole cycles, and are eligible exactly where nothing protects them."""
    spans = session(reasoning_protection=protection).revision(scene.messages).spans

    found = [(span.start, span.end, span.closed and not span.reasons) for span in spans]
    assert found == [(block.start, block.end, block.is_eligible(protection)) for block in scene.blocks]


@EVERY_API
@share(6)
@given(data=st.data())
def test_a_permitted_edit_is_accepted_by_the_rules_and_by_the_provider(api: Api, data: st.DataObject) -> None:
    """Whole eligible groups in allowed order plus texts make a request that everybody takes."""
    scene, plan, protection = data.draw(edited_scenes(api.provider_name))

    outcome = outcome_of(scene, plan, reasoning_protection=protection)

    sent = outcome.messages if isinstance(outcome, Staged) else scene.messages
    assert [_shown(scene, message) for message in sent] == [_planned(item) for item in plan]
    assert refusals(api, scene, sent) == []


@given(scene=scenes("openai"), noop=NOOPS)
def test_a_noop_is_identity(scene: Scene, noop: HistoryProcessorCallback[ModelMessage]) -> None:
    """What equals the history changes nothing: no edit, no new generation, not a field of the caller's messages."""
    run = session(noop)
    before = copy.deepcopy(scene.messages)

    outcome = run.edit_sync(scene.messages, INFO)

    assert isinstance(outcome, Unchanged)
    assert run.continuation.generation == 0
    assert repr(scene.messages) == repr(before)


@given(scene=scenes("anthropic"), n=st.integers(0, 6), protection=PROTECTIONS)
def test_recent_groups_are_the_last_eligible_ones_and_all_others(scene: Scene, n: int, protection: Any) -> None:
    """The last n eligible groups stay, with all that is protected, in order; zero keeps the protected alone."""
    eligible = [block for block in scene.blocks if block.is_eligible(protection)]
    kept = [block for block in scene.blocks if block not in eligible[: max(len(eligible) - n, 0)]]

    outcome = session(lambda ctx: ctx.keep_recent_groups(n), reasoning_protection=protection).edit_sync(
        scene.messages, INFO
    )

    sent = outcome.messages if isinstance(outcome, Staged) else scene.messages
    assert [_shown(scene, message) for message in sent] == list(flat(kept))


@share(4)
@given(data=st.data())
def test_an_assistant_text_that_answers_nothing_is_refused(data: st.DataObject) -> None:
    """A new assistant text stands behind a question: not first in the conversation, and not behind an answer."""
    scene = data.draw(scenes("bedrock").filter(lambda scene: not scene.begins_with_system))
    answered = [block.end for block in scene.blocks if block.wall not in ("system", "current")]
    place = data.draw(st.sampled_from([0, *answered]))
    entries = flat(scene.blocks)
    plan = (*entries[:place], Text("assistant", "summary"), *entries[place:])

    with pytest.raises(HistoryProcessingValidationError) as caught:
        outcome_of(scene, plan)

    assert [violation.rule for violation in caught.value.violations] == ["turn_order"]


def _shown(scene: Scene, message: object) -> int | str:
    """Tell a sent message: the index of the caller's own object, or its text."""
    own = [index for index, known in enumerate(scene.messages) if known is message]
    return own[0] if own else str(getattr(message, "parts")[0].content)  # noqa: B009  # any message has parts


def _planned(item: int | Text) -> int | str:
    return item.text if isinstance(item, Text) else item
