"""Fallback models, signed reasoning and prefix-bound reasoning through the adapter."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic_ai import Agent, capture_run_messages
from pydantic_ai.capabilities import ModelFallback
from pydantic_ai.exceptions import FallbackExceptionGroup, ModelHTTPError
from pydantic_ai.messages import ModelMessage
from pydantic_ai.models import Model
from pydantic_ai.models.fallback import FallbackModel
from pydantic_ai.models.wrapper import WrapperModel

from agents import ENTRY_POINTS, Context, Script, adapter, asks, calls, keep, lines, results, run_through, says, turns
from kedi_compile import HistoryProcessingValidationError, HistoryProtectedWarning
from kedi_compile.history.reasoning import ReasoningProtection

UNEDITED = [*lines(turns(3)), "< now"]
KEPT_ONE = ["< question 3", "> answer 3", "< now"]
OVERLOADED = ModelHTTPError(529, "scripted", None)
BINDING = "claude-opus-5-5"


def thinking_cycle() -> list[ModelMessage]:
    """A closed cycle whose tool call stands behind a signed thought."""
    return [asks("think"), calls("c0", thought="deep"), results("c0"), says("thought about it")]


def drop_first(ctx: Context) -> list[ModelMessage]:
    """Drop the first group."""
    return ctx.replace_groups(ctx.groups[0])


@pytest.mark.parametrize("entry", ENTRY_POINTS)
@pytest.mark.parametrize("capability", [False, True], ids=["FallbackModel", "ModelFallback"])
def test_an_edit_is_proved_once_and_reused_by_the_fallback(entry: str, capability: bool) -> None:
    """A fallback attempt is the same request: same index, same edit, the callback asked once."""
    indices: list[int] = []

    def edit(ctx: Context) -> list[ModelMessage]:
        indices.append(ctx.request_index)
        return ctx.keep_recent_groups(1)

    first, second = Script(OVERLOADED, model_name="first"), Script("done", model_name="second")
    agent = _with_fallback(first, second, edit, capability=capability)

    finished = run_through(entry, agent, "now", message_history=turns(3))

    assert (first.sent, second.sent) == ([KEPT_ONE], [KEPT_ONE])
    assert lines(finished.all_messages) == [*KEPT_ONE, "> done"]
    assert lines(finished.new_messages) == ["< now", "> done"]
    assert indices == [1]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
@pytest.mark.parametrize("capability", [False, True], ids=["FallbackModel", "ModelFallback"])
def test_an_edit_is_undone_when_every_model_fails(entry: str, capability: bool) -> None:
    """The whole chain fails: the list holds the unedited history."""
    agent = _with_fallback(Script(OVERLOADED), Script(OVERLOADED, model_name="b"), keep(1), capability=capability)

    with capture_run_messages() as captured, pytest.raises((FallbackExceptionGroup, ModelHTTPError)):
        run_through(entry, agent, "now", message_history=turns(3))

    assert lines(captured)[:7] == UNEDITED


@pytest.mark.parametrize("position", [0, 1], ids=["before", "behind"])
def test_the_edit_holds_wherever_the_fallback_stands_in_the_list(position: int) -> None:
    """The adapter comes after the fallback's own preparation, whatever the list order."""
    first, second = Script(OVERLOADED, model_name="first"), Script("done", model_name="second")
    capabilities: list[Any] = [ModelFallback(second.model)]
    capabilities.insert(position, adapter(keep(1)))
    agent = Agent(first.model, capabilities=capabilities)

    run_through("run", agent, "now", message_history=turns(3))

    assert (first.sent, second.sent) == ([KEPT_ONE], [KEPT_ONE])


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_fallback_to_a_model_that_binds_reasoning_is_checked_again(entry: str) -> None:
    """The first model does not bind, the capability's second one does: the edit is refused before that attempt."""
    first, second = Script(OVERLOADED, model_name="first"), Script("never", model_name=BINDING)
    agent = Agent(first.model, capabilities=[adapter(drop_first), ModelFallback(second.model)])

    with capture_run_messages() as captured, pytest.raises(HistoryProcessingValidationError) as caught:
        run_through(entry, agent, "now", message_history=[*turns(1), *thinking_cycle()])

    assert caught.value.rule == "bound_reasoning"
    assert len(first.sent) == 1
    assert second.sent == []
    assert lines(captured)[:2] == ["< question 1", "> answer 1"]


