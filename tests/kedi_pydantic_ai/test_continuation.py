"""Ids of server-side state from before an edit: when they are removed from a request's settings, and when they stay."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai import Agent
from pydantic_ai.capabilities import ModelFallback
from pydantic_ai.exceptions import ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.function import FunctionModel
from pydantic_ai.models.openai import OpenAIResponsesModelSettings
from pydantic_ai.models.wrapper import WrapperModel
from pydantic_ai.settings import ModelSettings

from agents import ENTRY_POINTS, Context, Script, adapter, calls, keep, run_through, turns, untouched
from kedi_pydantic_ai.continuation import serving_models, without_old_state

STALE: dict[str, Any] = {
    "openai_previous_response_id": {"openai_previous_response_id": "resp_1"},
    "openai_conversation_id": {"openai_conversation_id": "conv_1"},
    "xai_previous_response_id": {"xai_previous_response_id": "resp_x"},
    "extra_body previous_response_id": {"extra_body": {"previous_response_id": "resp_1", "user": "ann"}},
    "extra_body conversation": {"extra_body": {"conversation": "conv_1", "user": "ann"}},
    "extra_body previous_interaction_id": {"extra_body": {"previous_interaction_id": "int_1", "user": "ann"}},
}
SETTINGS = ("openai_previous_response_id", "openai_conversation_id", "xai_previous_response_id")
BODY_KEYS = {"previous_response_id", "conversation", "previous_interaction_id"}
each_stale = pytest.mark.parametrize("stale", STALE.values(), ids=STALE)
OVERLOADED = ModelHTTPError(529, "scripted", None)


def names_state(settings: ModelSettings) -> bool:
    """Tell whether settings name state of a server."""
    body = settings.get("extra_body")
    in_body = isinstance(body, dict) and bool(BODY_KEYS & body.keys())
    return in_body or any(settings.get(name) is not None for name in SETTINGS)


@each_stale
@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_stale_ids_are_not_sent_with_an_edited_history(entry: str, stale: ModelSettings) -> None:
    """After an edit the request names no state from before it, keeps all else, and the caller's dict is untouched."""
    given = ModelSettings(**copy.deepcopy(stale), temperature=0.5)
    before = copy.deepcopy(given)
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(1))])

    run_through(entry, agent, "now", message_history=turns(3), model_settings=given)

    assert not names_state(script.settings[0])
    assert script.settings[0].get("temperature") == 0.5
    assert script.settings[0].get("extra_body", {"user": "ann"}) == {"user": "ann"}
    assert given == before


@each_stale
def test_stale_ids_of_the_agents_settings_are_not_sent(stale: ModelSettings) -> None:
    """Settings given to the agent are covered like a run's, and left as they are."""
    given = copy.deepcopy(stale)
    script = Script("done")
    agent = Agent(script.model, model_settings=given, capabilities=[adapter(keep(1))])

    run_through("run", agent, "now", message_history=turns(3))

    assert not names_state(script.settings[0])
    assert given == stale


@each_stale
@pytest.mark.parametrize("wrapped", [False, True])
def test_stale_ids_of_the_models_own_settings_are_not_sent(stale: ModelSettings, wrapped: bool) -> None:
    """What the model itself carries is overridden for the request, not changed."""
    carried = copy.deepcopy(stale)
    script = Script("done", settings=carried)
    agent = Agent(WrapperModel(script.model) if wrapped else script.model, capabilities=[adapter(keep(1))])

    run_through("run", agent, "now", message_history=turns(3))

    assert not names_state(script.settings[0])
    assert script.settings[0].get("extra_body", {"user": "ann"}) == {"user": "ann"}
    assert carried == stale


@each_stale
def test_stale_ids_of_fallback_candidates_are_not_sent(stale: ModelSettings) -> None:
    """Every candidate of a `FallbackModel` may carry its own; none is sent."""
    first, second = Script(OVERLOADED), Script("done", settings=copy.deepcopy(stale))
    agent = Agent(FallbackModel(first.model, second.model), capabilities=[adapter(keep(1))])

    run_through("run", agent, "now", message_history=turns(3))

    assert not names_state(second.settings[0])
    assert second.model.settings == stale


@each_stale
def test_stale_ids_of_a_fallback_capabilitys_model_are_not_sent(stale: ModelSettings) -> None:
    """A model that comes in with a later attempt is covered too."""
    first, second = Script(OVERLOADED), Script("done", model_name="second", settings=copy.deepcopy(stale))
    agent = Agent(first.model, capabilities=[adapter(keep(1)), ModelFallback(second.model)])

    run_through("run", agent, "now", message_history=turns(3))

    assert not names_state(second.settings[0])


