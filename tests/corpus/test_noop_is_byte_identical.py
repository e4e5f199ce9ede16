"""A processor that changes nothing changes no byte of the request, on every recorded history and provider class."""

import copy
from collections.abc import Sequence

import pytest
from pydantic_ai.messages import ModelMessage

from agents import Context, adapter, keep, untouched
from recorded import FOLDER, WITHOUT
from replayed import Stage, stages

pytestmark = [
    pytest.mark.skipif(FOLDER is None, reason=WITHOUT),
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),  # the traffic names old models
]


def _copied(ctx: Context) -> Sequence[ModelMessage]:
    return [copy.deepcopy(message) for message in ctx.messages]


STAGES = [pytest.param(stage, id=stage.name) for stage in stages()] or [pytest.param(None, id="none")]
NOOPS = {"untouched": untouched, "copied": _copied, "keeps_all": keep(1_000)}


@pytest.mark.parametrize("protection", ["always", "open_cycle"])
@pytest.mark.parametrize("noop", NOOPS)
@pytest.mark.parametrize("stage", STAGES)
@pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning")
def test_a_noop_sends_the_same_bytes(stage: Stage, noop: str, protection: str) -> None:
    """The request with an adapter that changes nothing is the request without one, byte for byte."""
    alone = stage.sent()

    processed = stage.sent(adapter(NOOPS[noop], reasoning_protection=protection))

    assert len(alone) == 1
    assert processed == alone


@pytest.mark.parametrize("stage", STAGES)
def test_a_condition_that_says_no_sends_the_same_bytes(stage: Stage) -> None:
    """A request whose condition is false goes out as if there were no adapter."""
    alone = stage.sent()

    assert stage.sent(adapter(keep(0), lambda state: state.estimated_tokens < 0)) == alone
