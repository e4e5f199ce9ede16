"""The requests of one run: append-only tails, inputs that are asked for, and attempts that repeat.

What stays of their stable text is in `test_run_stable.py`.
"""

from __future__ import annotations

from typing import Any

import pytest

from assembling import PHASES, Run, extraction, inputs, limited, source, steering
from kedi_compile.assembly import (
    Acknowledgement,
    Extraction,
    ExtractionRequest,
    LiveRequest,
    Mutation,
    RequestCompiler,
    RequestInputs,
    RuntimeEnvironment,
)
from kedi_compile.assembly.run import SUCCESSOR, RunAssembly
from kedi_compile.errors import AssemblyError, BudgetExceeded, InvariantViolation, UnknownInputError

HANDLE = "a.py@v1#whole"
BIG = "x = 1\n" * 1000


def run_of(given: RequestInputs, **options: Any) -> Run:
    """Return a run of these inputs."""
    return Run(RequestCompiler(inputs=given, tool_phases=PHASES, **options))


def test_the_first_request_has_one_tail() -> None:
    """Places 5 to 7 before the text, the steering behind it."""
    given = inputs(source())
    given.frame.steer(steering())
    step = run_of(given).request()
    (tail,) = step.tails

    assert (tail.number, tail.request_index, tail.anchor) == (1, 1, "m1")
    assert (tail.before, tail.slot) == (step.request.before, step.request.slot)
    assert step.is_new
    assert step.system == step.request.system
    assert step.notes == ()


def test_an_unchanged_frame_adds_no_tail() -> None:
    """The one that was sent is sent again, the same object."""
    run = run_of(inputs(source()))
    first, second = run.request(), run.request()

    assert second.tails == first.tails
    assert second.tails[0] is first.tails[0]
    assert not second.is_new


def test_a_changed_frame_adds_exactly_one_tail() -> None:
    """Behind the earlier ones, which stay as they were sent; it says that it replaces them."""
    given = inputs(source())
    run = run_of(given)
    first = run.request()
    given.frame.mutate(Mutation("m1", "edit a.py"))
    second, third = run.request(), run.request()

    assert second.tails[:1] == first.tails
    assert [tail.anchor for tail in second.tails] == ["m1", "m2"]
    assert second.tails[1].before.startswith(f"{SUCCESSOR}\n\n# Task epoch ")
    assert SUCCESSOR == (
        "This frame replaces the earlier frames of this run; steering that it does not repeat holds no longer."
    )
    assert third.tails == second.tails


def test_a_body_is_shown_once_in_a_run() -> None:
    """A later tail says where it stands."""
    given = inputs(source())
    run = run_of(given)
    run.request()
    given.frame.mutate(Mutation("m1", "edit a.py"))
    step = run.request()

    assert [tail.before.count("x = 1") for tail in step.tails] == [1, 0]
    assert "the body is in an earlier frame of this run, above" in step.tails[1].before
    assert step.dump().sources[0].visibility == "visible_earlier"


def test_a_record_that_is_noted_again_adds_no_tail() -> None:
    """An inputs callback may build its records anew for each request."""
    given = inputs(source())
    run = run_of(given)
    run.request()
    given.evidence.record(source())

    assert not run.request().is_new


def test_an_acknowledged_steering_leaves_the_frame() -> None:
    """The newer tail has no slot."""
    given = inputs()
    given.frame.steer(steering())
    run = run_of(given)
    run.request()
    given.frame.acknowledge(Acknowledgement("s1", "call_2"))
    step = run.request()

    assert [bool(tail.slot) for tail in step.tails] == [True, False]
    assert [(one.state, one.by) for one in step.dump().steering] == [("acknowledged", "call_2")]


def test_tails_leave_with_their_anchors() -> None:
    """What they stood by is not in the history any more."""
    given = inputs()
    run = run_of(given)
    run.request()
    given.frame.mutate(Mutation("m1", "x"))
    run.request()
    given.frame.mutate(Mutation("m2", "y"))
    step = run.request(left=["m1"])

    assert [tail.number for tail in step.tails] == [2, 3]
    assert step.notes == ("earlier tails left with the messages they stood by: tail 1",)


