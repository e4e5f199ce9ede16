"""Laws of whole runs: what an edit leaves in the request and in the run's history, and that a bad one sends nothing.

Each example is a real `Agent.run` on a function model, so there are a tenth as many as of the laws about the core.
The histories have no neighbouring requests: the host would merge them before the run, and the groups with them.
"""

import asyncio
import copy
from collections.abc import Iterable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage

from agents import Script, adapter, calls, lines, says
from edits import share
from histories import Plan, Scene, Text, carried_out, permitted_plans, scenes
from kedi_compile import HistoryProcessingValidationError, HistoryProcessorCallback
from permitted import is_permitted, is_plainly_permitted
from processors import mutating

pytestmark = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning")

Processor = HistoryProcessorCallback[ModelMessage]


SCENES = scenes("anthropic", neighbours=False)


@st.composite
def edited_scenes(draw: st.DrawFn) -> tuple[Scene, Plan]:
    """Draw a history and a permitted edit of it."""
    scene = draw(SCENES)
    return scene, draw(permitted_plans(scene))


class Run:
    """A run over a history, whose model calls a tool once and then answers; `processor` edits the first request."""

    def __init__(self, scene: Scene, processor: Processor) -> None:
        self.script = Script(calls("new_call"), says("done"))
        self.agent: Agent[None, str] = Agent(
            self.script.model, capabilities=[adapter(_only_first(processor))], tools=[look]
        )
        self.history = scene.messages

    def result(self) -> Any:
        """Run to the end."""
        return asyncio.run(self.agent.run(message_history=self.history))


def look() -> str:
    """Look."""
    return "seen"


def _only_first(processor: Processor) -> Processor:
    return lambda ctx: processor(ctx) if ctx.request_index == 1 else ctx.messages


def _said(messages: Iterable[ModelMessage]) -> list[str]:
    """Return what each part says, apart from the messages' borders, which the host moves."""
    return [line[:2] + part for line in lines(messages) for part in line[2:].split(" | ")]


def _planned(scene: Scene, plan: Plan) -> list[str]:
    sides = {"user": "< ", "assistant": "> "}
    return [
        said
        for item in plan
        for said in ([sides[item.role] + item.text] if isinstance(item, Text) else _said([scene.messages[item]]))
    ]


@share(10)
@given(edited_scenes())
def test_a_permitted_edit_is_sent_and_kept(edited: tuple[Scene, Plan]) -> None:
    """The request holds the edited history, so does the next one of the run, and so does what the run leaves."""
    scene, plan = edited
    run = Run(scene, lambda ctx: carried_out(plan, ctx))
    before = copy.deepcopy(scene.messages)

    result = run.result()

    expected = _planned(scene, plan)
    assert _said(run.script.requests[0]) == expected
    assert _said(run.script.requests[1]) == [*expected, "> call new_call", "< result new_call"]
    assert _said(result.all_messages()) == [*expected, "> call new_call", "< result new_call", "> done"]
    assert _said(result.new_messages())[-3:] == ["> call new_call", "< result new_call", "> done"]
    assert repr(scene.messages) == repr(before)


@share(10)
@given(scene=SCENES, data=st.data())
def test_a_mutated_list_is_sent_only_if_it_is_permitted(scene: Scene, data: st.DataObject) -> None:
    """A refused edit sends nothing; an accepted one sends what the callback returned."""
    processor = data.draw(mutating(scene))
    run = Run(scene, processor)
    before = copy.deepcopy(scene.messages)

    try:
        run.result()
    except HistoryProcessingValidationError:
        assert run.script.requests == []  # a refusal is one of two outcomes here

    shown = Scene(processor.shown, scene.blocks)  # the host has stamped its own messages
    if not run.script.requests:
        assert not is_plainly_permitted(shown, processor.returned, "always")
    else:
        assert is_permitted(shown, processor.returned, "always")
        assert _said(run.script.requests[0]) == _said([one.message for one in processor.returned])
    assert repr(scene.messages) == repr(before)
