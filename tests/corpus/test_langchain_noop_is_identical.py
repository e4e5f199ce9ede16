"""A processor that changes nothing changes no byte of the request, on every recorded LangChain history."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable, Sequence

import pytest
from langchain_core.messages import BaseMessage, messages_from_dict, messages_to_dict

from chats import Context, adapter, keep, untouched
from recorded import FOLDER, WITHOUT
from replayed_langchain import Stage, stages

pytestmark = [
    pytest.mark.skipif(FOLDER is None, reason=WITHOUT),
    pytest.mark.filterwarnings("ignore:The model .* is deprecated:DeprecationWarning"),  # the traffic names old models
    pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning"),
]


def _copied(ctx: Context) -> Sequence[BaseMessage]:
    return [copy.deepcopy(message) for message in ctx.messages]


def _stored(ctx: Context) -> Sequence[BaseMessage]:
    return messages_from_dict(json.loads(json.dumps(messages_to_dict(list(ctx.messages)))))


STAGES = [pytest.param(stage, id=stage.name) for stage in stages()] or [pytest.param(None, id="none")]
EVERY_STAGE = pytest.mark.parametrize("stage", STAGES)
NOOPS = {"untouched": untouched, "copied": _copied, "stored": _stored, "keeps_all": keep(1_000)}


@pytest.mark.parametrize("noop", NOOPS)
@EVERY_STAGE
def test_a_noop_sends_the_same_bytes(stage: Stage, noop: str) -> None:
    """The request of a wrapped model whose processor changes nothing is that of the model alone."""
    alone = stage.sent()

    assert len(alone) == 1
    assert stage.sent(adapter(NOOPS[noop])) == alone


@EVERY_STAGE
def test_a_condition_that_says_no_sends_the_same_bytes(stage: Stage) -> None:
    """A request whose condition is false goes out as if there were no adapter."""
    assert stage.sent(adapter(keep(0), lambda state: state.estimated_tokens < 0)) == stage.sent()


@pytest.mark.parametrize("change", [lambda stage: stage, Stage.in_common_form], ids=["own form", "v1"])
@EVERY_STAGE
def test_an_edit_leaves_the_callers_messages_alone(stage: Stage, change: Callable[[Stage], Stage]) -> None:
    """Whatever is sent, the objects of the history are what they were."""
    changed = change(stage)
    before = copy.deepcopy(changed.history)

    changed.sent(adapter(keep(0), reasoning_protection="open_cycle"))

    assert repr(changed.history) == repr(before)
