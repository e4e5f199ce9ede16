"""The records of the frame: what they refuse, and when a check is stale."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from assembling import PERSON
from kedi_compile.assembly import (
    Acknowledgement,
    Mutation,
    Recovery,
    Requirement,
    SteeringSlot,
    TaskEpoch,
    Verification,
    WorkItem,
)
from kedi_compile.assembly.frame import ProofState, newest_touching
from kedi_compile.errors import AssemblyError, UnknownInputError


def given(value: Any) -> Any:
    """Return a value of a type that is not allowed."""
    return value


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: TaskEpoch("", "x"), "The id of a task epoch is blank"),
        (lambda: TaskEpoch("e", " "), "The raw objective of task epoch 'e' is blank"),
        (lambda: TaskEpoch("e", "x", ""), "The objective of task epoch 'e' is blank"),
        (lambda: TaskEpoch("e", "\ud800"), "The raw objective of task epoch 'e' cannot be written as UTF-8"),
        (lambda: SteeringSlot("s", "", PERSON), "The text of steering 's' is blank"),
        (lambda: Acknowledgement("s", ""), "What acknowledges steering 's' is blank"),
        (lambda: Acknowledgement("\ud800", "x"), "`Acknowledgement.steering_id` cannot be written as UTF-8"),
        (lambda: Mutation("m", given(b"x")), "The summary of mutation 'm' is bytes"),
        (lambda: Mutation("m", "x", given("src")), "The paths of mutation 'm' are str, and must be a tuple of str"),
        (lambda: Mutation("m", "x", ("",)), "The paths of mutation 'm', at 0, is blank"),
        (lambda: Verification("", passed=True), "The claim of a verification is blank"),
        (lambda: Verification("c", passed=True, detail=given(5)), "The detail of the verification of 'c' is int"),
        (lambda: Verification("c", passed=True, paths=given(["a"])), "The paths of the verification of 'c' are list"),
        (lambda: Verification("c", passed=True, after=given(5)), "`after` of the verification of 'c' is int"),
        (lambda: Requirement("r", ""), "The text of requirement 'r' is blank"),
        (lambda: Recovery(""), "The text of a recovery summary is blank"),
        (lambda: WorkItem("w", ""), "The title of work item 'w' is blank"),
        (lambda: WorkItem("w", "x", note="\ud800"), "The note of work item 'w' cannot be written as UTF-8"),
    ],
)
def test_a_record_that_cannot_be_sent_is_refused(make: Callable[[], object], fault: str) -> None:
    """When it is made."""
    with pytest.raises(AssemblyError, match=f"^{re.escape(fault)}"):
        make()


@pytest.mark.parametrize(
    "make",
    [
        lambda: SteeringSlot("s", "x", given("operator")),
        lambda: Verification("c", passed=given("no")),
        lambda: WorkItem("w", "x", given("done")),
    ],
)
def test_a_record_of_other_values_is_a_type_error(make: Callable[[], object]) -> None:
    """The word `no` would pass for true."""
    with pytest.raises(UnknownInputError):
        make()


@pytest.mark.parametrize(
    ("check", "state"),
    [
        (Verification("c", passed=True), ProofState.PASSED),
        (Verification("c", passed=True, stale_by="m"), ProofState.STALE),
        (Verification("c", passed=False), ProofState.FAILED),
        (Verification("c", passed=False, stale_by="m"), ProofState.FAILED),
    ],
)
def test_only_a_check_that_passed_is_stale(check: Verification, state: ProofState) -> None:
    """One that failed failed."""
    assert check.state is state


@pytest.mark.parametrize(
    ("mine", "theirs", "touches"),
    [
        ((), ("a.py",), True),
        (("a.py",), (), True),
        (("a.py",), ("a.py",), True),
        (("a.py",), ("b.py",), False),
        (("src",), ("src/a.py",), True),
        (("src/a.py",), ("src/",), True),
        (("src",), ("src2/a.py",), False),
        (("src/a.py",), ("./src/a.py",), True),
        (("src/a.py",), ("src\\a.py",), True),
        (("src/a.py",), (".",), True),
        (("/repo/a.py",), ("/",), True),
        (("src/a.py",), ("src/b/../a.py",), True),
        (("src/a.py",), ("../elsewhere.py",), True),
        (("src/a.py",), ("/repo/src/a.py",), True),
        (("a.py", "b.py"), ("c.py", "b.py"), True),
    ],
)
def test_a_mutation_touches_what_it_may_touch(mine: tuple[str, ...], theirs: tuple[str, ...], touches: bool) -> None:
    """A file, a folder around or in it, and whatever cannot be told apart from it."""
    check = Verification("c", passed=True, paths=mine)

    assert check.depends_on(Mutation("m", "x", theirs)) is touches


@pytest.mark.parametrize(
    ("after", "newest"),
    [("m1", "m3"), ("m3", None), ("m2", "m3"), ("", "m3"), (None, "m3"), ("unknown", "m3")],
)
def test_the_newest_mutation_behind_a_check_is_found(after: str | None, newest: str | None) -> None:
    """A check that names none, or one nobody knows, saw none of them."""
    mutations = [Mutation("m1", "x", ("a.py",)), Mutation("m2", "x", ("b.py",)), Mutation("m3", "x", ("a.py",))]
    found = newest_touching(Verification("c", passed=True, paths=("a.py",), after=after), mutations)

    assert (found.id if found else None) == newest


@pytest.mark.parametrize(("objective", "now"), [(None, "Make it work."), ("Find the bug.", "Find the bug.")])
def test_the_users_words_are_the_objective_where_no_other_is_given(objective: str | None, now: str) -> None:
    """They are kept beside one that is given."""
    epoch = TaskEpoch("e1", "Make it work.", objective)

    assert epoch.objective_now == now
    assert epoch.raw_objective == "Make it work."
