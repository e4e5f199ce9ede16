"""Which processor and condition the calls of a wrapped model have: the scope's own, else the adapter's."""

from __future__ import annotations

from typing import Any

import pytest

from chats import Chat, adapter, keep
from kedi_compile import HistoryConfigurationError, HistoryPrefixWarning
from kedi_compile.conversation import AgentProfile, HistoryProcessingSettings, history_scope
from threads import answering

POLICIES: dict[str, tuple[dict[str, Any], list[str]]] = {
    "omitted: the constructor's": ({}, ["< one", "> done", "< now"]),
    "a new one": ({"processor": keep(0)}, ["< now"]),
    "None: none": ({"processor": None}, ["< zero", "> done", "< one", "> done", "< now"]),
    "of a profile": (
        {"profile": AgentProfile(history_processing=HistoryProcessingSettings(processor=keep(0)))},
        ["< now"],
    ),
    "a profile that inherits none": (
        {"profile": AgentProfile(history_processing=HistoryProcessingSettings(inherit_processor=False))},
        ["< zero", "> done", "< one", "> done", "< now"],
    ),
    "a condition for the constructor's": (
        {"processor_condition": lambda state: False},
        ["< zero", "> done", "< one", "> done", "< now"],
    ),
    "a new one with a condition": (
        {"processor": keep(0), "processor_condition": lambda state: False},
        ["< zero", "> done", "< one", "> done", "< now"],
    ),
}


@pytest.mark.filterwarnings("ignore::kedi_compile.HistoryPrefixWarning")
@pytest.mark.parametrize(("arguments", "shown"), POLICIES.values(), ids=POLICIES)
def test_a_scope_says_which_processor_its_calls_have(arguments: dict[str, Any], shown: list[str]) -> None:
    """What it leaves out is the adapter's own, and leaving it restores that."""
    transport = answering("done")
    model = adapter(keep(1)).wrap(Chat(transport=transport))

    with history_scope(True):
        model.invoke("zero")
        model.invoke("one")
        with history_scope(**arguments):
            model.invoke("now")
        model.invoke("after")

    assert transport.sent[2] == shown
    assert transport.sent[3] == ["< now", "> done", "< after"]


@pytest.mark.parametrize("condition", [None, "omitted"])
def test_a_scope_clears_a_condition(condition: Any) -> None:
    """By None, keeping the processor; and by a new processor without one."""
    transport = answering("done")
    model = adapter(keep(0), lambda state: False).wrap(Chat(transport=transport))
    arguments: dict[str, Any] = {"processor_condition": None} if condition is None else {"processor": keep(0)}

    with history_scope(True):
        model.invoke("one")
        if condition is None:
            with history_scope(**arguments):
                model.invoke("two")
        else:
            with pytest.warns(HistoryPrefixWarning), history_scope(**arguments):
                model.invoke("two")

    assert transport.sent[1] == ["< two"]


def test_a_condition_without_a_processor_is_refused_before_the_model_is_asked() -> None:
    """By the call that would need it; the turn is given back."""
    transport = answering("done")
    model = adapter().wrap(Chat(transport=transport))

    with history_scope(True) as state:
        with history_scope(processor_condition=lambda state: True), pytest.raises(HistoryConfigurationError):
            model.invoke("left")
        model.invoke("one")

    assert transport.sent == [["< one"]]
    assert state.turns == 1