def test_a_tail_that_speaks_of_a_body_that_left_leaves_too() -> None:
    """A model is never told that it has what the request lacks: the body is shown again."""
    given = inputs(source())
    run = run_of(given)
    run.request()
    given.frame.mutate(Mutation("m1", "x"))
    run.request()
    step = run.request(left=["m1"])

    assert [tail.number for tail in step.tails] == [3]
    assert "x = 1" in step.tails[0].before
    assert step.notes == (
        "earlier tails left with the messages they stood by: tail 1",
        "earlier tails left, because bodies they speak of did: tail 2",
    )


def test_a_bound_tail_stays_and_the_body_that_left_is_shown_again() -> None:
    """Reasoning that is bound to it would not be valid without it."""
    given = inputs(source())
    run = run_of(given)
    run.request()
    given.frame.mutate(Mutation("m1", "x"))
    second = run.request()
    third = run.request(left=["m1"], bound=True)

    assert [tail.number for tail in third.tails] == [2, 3]
    assert third.tails[0] is second.tails[1]
    assert "x = 1" in third.tails[1].before
    assert run.request(bound=True).tails == third.tails


def test_another_attempt_at_a_request_gets_the_same() -> None:
    """Nothing is asked, nothing is added, whatever changed meanwhile."""
    given = inputs()
    run = Run(RequestCompiler(inputs=lambda live: given))
    first = run.request()
    given.frame.mutate(Mutation("m1", "x"))

    assert run.request(again=True) is first
    assert run.asked == ["inputs"]


def test_a_request_that_failed_is_assembled_anew() -> None:
    """It left nothing behind."""
    given = inputs(source(coverage=None))
    run = run_of(given)
    with pytest.raises(InvariantViolation):
        run.request()
    given.evidence.retire("a.py@v1#unknown", "nobody knows")

    assert run.request(again=True).tails[0].number == 1


def test_tails_are_dropped_where_there_is_no_room_and_nothing_is_bound() -> None:
    """The newest frame is sent alone, with its bodies."""
    given = inputs(source(body="x = 1\n" * 100, requested=True), budget=limited(525))
    run = run_of(given)
    run.request()
    given.frame.mutate(Mutation("m1", "y"))
    step = run.request()

    assert [tail.number for tail in step.tails] == [2]
    assert step.tails[0].before.count("x = 1") == 100
    assert not step.tails[0].before.startswith(SUCCESSOR)
    assert step.notes == ("earlier tails were left out, because there is no room for them: tail 1",)


def test_tails_stay_where_reasoning_is_bound_to_them() -> None:
    """A request that does not fit is refused."""
    given = inputs(source(body="x = 1\n" * 100), budget=limited(500))
    run = run_of(given)
    run.request()
    given.frame.mutate(Mutation("m1", "y" * 300))

    with pytest.raises(BudgetExceeded) as raised:
        run.request(bound=True)

    assert raised.value.sizes["tails"] > 300


def test_an_unchanged_frame_is_not_counted_twice() -> None:
    """A request whose tail takes more than half of the room is the same again."""
    given = inputs(source(body="x = 1\n" * 200, requested=True), budget=limited(700))
    run = run_of(given)
    first, second = run.request(), run.request(bound=True)

    assert second.tails == first.tails
    assert second.dump().budget.total == first.dump().budget.total <= 700


def test_what_a_tail_takes_is_accounted_once() -> None:
    """As late text when it is new, as a tail when it is sent again."""
    given = inputs(source())
    run = run_of(given)
    first, again = run.request(), run.request()
    late = ("task_epoch", "evidence", "frame", "current", "headings")

    assert first.dump().budget.by_source["tails"] == 0
    assert sum(first.dump().budget.by_source[name] for name in late) == first.tails[0].tokens
    assert again.dump().budget.by_source["tails"] == first.tails[0].tokens
    assert sum(again.dump().budget.by_source[name] for name in late) == 0
    assert [tail.new for tail in first.dump().tails] == [True]
    assert [tail.new for tail in again.dump().tails] == [False]