@pytest.mark.parametrize("position", [0, 1], ids=["before", "behind"])
def test_the_first_model_of_a_fallback_capability_is_checked_too(position: int) -> None:
    """An agent without a model of its own is served by the capability's first, wherever that stands in the list."""
    first, second = Script("never", model_name=BINDING), Script("never", model_name="second")
    capabilities: list[Any] = [ModelFallback(first.model, second.model)]
    capabilities.insert(position, adapter(drop_first))
    agent = Agent(capabilities=capabilities)

    with pytest.raises(HistoryProcessingValidationError, match="bound_reasoning"):
        run_through("run", agent, "now", message_history=[*turns(1), *thinking_cycle()])
    assert (first.sent, second.sent) == ([], [])


def test_all_models_of_a_fallback_model_are_asked_for_binding() -> None:
    """A `FallbackModel` may serve with any candidate, so one that binds is enough to refuse."""
    first, second = Script("never", model_name="first"), Script("never", model_name=BINDING)
    agent = Agent(FallbackModel(first.model, second.model), capabilities=[adapter(drop_first)])

    with pytest.raises(HistoryProcessingValidationError, match="bound_reasoning"):
        run_through("run", agent, "now", message_history=[*turns(1), *thinking_cycle()])
    assert (first.sent, second.sent) == ([], [])


def test_a_wrapped_models_binding_is_found() -> None:
    """A wrapper does not hide the model that serves."""
    script = Script("never", model_name=BINDING)
    agent = Agent(WrapperModel(script.model), capabilities=[adapter(drop_first)])

    with pytest.raises(HistoryProcessingValidationError, match="bound_reasoning"):
        run_through("run", agent, "now", message_history=[*turns(1), *thinking_cycle()])
    assert script.sent == []


def test_a_model_that_binds_reasoning_refuses_an_edit_before_it() -> None:
    """The error names the entries that hold the bound reasoning."""
    script = Script("never", model_name=BINDING)
    agent = Agent(script.model, capabilities=[adapter(drop_first)])

    with pytest.raises(HistoryProcessingValidationError) as caught:
        run_through("run", agent, "now", message_history=[*turns(1), *thinking_cycle()])

    assert [(one.rule, one.entries) for one in caught.value.violations] == [("bound_reasoning", (3,))]
    assert script.sent == []


def test_an_edit_behind_bound_reasoning_is_accepted() -> None:
    """Nothing before the reasoning changes, so it stays valid."""
    script = Script("done", model_name=BINDING)
    agent = Agent(script.model, capabilities=[adapter(keep(0))])

    run_through("run", agent, "now", message_history=[*thinking_cycle(), *turns(2)])

    assert script.sent == [[*lines(thinking_cycle()), "< now"]]


def test_other_models_take_an_edit_before_signed_reasoning() -> None:
    """On a model that is not known to bind, the signed group stays and the group before it goes."""
    script = Script("done", model_name="claude-sonnet-4-5")
    agent = Agent(script.model, capabilities=[adapter(keep(0))])

    run_through("run", agent, "now", message_history=[*turns(1), *thinking_cycle()])

    assert script.sent == [[*lines(thinking_cycle()), "< now"]]