@each_stale
def test_stale_ids_stay_off_in_later_steps_of_the_run(stale: ModelSettings) -> None:
    """Once history was edited, no later request of the run names the old state, whether it edits or not."""
    script = Script(calls("c1"), calls("c2"), "done")
    agent = Agent(script.model, capabilities=[adapter(_at_two)])
    agent.tool_plain(look)

    run_through("run", agent, "now", message_history=turns(3), model_settings=copy.deepcopy(stale))

    assert [names_state(settings) for settings in script.settings] == [True, False, False]


def test_stale_ids_stay_off_when_a_later_condition_says_no() -> None:
    """The skipped request still follows an edit."""
    script = Script(calls("c1"), "done")
    agent = Agent(script.model, capabilities=[adapter(keep(1), lambda state: state.request_index == 1)])
    agent.tool_plain(look)

    stale = OpenAIResponsesModelSettings(openai_previous_response_id="resp_1")
    run_through("run", agent, "now", message_history=turns(3), model_settings=stale)

    assert [names_state(settings) for settings in script.settings] == [False, False]


@each_stale
def test_ids_stay_while_nothing_was_edited(stale: ModelSettings) -> None:
    """A no-op leaves continuation exactly as it was."""
    script = Script(calls("c1"), "done")
    agent = Agent(script.model, capabilities=[adapter(untouched)])
    agent.tool_plain(look)

    run_through("run", agent, "now", message_history=turns(3), model_settings=stale)

    assert script.settings == [stale, stale]


def test_an_edit_that_was_undone_takes_no_ids_away() -> None:
    """After a failed edit the next run is at generation 0 and may name the old state."""
    script = Script(OVERLOADED, "done")
    agent = Agent(script.model, capabilities=[adapter(keep(1), lambda state: not script.sent)])
    stale = OpenAIResponsesModelSettings(openai_conversation_id="conv_1")

    with pytest.raises(ModelHTTPError):
        run_through("run", agent, "now", message_history=turns(3), model_settings=stale)
    run_through("run", agent, "now", message_history=turns(3), model_settings=stale)

    assert [names_state(settings) for settings in script.settings] == [False, True]


def test_an_automatic_chain_stays_on() -> None:
    """`"auto"` may resume from a response that was produced after the edit; the host sees to that."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(1))])
    settings = OpenAIResponsesModelSettings(openai_previous_response_id="auto")

    run_through("run", agent, "now", message_history=turns(3), model_settings=settings)

    assert script.settings == [{"openai_previous_response_id": "auto"}]


def test_an_automatic_chain_over_a_models_fixed_id_stays_on() -> None:
    """The run's own "auto" replaces what the model carries, so there is no stale id to take away."""
    carried = OpenAIResponsesModelSettings(openai_previous_response_id="resp_1")
    script = Script("done", settings=carried)
    agent = Agent(script.model, capabilities=[adapter(keep(1))])
    settings = OpenAIResponsesModelSettings(openai_previous_response_id="auto")

    run_through("run", agent, "now", message_history=turns(3), model_settings=settings)

    assert script.settings == [{"openai_previous_response_id": "auto"}]


def test_a_cleaned_body_of_one_fallback_candidate_holds_for_all() -> None:
    """Request settings reach every candidate of a `FallbackModel` alike, so the override is safe rather than exact."""
    first = Script(OVERLOADED, settings=ModelSettings(extra_body={"previous_response_id": "resp_1", "user": "ann"}))
    second = Script("done", settings=ModelSettings(extra_body={"conversation": "conv_2"}))
    agent = Agent(FallbackModel(first.model, second.model), capabilities=[adapter(keep(1))])

    run_through("run", agent, "now", message_history=turns(3))

    assert first.settings[0].get("extra_body") == {"user": "ann"}
    assert second.settings[0].get("extra_body") == {"user": "ann"}


def test_settings_without_stale_ids_are_the_same_object() -> None:
    """There is nothing to copy when nothing is removed."""
    settings = ModelSettings(temperature=0.5, extra_body={"user": "ann"})

    assert without_old_state(settings, Script().model) is settings
    assert without_old_state(None, Script().model) is None


def test_every_model_that_may_serve_is_found_through_wrappers_and_fallbacks() -> None:
    """Wrappers and fallbacks may nest."""
    inner, other = Script(model_name="inner").model, Script(model_name="other").model
    model = WrapperModel(FallbackModel(WrapperModel(inner), other))

    leaves = [one for one in serving_models(model) if isinstance(one, FunctionModel)]

    assert leaves == [inner, other]


def _at_two(ctx: Context) -> Sequence[ModelMessage]:
    return ctx.keep_recent_groups(1) if ctx.request_index == 2 else ctx.messages


def look() -> str:
    """Look at something."""
    return "seen"
