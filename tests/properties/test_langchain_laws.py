"""Laws of history edits on LangChain histories: what is permitted is accepted, what is not is refused.

The histories are drawn with their groups known and the core is driven with the real dialect. Where a provider's package
is at hand, each accepted list is judged as the body that its own chat model makes of it. The second definition of a
permitted edit is brute force and shares no code with the rules.
"""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import BaseMessage, messages_from_dict, messages_to_dict

from edits import INFO, share
from histories import Plan, Text, carried_out, flat, permitted_plans
from histories_langchain import FORMS, WIRED, Form, LangChainScene, langchain_scenes, refusals
from kedi_compile import HistoryProcessingValidationError, HistoryProcessorCallback
from kedi_compile.history.flow import Outcome, Staged, Unchanged
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from kedi_langchain import LangChainDialect
from mutations_langchain import is_permitted, is_plainly_permitted, mutating_langchain, written

Processor = HistoryProcessorCallback[BaseMessage]

pytestmark = [
    pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning"),
    pytest.mark.filterwarnings("ignore:A non-leading `SystemMessage`:UserWarning"),  # the host moves it, and says so
]
PROTECTIONS = st.sampled_from(["always", "open_cycle"])
EVERY_WIRED_FORM = pytest.mark.parametrize("form", WIRED)
SCENES = st.sampled_from(FORMS).flatmap(langchain_scenes)


def _session(processor: Processor | None = None, **policy: Any) -> RunSession[BaseMessage]:
    return RunSession(HistoryPolicy(processor, **policy), LangChainDialect(), owner=object())


def _edited(scene: LangChainScene, processor: Processor, **policy: Any) -> list[BaseMessage]:
    outcome: Outcome[BaseMessage] = _session(processor, **policy).edit_sync(scene.messages, INFO)
    assert isinstance(outcome, (Staged, Unchanged))
    return list(outcome.messages if isinstance(outcome, Staged) else scene.messages)


def _carrying_out(plan: Plan) -> Any:
    return lambda ctx: carried_out(plan, ctx)


@st.composite
def edited_scenes(draw: st.DrawFn, form: Form) -> tuple[LangChainScene, Plan, Any]:
    """Draw a history, a permitted edit of it, and the reasoning protection it is permitted under."""
    scene = draw(langchain_scenes(form))
    protection = draw(PROTECTIONS)
    return scene, draw(permitted_plans(scene, protection)), protection


@share(4)
@given(SCENES, PROTECTIONS)
def test_the_groups_are_the_cycles(scene: LangChainScene, protection: Any) -> None:
    """Groups partition the entries into whole cycles, and are eligible exactly where nothing protects them."""
    spans = _session(reasoning_protection=protection).revision(scene.messages).spans

    found = [(span.start, span.end, span.closed and not span.reasons) for span in spans]
    assert found == [(block.start, block.end, block.is_eligible(protection)) for block in scene.blocks]


@EVERY_WIRED_FORM
@share(20)
@given(data=st.data())
def test_a_drawn_history_is_well_formed(form: Form, data: st.DataObject) -> None:
    """The unedited histories are accepted by their provider, so a refusal speaks of an edit."""
    scene = data.draw(langchain_scenes(form))

    assert refusals(form, scene, scene.messages) == []


@EVERY_WIRED_FORM
@share(10)
@given(data=st.data())
def test_a_permitted_edit_is_accepted_by_the_rules_and_by_the_provider(form: Form, data: st.DataObject) -> None:
    """Whole eligible groups in allowed order plus texts make a request that everybody takes."""
    scene, plan, protection = data.draw(edited_scenes(form))

    sent = _edited(scene, _carrying_out(plan), reasoning_protection=protection)

    assert [_shown(scene, message) for message in sent] == [_planned(item) for item in plan]
    assert refusals(form, scene, sent) == []


@pytest.mark.parametrize("form", [form for form in FORMS if form not in WIRED])
@share(10)
@given(data=st.data())
def test_a_permitted_edit_is_accepted_by_the_rules(form: Form, data: st.DataObject) -> None:
    """Also in the forms whose provider's package is not at hand, and with ids that start over in each cycle."""
    scene, plan, protection = data.draw(edited_scenes(form))

    sent = _edited(scene, _carrying_out(plan), reasoning_protection=protection)

    assert [_shown(scene, message) for message in sent] == [_planned(item) for item in plan]


@share(4)
@given(data=st.data())
def test_a_mutated_list_is_refused_or_permitted(data: st.DataObject) -> None:
    """What the rules accept brute force permits, what is plainly permitted they accept; the caller's messages stay."""
    scene = data.draw(SCENES)
    protection: Any = data.draw(PROTECTIONS)
    processor: Any = data.draw(mutating_langchain(scene, protection))
    before = written(scene.messages)
    sent: list[BaseMessage] | None = None

    try:
        sent = _edited(scene, processor, reasoning_protection=protection)
    except HistoryProcessingValidationError as error:
        assert error.violations  # noqa: PT017  # a refusal is one of two outcomes here

    assert written(scene.messages) == before
    if sent is None:
        assert not is_plainly_permitted(scene, processor.returned, protection)
    else:
        assert is_permitted(scene, processor.returned, protection)
        assert written(sent) == written([one.message for one in processor.returned])


def _stored(messages: Any) -> list[BaseMessage]:
    return messages_from_dict(json.loads(json.dumps(messages_to_dict(list(messages)))))


NOOPS = st.sampled_from(
    [
        lambda ctx: ctx.messages,
        lambda ctx: list(ctx.messages),
        lambda ctx: copy.deepcopy(list(ctx.messages)),
        lambda ctx: _stored(ctx.messages),
        lambda ctx: ctx.keep_recent_groups(100),
    ]
)


@share(4)
@given(SCENES, NOOPS)
def test_a_noop_is_identity(scene: LangChainScene, noop: Processor) -> None:
    """What equals the history changes nothing: no edit, no new generation, not a field of the caller's messages."""
    run = _session(noop)
    before = written(scene.messages)

    outcome = run.edit_sync(scene.messages, INFO)

    assert isinstance(outcome, Unchanged)
    assert run.continuation.generation == 0
    assert written(scene.messages) == before


@share(4)
@given(SCENES, st.integers(0, 6), PROTECTIONS)
def test_recent_groups_are_the_last_eligible_ones_and_all_others(
    scene: LangChainScene, n: int, protection: Any
) -> None:
    """The last n eligible groups stay, with all that is protected, in order; zero keeps the protected alone."""
    eligible = [block for block in scene.blocks if block.is_eligible(protection)]
    kept = [block for block in scene.blocks if block not in eligible[: max(len(eligible) - n, 0)]]

    sent = _edited(scene, lambda ctx: ctx.keep_recent_groups(n), reasoning_protection=protection)

    assert [_shown(scene, message) for message in sent] == list(flat(kept))


@share(4)
@given(SCENES)
def test_a_stored_history_has_the_same_digests(scene: LangChainScene) -> None:
    """JSON there and back is the same history, and a change of any one message is not."""
    version = _session().revision(scene.messages).version
    other = copy.deepcopy(scene.messages)
    other[len(other) // 2].additional_kwargs["mine"] = 1

    assert _session().revision(_stored(scene.messages)).version == version
    assert _session().revision(other).version != version


def _shown(scene: LangChainScene, message: BaseMessage) -> int | str:
    """Tell a sent message: the index of the caller's own object, or its text."""
    own = [index for index, known in enumerate(scene.messages) if known is message]
    return own[0] if own else str(message.content)


def _planned(item: int | Text) -> int | str:
    return item.text if isinstance(item, Text) else item
