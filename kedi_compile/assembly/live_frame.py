"""`LiveFrame`: the one current record of each concept while a task goes on.

It belongs to the caller and lives as long as the task; a request sees a snapshot of it. A newer record replaces an
older one of its key, steering stays until it is acknowledged by name, and a mutation makes the checks that depend on it
stale. Source: Assembly specification, Dynamic frame requirements.
"""

from __future__ import annotations

import threading
from dataclasses import replace
from typing import Final, TypeVar

from kedi_compile.assembly.frame import (
    Acknowledgement,
    Frame,
    FrameRecord,
    Mutation,
    Recovery,
    Requirement,
    SteeringSlot,
    TaskEpoch,
    Verification,
    WorkItem,
    newest_touching,
)
from kedi_compile.assembly.records import Records
from kedi_compile.assembly.typed import typed
from kedi_compile.assembly.wording import comparable
from kedi_compile.errors import SHOWN, AssemblyError

ACKNOWLEDGED: Final = "acknowledged by "
SUPERSEDED: Final = "superseded by steering "

Key = tuple[type, str]
RecordT = TypeVar("RecordT")


class LiveFrame:
    """The frame of one task; safe for threads.

    Raises:
        UnknownInputError: `epoch` is no TaskEpoch.
    """

    def __init__(self, epoch: TaskEpoch) -> None:
        self._lock = threading.Lock()
        self._records: Records[Key, FrameRecord] = Records()
        self._renewed: set[str] = set()  # ids of mutations of which a record was retired
        self.begin(epoch)

    def begin(self, epoch: TaskEpoch, *, fresh: bool = False) -> None:
        """Make a task epoch the current one; active steering and open records stay.

        With `fresh`, mutations, checks, requirements, work items and the recovery summary of the epoch before are
        retired: they belong to a task that is over.
        """
        typed(epoch, TaskEpoch, "The live frame")
        with self._lock:
            for key in self._records.keys if fresh else ():
                if key[0] not in (TaskEpoch, SteeringSlot):
                    self._records.drop(key, f"belongs to what was before task epoch {epoch.id}")
                if key[0] is Mutation:
                    self._renewed.add(key[1])
            self._records.put((TaskEpoch, ""), epoch, "superseded by a newer task epoch")

    def steer(self, slot: SteeringSlot) -> None:
        """Make a steering slot the active one; one that was not acknowledged is superseded."""
        self._put(SteeringSlot, "", slot, f"{SUPERSEDED}{getattr(slot, 'id', '')}")

    def acknowledge(self, acknowledgement: Acknowledgement) -> None:
        """End the active steering.

        Raises:
            UnknownInputError: it is no Acknowledgement: words that sound like one end nothing.
            AssemblyError: it does not name the active steering.
        """
        typed(acknowledgement, Acknowledgement, "The live frame")
        with self._lock:
            active = self._records.get((SteeringSlot, ""))
            if not isinstance(active, SteeringSlot) or active.id != acknowledgement.steering_id:
                there = f"{active.id!r} is active" if isinstance(active, SteeringSlot) else "none is active"
                msg = f"The acknowledgement names steering {acknowledgement.steering_id!r}, and {there}"
                raise AssemblyError(msg)
            self._records.drop((SteeringSlot, ""), f"{ACKNOWLEDGED}{acknowledgement.by}")

    def recover(self, recovery: Recovery) -> None:
        """Make a recovery summary the current one."""
        self._put(Recovery, "", recovery, "superseded by a newer recovery summary")

    def recovered(self, reason: str) -> None:
        """Retire the recovery summary, if there is one."""
        self._drop(Recovery, "", reason)

    def mutate(self, mutation: Mutation) -> None:
        """Note a change, and make each check that passed and depends on it stale."""
        typed(mutation, Mutation, "The live frame")
        with self._lock:
            key = (Mutation, mutation.id)
            old = self._records.drop(key, "superseded by a newer record of the mutation")
            if isinstance(old, Mutation):
                self._renewed.add(mutation.id)
            self._records.put(key, _with_paths_of(old, mutation), "")
            for record in self._of(Verification):
                if record.passed and record.depends_on(mutation):
                    stale = replace(record, stale_by=mutation.id)
                    self._records.amend((Verification, comparable(record.claim)), stale)

    @property
    def newest_mutation(self) -> str:
        """The id of the newest mutation, empty for none: what a check that starts now names as `after`."""
        with self._lock:
            return next((mutation.id for mutation in reversed(self._of(Mutation))), "")

    def verify(self, verification: Verification) -> None:
        """Make a check the current one of its claim; it is stale at once if a mutation came behind what it saw."""
        typed(verification, Verification, "The live frame")
        with self._lock:
            mutations = self._of(Mutation)
            if verification.after is None:
                verification = replace(verification, after=mutations[-1].id if mutations else "")
            elif verification.after in self._renewed:
                verification = replace(verification, after="")  # which of its records the check saw, nobody knows
            later = newest_touching(verification, mutations) if verification.passed else None
            checked = replace(verification, stale_by=later.id if later else verification.stale_by)
            key = (Verification, comparable(verification.claim))
            self._records.put(key, checked, "superseded by a newer check of the claim")

    def require(self, requirement: Requirement) -> None:
        """Note a requirement that is not met."""
        key = comparable(typed(requirement, Requirement, "The live frame").id)
        self._put(Requirement, key, requirement, "superseded by a newer record of the requirement")

    def resolve(self, requirement_id: str, reason: str) -> None:
        """Retire a requirement that is met or given up.

        Raises:
            AssemblyError: there is no such requirement.
        """
        if self._drop(Requirement, comparable(requirement_id), reason) is None:
            msg = f"There is no unresolved requirement {requirement_id!r}; {self._known(Requirement)}"
            raise AssemblyError(msg)

    def work(self, item: WorkItem) -> None:
        """Make a work item's card the current one."""
        key = comparable(typed(item, WorkItem, "The live frame").id)
        self._put(WorkItem, key, item, "superseded by a newer card of the work item")

    def retire_work(self, item_id: str, reason: str) -> None:
        """Retire a work item's card, for example one that another card stands for.

        Raises:
            AssemblyError: there is no such work item.
        """
        if self._drop(WorkItem, comparable(item_id), reason) is None:
            msg = f"There is no work item {item_id!r}; {self._known(WorkItem)}"
            raise AssemblyError(msg)

    def snapshot(self) -> Frame:
        """Return what the frame holds now."""
        with self._lock:
            return Frame(
                epoch=self._of(TaskEpoch)[0],
                steering=next(iter(self._of(SteeringSlot)), None),
                recovery=next(iter(self._of(Recovery)), None),
                mutations=tuple(self._of(Mutation)),
                verifications=tuple(self._of(Verification)),
                requirements=tuple(self._of(Requirement)),
                work=tuple(self._of(WorkItem)),
                retired=self._records.retired,
            )

    def _of(self, kind: type[RecordT]) -> list[RecordT]:
        return [record for record in self._records.current if isinstance(record, kind)]

    def _known(self, kind: type[Requirement | WorkItem]) -> str:
        with self._lock:
            newest = [repr(record.id) for record in self._of(kind)[-SHOWN:]]
        return f"the newest are {', '.join(newest)}" if newest else "there is none at all"

    def _put(self, kind: type[FrameRecord], key: str, record: FrameRecord, reason: str) -> None:
        typed(record, kind, "The live frame")
        with self._lock:
            self._records.put((kind, key), record, reason)

    def _drop(self, kind: type[FrameRecord], key: str, reason: str) -> FrameRecord | None:
        with self._lock:
            return self._records.drop((kind, key), reason)


def _with_paths_of(old: FrameRecord | None, mutation: Mutation) -> Mutation:
    """Return the mutation with the paths of its older record: what that changed is changed still."""
    if not isinstance(old, Mutation) or not mutation.paths:
        return mutation
    return replace(mutation, paths=tuple(dict.fromkeys([*old.paths, *mutation.paths])) if old.paths else ())
