"""The live frame: one current record of each concept."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from assembling import frame, steering
from kedi_compile.assembly import (
    Acknowledgement,
    LiveFrame,
    Mutation,
    Recovery,
    Requirement,
    TaskEpoch,
    Verification,
    WorkItem,
    WorkState,
)
from kedi_compile.assembly.frame import ProofState
from kedi_compile.errors import AssemblyError, UnknownInputError

EDIT = Mutation("m1", "edit a.py", ("a.py",))
TESTS = Verification("tests pass", passed=True, paths=("a.py",))


def states(live: LiveFrame) -> list[ProofState]:
    """Return what each check says now."""
    return [check.state for check in live.snapshot().verifications]


def test_there_is_one_task_epoch() -> None:
    """A newer one takes its place; steering and open records stay."""
    live = frame("Fix it.")
    live.steer(steering())
    live.begin(TaskEpoch("e2", "Now the other."))

    assert live.snapshot().epoch.id == "e2"
    assert live.snapshot().steering == steering()
    assert [(one.record.id, one.reason) for one in live.snapshot().retired] == [  # type: ignore[union-attr]  # an epoch
        ("e1", "superseded by a newer task epoch")
    ]


def test_a_fresh_task_epoch_leaves_what_belongs_to_the_old_one() -> None:
    """All but active steering is retired, with the reason."""
    live = frame("Fix it.")
    live.steer(steering())
    live.mutate(Mutation("m1", "Changed it."))
    live.verify(Verification("it works", passed=True))
    live.require(Requirement("r1", "Keep it small."))
    live.work(WorkItem("w1", "Fix it"))
    live.recover(Recovery("Began anew."))

    live.begin(TaskEpoch("e2", "Now the other."), fresh=True)

    held = live.snapshot()
    assert (held.mutations, held.verifications, held.requirements, held.work, held.recovery) == ((), (), (), (), None)
    assert held.steering == steering()
    assert {one.reason for one in held.retired} == {
        "belongs to what was before task epoch e2",
        "superseded by a newer task epoch",
    }


def test_steering_stays_until_a_structured_acknowledgement_names_it() -> None:
    """Words that sound like one, and another id, end nothing."""
    live = frame()
    live.steer(steering())

    with pytest.raises(
        UnknownInputError, match=r"^The live frame was given str; it takes Acknowledgement, and nothing e"
    ):
        live.acknowledge("Understood, s1 is done.")  # type: ignore[arg-type]  # the type is what is tested
    with pytest.raises(AssemblyError, match=r"^The acknowledgement names steering 's2', and 's1' is active$"):
        live.acknowledge(Acknowledgement("s2", "call_3"))

    assert live.snapshot().steering == steering()

    live.acknowledge(Acknowledgement("s1", "call_4"))

    assert live.snapshot().steering is None
    assert list(live.snapshot().past_steering) == [(steering(), "acknowledged by call_4")]
    with pytest.raises(AssemblyError, match=r"^The acknowledgement names steering 's1', and none is active$"):
        live.acknowledge(Acknowledgement("s1", "call_5"))


def test_newer_steering_supersedes_the_active_one() -> None:
    """There is one slot."""
    live = frame()
    live.steer(steering("s1"))
    live.steer(steering("s2"))

    assert live.snapshot().steering == steering("s2")
    assert list(live.snapshot().past_steering) == [(steering("s1"), "superseded by steering s2")]


def test_there_is_one_recovery_summary() -> None:
    """It goes when the work has recovered."""
    live = frame()
    live.recover(Recovery("The build hangs."))
    live.recover(Recovery("The build fails."))

    assert live.snapshot().recovery == Recovery("The build fails.")

    live.recovered("the build is green")
    live.recovered("again")

    assert live.snapshot().recovery is None
    assert [one.reason for one in live.snapshot().retired] == [
        "superseded by a newer recovery summary",
        "the build is green",
    ]


def test_a_mutation_makes_checks_that_depend_on_it_stale() -> None:
    """And leaves the others."""
    live = frame()
    live.verify(TESTS)
    live.verify(Verification("docs build", passed=True, paths=("docs",)))
    live.verify(Verification("lint", passed=False, paths=("a.py",)))
    live.mutate(EDIT)

    assert states(live) == [ProofState.STALE, ProofState.PASSED, ProofState.FAILED]
    assert live.snapshot().verifications[0].stale_by == "m1"


def test_a_check_behind_a_mutation_is_fresh() -> None:
    """It saw what was changed."""
    live = frame()
    live.mutate(EDIT)
    live.verify(TESTS)

    assert states(live) == [ProofState.PASSED]
    assert live.snapshot().verifications[0].after == "m1"


@pytest.mark.parametrize("earlier", [[], [Mutation("m0", "create a.py", ("a.py",))]])
def test_a_check_that_started_before_a_mutation_is_stale(earlier: list[Mutation]) -> None:
    """Also where it was recorded after it, and where there was no mutation when it started."""
    live = frame()
    for mutation in earlier:
        live.mutate(mutation)
    started = live.newest_mutation
    live.mutate(EDIT)
    live.verify(Verification("tests pass", passed=True, paths=("a.py",), after=started))

    assert states(live) == [ProofState.STALE]
    assert live.snapshot().verifications[0].stale_by == "m1"


def test_a_mutation_that_is_recorded_again_is_a_newer_change() -> None:
    """Whoever gives two changes one id never gets a fresh check by it."""
    live = frame()
    live.mutate(EDIT)
    live.verify(TESTS)
    live.mutate(EDIT)

    assert states(live) == [ProofState.STALE]

    live.mutate(Mutation("m2", "edit it again", ("a.py",)))
    live.mutate(EDIT)
    live.verify(Verification("tests pass", passed=True, paths=("a.py",), after="m1"))

    assert states(live) == [ProofState.STALE]

    live.verify(TESTS)

    assert states(live) == [ProofState.PASSED]


def test_a_check_of_the_task_before_sees_no_mutation_of_a_fresh_one() -> None:
    """Also where both tasks give their mutation one id: it started before the second."""
    live = frame()
    live.mutate(EDIT)
    started = live.newest_mutation
    live.begin(TaskEpoch("e2", "Now the other."), fresh=True)
    live.mutate(EDIT)
    live.verify(Verification("tests pass", passed=True, paths=("a.py",), after=started))

    assert states(live) == [ProofState.STALE]


def test_what_a_mutation_changed_is_not_forgotten_with_its_record() -> None:
    """A newer record of it has the paths of both, or may touch anything if one of them may."""
    live = frame()
    live.mutate(EDIT)
    live.mutate(Mutation("m1", "edit b.py", ("b.py", "a.py")))
    live.verify(Verification("tests pass", passed=True, paths=("a.py",), after=""))

    assert live.snapshot().mutations == (Mutation("m1", "edit b.py", ("a.py", "b.py")),)
    assert states(live) == [ProofState.STALE]

    live.mutate(Mutation("m1", "edit anything"))
    live.mutate(EDIT)

    assert live.snapshot().mutations[0].paths == ()


def test_there_is_one_check_of_a_claim() -> None:
    """A newer one replaces it, however the claim is written."""
    live = frame()
    live.verify(Verification("Tests  pass", passed=False))
    live.verify(TESTS)

    assert [check.claim for check in live.snapshot().verifications] == ["tests pass"]
    assert [one.reason for one in live.snapshot().retired] == ["superseded by a newer check of the claim"]


def test_a_requirement_stays_until_it_is_resolved() -> None:
    """One of each id; what was never required is not resolved."""
    live = frame()
    live.require(Requirement("r1", "Tests are green."))
    live.require(Requirement("R1", "All tests are green."))

    assert live.snapshot().requirements == (Requirement("R1", "All tests are green."),)

    live.resolve("r1", "they are")

    assert live.snapshot().requirements == ()
    with pytest.raises(AssemblyError, match=r"^There is no unresolved requirement 'r1'; there is none at all$"):
        live.resolve("r1", "again")


def test_there_is_one_card_of_a_work_item() -> None:
    """However its id is written; a card that another stands for is retired."""
    live = frame()
    live.work(WorkItem("fix-1", "Fix it"))
    live.work(WorkItem("Fix-1", "Fix it", WorkState.DONE))

    assert live.snapshot().work == (WorkItem("Fix-1", "Fix it", WorkState.DONE),)

    live.work(WorkItem("fix-2", "Fix the other"))
    live.retire_work("fix-1", "is part of fix-2")

    assert live.snapshot().work == (WorkItem("fix-2", "Fix the other"),)
    with pytest.raises(AssemblyError, match=r"^There is no work item 'fix-1'; the newest are 'fix-2'$"):
        live.retire_work("fix-1", "again")


def test_a_record_that_is_noted_again_changes_nothing() -> None:
    """A frame that says the same is the same frame."""
    live = frame()
    for _ in range(2):
        live.begin(TaskEpoch("e1", "Make it work."))
        live.steer(steering())
        live.require(Requirement("r1", "x"))
        live.work(WorkItem("w1", "x"))
        live.recover(Recovery("x"))

    assert live.snapshot().retired == ()


@pytest.mark.parametrize(
    "note",
    [
        lambda live, value: LiveFrame(value),
        LiveFrame.begin,
        LiveFrame.steer,
        LiveFrame.recover,
        LiveFrame.mutate,
        LiveFrame.verify,
        LiveFrame.require,
        LiveFrame.work,
    ],
)
def test_controller_prose_has_no_door_in(note: Callable[[LiveFrame, Any], None]) -> None:
    """Every method takes its record, and nothing else."""
    with pytest.raises(UnknownInputError, match=r"^The live frame was given str; it takes "):
        note(frame(), "Recap: we fixed everything.")


def test_a_frame_is_safe_for_threads() -> None:
    """Tools that run beside each other note their changes, and none is lost or current twice."""
    live = frame()

    def note(thread: int) -> None:
        for number in range(100):
            live.mutate(Mutation(f"m{thread}-{number}", "edit", ("a.py",)))
            live.verify(TESTS)
            live.snapshot()

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(note, range(4)))

    assert len({mutation.id for mutation in live.snapshot().mutations}) == len(live.snapshot().mutations) == 400
    assert len(live.snapshot().verifications) == 1


def test_a_snapshot_does_not_change() -> None:
    """A request is compiled from one moment."""
    live = frame()
    live.verify(TESTS)
    before = live.snapshot()
    live.mutate(EDIT)

    assert before.verifications[0].state is ProofState.PASSED
    assert before.mutations == ()
