"""The records of the live frame: what is being worked on, what changed, what was checked, what is open.

Each is one current representation of one concept; how they replace one another is in `live_frame.py`. Source:
Assembly specification, Dynamic frame requirements.
"""

from __future__ import annotations

import posixpath
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import lru_cache
from pathlib import PurePosixPath

from kedi_compile.assembly.records import Retired
from kedi_compile.assembly.sources import Provenance
from kedi_compile.assembly.typed import typed
from kedi_compile.assembly.wording import check_optional, check_text, check_texts


@dataclass(frozen=True, slots=True)
class TaskEpoch:
    """One stretch of work: its id, the user's request word for word, and the objective now.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
    """

    id: str
    raw_objective: str
    objective: str | None = None
    """None where the user's words are the objective."""

    def __post_init__(self) -> None:
        check_text(self.id, "The id of a task epoch")
        check_text(self.raw_objective, f"The raw objective of task epoch {self.id!r}")
        if self.objective is not None:
            check_text(self.objective, f"The objective of task epoch {self.id!r}")

    @property
    def objective_now(self) -> str:
        """What is being worked on: the user's own words where no other objective is given."""
        return self.objective or self.raw_objective


@dataclass(frozen=True, slots=True)
class SteeringSlot:
    """Steering that is active until an `Acknowledgement` names it; only a person or the operator steers.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
    """

    id: str
    text: str
    provenance: Provenance

    def __post_init__(self) -> None:
        check_text(self.id, "The id of a steering slot")
        check_text(self.text, f"The text of steering {self.id!r}")
        typed(self.provenance, Provenance, f"`provenance` of steering {self.id!r}")


@dataclass(frozen=True, slots=True)
class Acknowledgement:
    """A structured acknowledgement of steering; `by` says what gave it, such as a tool call or a field of an answer.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
    """

    steering_id: str
    by: str

    def __post_init__(self) -> None:
        check_text(self.steering_id, "`Acknowledgement.steering_id`")
        check_text(self.by, f"What acknowledges steering {self.steering_id!r}")


@dataclass(frozen=True, slots=True)
class Mutation:
    """A change that was made; `paths` are files or folders, and none means that it may touch anything.

    `id` names one change; a second change has an id of its own, even where it does the same.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
    """

    id: str
    summary: str
    paths: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check_text(self.id, "The id of a mutation")
        check_text(self.summary, f"The summary of mutation {self.id!r}")
        check_texts(self.paths, f"The paths of mutation {self.id!r}")


class ProofState(StrEnum):
    """What a check says now; `stale` once something it depends on was changed after it."""

    PASSED = "passed"
    FAILED = "failed"
    STALE = "stale"


@dataclass(frozen=True, slots=True)
class Verification:
    """The current check of a claim; `paths` are what it depends on, and none means anything.

    `after` is the id of the last mutation that the check saw, and empty for none; where it is None, a live frame fills
    in the newest. A check that runs beside the work takes it from `LiveFrame.newest_mutation` when it starts.
    `stale_by` is the mutation that made it stale; only a check that passed can become stale.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
    """

    claim: str
    passed: bool
    detail: str = ""
    paths: tuple[str, ...] = ()
    after: str | None = None
    stale_by: str | None = None

    def __post_init__(self) -> None:
        check_text(self.claim, "The claim of a verification")
        check_text(self.detail, f"The detail of the verification of {self.claim!r}", may_be_blank=True)
        check_texts(self.paths, f"The paths of the verification of {self.claim!r}")
        typed(self.passed, bool, f"`passed` of the verification of {self.claim!r}")
        if self.after is not None:
            check_text(self.after, f"`after` of the verification of {self.claim!r}", may_be_blank=True)
        check_optional(self.stale_by, f"`stale_by` of the verification of {self.claim!r}")

    @property
    def state(self) -> ProofState:
        """What the check says now."""
        if not self.passed:
            return ProofState.FAILED
        return ProofState.PASSED if self.stale_by is None else ProofState.STALE

    def depends_on(self, mutation: Mutation) -> bool:
        """Whether the mutation may touch what the claim rests on: a path of it, or a folder around or in one."""
        if not self.paths or not mutation.paths:
            return True
        return any(_touch(mine, theirs) for mine in self.paths for theirs in mutation.paths)


def newest_touching(verification: Verification, mutations: Sequence[Mutation]) -> Mutation | None:
    """Return the newest mutation behind the one the check saw that it depends on, or None.

    A check that names a mutation nobody knows saw none of them.
    """
    ids = [mutation.id for mutation in mutations]
    seen = ids.index(verification.after) + 1 if verification.after in ids else 0
    return next((one for one in reversed(mutations[seen:]) if verification.depends_on(one)), None)


@lru_cache(maxsize=16_384)
def _touch(mine: str, theirs: str) -> bool:
    """Whether two paths may meet; one of which nobody knows where it begins may meet any."""
    first, second = path_parts(mine), path_parts(theirs)
    if (first[:1] == ("/",)) != (second[:1] == ("/",)) or ".." in (*first, *second):
        return True
    shorter = min(len(first), len(second))
    return first[:shorter] == second[:shorter]


@lru_cache(maxsize=4096)
def path_parts(path: str) -> tuple[str, ...]:
    """Return the parts of a path of any system; those of an absolute one begin with `/`."""
    return PurePosixPath(posixpath.normpath(path.replace("\\", "/"))).parts


@dataclass(frozen=True, slots=True)
class Requirement:
    """A requirement that is not met yet.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
    """

    id: str
    text: str

    def __post_init__(self) -> None:
        check_text(self.id, "The id of a requirement")
        check_text(self.text, f"The text of requirement {self.id!r}")


@dataclass(frozen=True, slots=True)
class Recovery:
    """The one current summary of a recovery, or of why work stands still.

    Raises:
        AssemblyError: the text is blank or no UTF-8.
    """

    text: str

    def __post_init__(self) -> None:
        check_text(self.text, "The text of a recovery summary")


class WorkState(StrEnum):
    """Where a work item stands."""

    OPEN = "open"
    ACTIVE = "active"
    BLOCKED = "blocked"
    DONE = "done"


@dataclass(frozen=True, slots=True)
class WorkItem:
    """The current card of one work item; `id` is canonical: one item has one, whatever it is called in words.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
    """

    id: str
    title: str
    state: WorkState = WorkState.OPEN
    note: str = ""

    def __post_init__(self) -> None:
        check_text(self.id, "The id of a work item")
        check_text(self.title, f"The title of work item {self.id!r}")
        check_text(self.note, f"The note of work item {self.id!r}", may_be_blank=True)
        typed(self.state, WorkState, f"`state` of work item {self.id!r}")


FrameRecord = TaskEpoch | SteeringSlot | Mutation | Verification | Requirement | Recovery | WorkItem


@dataclass(frozen=True, slots=True)
class Frame:
    """What a live frame held at one moment, by which a request is compiled."""

    epoch: TaskEpoch
    steering: SteeringSlot | None = None
    recovery: Recovery | None = None
    mutations: tuple[Mutation, ...] = ()
    verifications: tuple[Verification, ...] = ()
    requirements: tuple[Requirement, ...] = ()
    work: tuple[WorkItem, ...] = ()
    retired: tuple[Retired[FrameRecord], ...] = ()

    @property
    def past_steering(self) -> Iterable[tuple[SteeringSlot, str]]:
        """The steering slots that are not active any more, the oldest first, and why."""
        return ((one.record, one.reason) for one in self.retired if isinstance(one.record, SteeringSlot))
