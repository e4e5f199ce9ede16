"""Laws of history edits on Pydantic AI histories: what is permitted is accepted, here and by the providers.

The histories are drawn with their groups known, the core is driven with the real dialect, and each accepted list is
judged as the body that the provider's own model class makes of it. What is not permitted is in
`test_adapter_mutations.py`, whole runs in `test_adapter_runs.py`.
"""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bodies import APIS, Api
from edits import outcome_of, refusals, session, share
from histories import Plan, Scene, Text, flat, permitted_plans, scenes
from kedi_compile import HistoryProcessingValidationError
from kedi_compile.history.flow import Staged

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
@share(3)
@given(data=st.data())
def test_a_permitted_edit_is_accepted_by_the_rules_and_by_the_provider(api: Api, data: st.DataObject) -> None:
    """Whole eligible groups in allowed order plus texts make a request that everybody takes."""
    scene, plan, protection = data.draw(edited_scenes(api.provider_name))

    outcome = outcome_of(scene, plan, reasoning_protection=protection)

    sent = outcome.messages if isinstance(outcome, Staged) else scene.messages
    assert [_shown(scene, message) for message in sent] == [_planned(item) for item in plan]
    assert refusals(api, scene, sent) == []


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
