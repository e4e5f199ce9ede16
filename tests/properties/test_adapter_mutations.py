"""Laws of what is not permitted: a mutated list is refused, or is a permitted edit by a second definition.

The second definition is brute force and shares no code with the rules. Whatever happens, the caller's messages stay
as they are, and what was accepted is what the provider takes.
"""

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessage

from bodies import APIS, Api
from edits import INFO, refusals, session, share
from histories import Scene, scenes
from kedi_compile import HistoryProcessingValidationError
from kedi_compile.history.flow import Staged, Unchanged
from permitted import is_permitted, is_plainly_permitted
from processors import Mutating, mutating

EVERY_API = pytest.mark.parametrize("api", APIS.values(), ids=APIS)
pytestmark = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning")


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
@share(6)
@given(data=st.data())
def test_a_mutated_list_is_refused_or_permitted(api: Api, data: st.DataObject) -> None:
    """What the rules accept brute force permits and the provider takes; what is plainly permitted they accept."""
    scene = data.draw(scenes(api.provider_name))
    protection = data.draw(st.sampled_from(["always", "open_cycle"]))
    processor = data.draw(mutating(scene, protection))
    before = copy.deepcopy(scene.messages)

    sent = _accepted(scene, processor, protection)

    assert repr(scene.messages) == repr(before)
    if sent is None:
        assert not is_plainly_permitted(scene, processor.returned, protection)
    else:
        assert is_permitted(scene, processor.returned, protection)
        assert repr(sent) == repr([one.message for one in processor.returned])
        assert refusals(api, scene, sent) == []
