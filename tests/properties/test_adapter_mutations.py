"""Laws of what is not permitted: a mutated list is refused, or is a permitted edit by a second definition.

The second definition is brute force and shares no code with the rules. Whatever happens, the caller's messages stay
as they are, and what was accepted is what the provider takes.
"""

import copy
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from bodies import APIS, Api
from edits import INFO, refusals, session, share
from histories import Context, Plan, Scene, carried_out, permitted_plans, scenes
from kedi_compile import HistoryProcessingValidationError
from kedi_compile.history.flow import Staged, Unchanged
from mutations import CHANGES, Change, mutated
from permitted import Returned, is_permitted

EVERY_API = pytest.mark.parametrize("api", APIS.values(), ids=APIS)
pytestmark = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning")


class Mutating:
    """A processor that carries a plan out, changes the list, and remembers what it returned."""

    def __init__(self, plan: Plan, changes: list[Change]) -> None:
        self.plan = plan
        self.changes = changes
        self.returned: list[Returned] = []

    def __call__(self, ctx: Context) -> Sequence[ModelMessage]:
        out = mutated(carried_out(self.plan, ctx), self.changes)
        handed_out = {id(message): index for index, message in enumerate(ctx.messages)}
        self.returned = [Returned(handed_out.get(id(message)), message) for message in out]
        return out


def _accepted(scene: Scene, processor: Mutating, protection: str) -> list[ModelMessage] | None:
    """Return what would be sent, or None if the rules refuse it."""
    try:
        run = session(processor, reasoning_protection=protection)
        outcome = run.edit_sync(scene.messages, INFO)
    except HistoryProcessingValidationError as error:
        assert error.violations  # noqa: PT017  # a refusal is one of two outcomes here
        return None
    assert isinstance(outcome, (Staged, Unchanged))
    return list(outcome.messages if isinstance(outcome, Staged) else scene.messages)


@EVERY_API
@share(4)
@given(data=st.data())
def test_a_mutated_list_is_refused_or_permitted(api: Api, data: st.DataObject) -> None:
    """Rules and brute force agree on every mutation, and what both accept the provider accepts."""
    scene = data.draw(scenes(api.provider_name))
    protection = data.draw(st.sampled_from(["always", "open_cycle"]))
    processor = Mutating(data.draw(permitted_plans(scene, protection)), data.draw(CHANGES))
    before = copy.deepcopy(scene.messages)

    sent = _accepted(scene, processor, protection)

    assert repr(scene.messages) == repr(before)
    assert (sent is not None) == is_permitted(scene, processor.returned, protection)
    if sent is not None:
        assert repr(sent) == repr([one.message for one in processor.returned])
        assert refusals(api, scene, sent) == []