def test_an_explicit_refusal_applies_to_every_model() -> None:
    """`bound_reasoning="refuse"` holds also for a model that is not in the table."""
    agent = Agent(Script("never").model, capabilities=[adapter(drop_first, bound_reasoning="refuse")])

    with pytest.raises(HistoryProcessingValidationError, match="bound_reasoning"):
        run_through("run", agent, "now", message_history=[*turns(1), *thinking_cycle()])


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_stripping_drops_the_reasoning_of_closed_groups_behind_the_edit(entry: str) -> None:
    """`bound_reasoning="strip"` keeps the group and its calls, without the thought, in both lists."""
    history = [*turns(1), *thinking_cycle()]
    script = Script("done", model_name=BINDING)
    agent = Agent(script.model, capabilities=[adapter(drop_first, bound_reasoning="strip")])

    finished = run_through(entry, agent, "now", message_history=history)

    bare = ["< think", "> call c0", "< result c0", "> thought about it", "< now"]
    assert script.sent == [bare]
    assert lines(finished.all_messages) == [*bare, "> done"]
    assert lines(history[2:4]) == ["< think", "> thought deep | call c0"]


def test_stripping_refuses_reasoning_of_the_running_cycle() -> None:
    """Bound reasoning in the open cycle cannot be dropped, so an edit before it is refused."""
    script = Script(calls("c1", thought="now"), "never", model_name=BINDING)
    agent = Agent(script.model, capabilities=[adapter(_drop_first_at_two, bound_reasoning="strip")])
    agent.tool_plain(look)

    with pytest.raises(HistoryProcessingValidationError, match="bound_reasoning"):
        run_through("run", agent, "now", message_history=turns(1))
    assert len(script.sent) == 1


@pytest.mark.parametrize(
    ("protection", "sent"),
    [("always", [*lines(thinking_cycle()), "< now"]), ("open_cycle", ["< now"])],
)
def test_signed_reasoning_protects_a_closed_group_as_configured(
    protection: ReasoningProtection, sent: list[str]
) -> None:
    """For good by default; with "open_cycle" a closed group may be dropped whole."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(0), reasoning_protection=protection)])

    run_through("run", agent, "now", message_history=[*turns(1), *thinking_cycle()])

    assert script.sent == [sent]


@pytest.mark.parametrize("protection", ["always", "open_cycle"])
def test_signed_reasoning_of_the_open_cycle_stays(protection: ReasoningProtection) -> None:
    """In the running tool loop the thought is sent back, whatever the setting."""
    script = Script(calls("c1", thought="now"), "done")
    agent = Agent(script.model, capabilities=[adapter(keep(0), reasoning_protection=protection)])
    agent.tool_plain(look)

    run_through("run", agent, "now", message_history=turns(1))

    assert script.sent[1] == ["< now", "> thought now | call c1", "< result c1"]


def test_protected_groups_do_not_count_toward_n() -> None:
    """`keep_recent_groups(1)` keeps the newest cycle with reasoning and the newest one without."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(1))])

    run_through("run", agent, "now", message_history=[*turns(2), *thinking_cycle()])

    assert script.sent == [["< question 2", "> answer 2", *lines(thinking_cycle()), "< now"]]


def test_nothing_to_free_is_warned_about_with_the_reason() -> None:
    """Every closed group is signed: the request goes out as it was, and the user is told why."""
    script = Script("done")
    agent = Agent(script.model, capabilities=[adapter(keep(0))])

    with pytest.warns(HistoryProtectedWarning, match="signed_reasoning"):
        run_through("run", agent, "now", message_history=thinking_cycle())

    assert script.sent == [[*lines(thinking_cycle()), "< now"]]


def _with_fallback(first: Script, second: Script, edit: Any, *, capability: bool) -> Agent[Any, Any]:
    model: Model = first.model if capability else FallbackModel(first.model, second.model)
    others: list[Any] = [ModelFallback(second.model)] if capability else []
    return Agent(model, capabilities=[adapter(edit), *others])


def _drop_first_at_two(ctx: Context) -> Any:
    return drop_first(ctx) if ctx.request_index == 2 else ctx.messages


def look() -> str:
    """Look at something."""
    return "seen"