def test_inputs_are_filled_in_with_what_the_adapter_observed() -> None:
    """Tools, calls and the size of the history, where they are left open."""
    step = run_of(inputs()).request("read", history_tokens=70)

    assert [tool.name for tool in step.request.tools] == ["read"]
    assert step.request.phase.phase == "explore"
    assert step.dump().budget.by_source["history"] == 70


def test_inputs_that_say_it_themselves_are_taken_at_their_word() -> None:
    """None is open; empty is said."""
    given = inputs(calls=(), environment=RuntimeEnvironment(tools=()))
    step = run_of(given).request("read")

    assert step.request.tools == ()
    assert step.request.phase.phase is None


def test_a_callback_gives_the_inputs_of_each_request() -> None:
    """It sees what was observed, and must return RequestInputs."""
    seen: list[LiveRequest] = []

    def given(live: LiveRequest) -> RequestInputs:
        seen.append(live)
        return inputs()

    Run(RequestCompiler(inputs=given)).request("read")

    assert [(live.request_index, live.calls) for live in seen] == [(1, ("read",))]
    with pytest.raises(
        UnknownInputError, match=r"^The request compiler, from `inputs`, was given str; it takes RequestIn"
    ):
        Run(RequestCompiler(inputs=lambda live: "Fix it.")).request()  # type: ignore[arg-type, return-value]  # tested
    with pytest.raises(
        AssemblyError, match=r"^The request compiler has no `inputs`; give RequestInputs, or a callback"
    ):
        Run(RequestCompiler()).request()


def test_overwhelming_material_is_extracted_before_it_is_sent() -> None:
    """Once: what was extracted is kept with its source."""
    asked: list[ExtractionRequest] = []

    def extract(request: ExtractionRequest) -> Extraction:
        asked.append(request)
        return extraction()

    given = inputs(source(body=BIG), budget=limited(3_000))
    run = run_of(given, extraction=extract)
    first = run.request()
    given.frame.mutate(Mutation("m1", "x"))
    second = run.request()

    assert run.asked == ["extraction"]
    assert [(one.source.handle, one.reason) for one in asked] == [(HANDLE, "overwhelming")]
    assert "It sets x." in first.tails[0].before
    assert "x = 1" not in first.tails[0].before
    assert [(one.decision, one.fidelity) for one in second.dump().sources] == [("compacted", "extracted")]


def test_what_is_no_extraction_is_refused() -> None:
    """Text is none: nobody could tell how faithful it is."""
    run = run_of(inputs(source(extract=True)), extraction=lambda request: "It sets x.")

    with pytest.raises(
        UnknownInputError, match=r"^The request compiler, from `extraction` for 'a.py@v1#whole', was given"
    ):
        run.request()


def test_a_rehydrated_body_is_shown_in_the_next_request() -> None:
    """In place of its extraction, exactly."""
    given = inputs(source(extract=True))
    run = run_of(given, extraction=lambda request: extraction())
    first = run.request()
    given.evidence.rehydrate(HANDLE)
    second = run.request()

    assert "x = 1" not in first.tails[0].before
    assert "```\nx = 1\n```" in second.tails[1].before
    assert [one.decision for one in second.dump().sources] == ["rehydrated"]


def test_a_history_that_leaves_no_room_is_refused() -> None:
    """Also where the frame is unchanged; the history is named in the table."""
    run = run_of(inputs(budget=limited(400)))
    run.request()

    with pytest.raises(BudgetExceeded) as raised:
        run.request(history_tokens=390)

    assert raised.value.sizes["history"] == 390


def test_nothing_is_counted_before_there_is_a_request() -> None:
    """A counter that fails, or asks a server, is the request's matter and not that of whoever makes an adapter."""

    def fails(_text: str) -> int:
        raise ConnectionError

    run = RunAssembly(RequestCompiler(inputs=inputs()), fails)

    assert not run.is_begun
