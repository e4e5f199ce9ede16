"""What a compiled request says about its items, for the dump: what became of each, and why.

Nothing in here enters a request. Source: Assembly specification, Operational observability.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final

from kedi_compile.assembly.contracts import SelectedContract, UnselectedContract
from kedi_compile.assembly.evidence import Evidence
from kedi_compile.assembly.frame import (
    Frame,
    Mutation,
    ProofState,
    Recovery,
    Requirement,
    SteeringSlot,
    TaskEpoch,
    Verification,
    WorkItem,
)
from kedi_compile.assembly.items import Item
from kedi_compile.assembly.live_frame import ACKNOWLEDGED, SUPERSEDED
from kedi_compile.assembly.records import Retired
from kedi_compile.assembly.sources import Source, Visibility
from kedi_compile.assembly.wording import utf8_size
from kedi_compile.dump.schema import (
    ContractDump,
    ItemDump,
    ProofDump,
    RetiredDump,
    SourceDump,
    SteeringDump,
    SteeringState,
    UnselectedDump,
)


def contracts_of(contracts: Iterable[SelectedContract], sent: str) -> tuple[ContractDump, ...]:
    """Say which contracts were selected and why; one is in force only if its whole body stands in the `sent` text."""
    return tuple(
        ContractDump(
            id=one.contract.id,
            version=one.contract.version,
            hash=one.contract.hash,
            reason=one.reason,
            in_force=one.contract.body in sent,
        )
        for one in contracts
    )


def unselected_of(contracts: Iterable[UnselectedContract]) -> tuple[UnselectedDump, ...]:
    """Say which contracts were at hand and did not apply, and what would select them."""
    return tuple(
        UnselectedDump(id=one.contract.id, version=one.contract.version, reason=one.reason) for one in contracts
    )


def sources_of(items: Iterable[Item]) -> tuple[SourceDump, ...]:
    """Say of each source whether the model sees it, in which form, and how its text can be had again."""
    return tuple(_source(item, item.record) for item in items if isinstance(item.record, Source))


def _source(item: Item, source: Source) -> SourceDump:
    return SourceDump(
        handle=source.handle,
        identity=source.path,
        version=source.version,
        coverage="unknown" if source.coverage is None else str(source.coverage),
        visibility=(item.form.visibility or Visibility.NOT_VISIBLE).value,
        fidelity=(item.form.fidelity or source.fidelity).value,
        decision=item.form.decision,
        reason=item.form.reason,
        tokens=item.tokens,
        bytes=0 if source.body is None else utf8_size(source.body),
        recovery=source.recovery_path,
    )


def items_of(items: Iterable[Item]) -> tuple[ItemDump, ...]:
    """Say of each item that is no source what became of it."""
    return tuple(
        ItemDump(
            place=item.place,
            kind=item.kind,
            id=item.id,
            decision=item.form.decision,
            reason=item.form.reason,
            tokens=item.tokens,
        )
        for item in items
        if not isinstance(item.record, Source)
    )


def proofs_of(items: Iterable[Item]) -> tuple[ProofDump, ...]:
    """Say what each claim was checked with, and what that says now."""
    checks = (item.record for item in items if isinstance(item.record, Verification))
    return tuple(
        ProofDump(
            claim=check.claim,
            state=check.state.value,
            reason=f"stale by mutation {check.stale_by}" if check.state is ProofState.STALE else check.detail,
        )
        for check in checks
    )


RETIRED_TOLD: Final = 20
"""How many retired records of the frame, and how many of the evidence, are told of."""

_NAMES: Final[Mapping[type, tuple[str, str]]] = MappingProxyType(
    {
        TaskEpoch: ("task_epoch", "id"),
        Mutation: ("mutation", "id"),
        Verification: ("verification", "claim"),
        Requirement: ("requirement", "id"),
        WorkItem: ("work_item", "id"),
        Source: ("source", "handle"),
    }
)
"""Record -> its kind in the dump, and the attribute that is its id; steering has an account of its own."""


def retired_of(frame: Frame, evidence: Evidence) -> tuple[RetiredDump, ...]:
    """Say which records are no longer current, and why; of frame and evidence the newest, the newest of each last."""
    return (*_newest(frame.retired), *_newest(evidence.retired))


def _newest(retired: Sequence[Retired[Any]]) -> tuple[RetiredDump, ...]:
    told = [dump for one in retired if (dump := _retired(one)) is not None]
    return tuple(told[-RETIRED_TOLD:])


def _retired(one: Retired[Any]) -> RetiredDump | None:
    if isinstance(one.record, Recovery):
        return RetiredDump(kind="recovery", id="recovery", reason=one.reason)
    if (names := _NAMES.get(type(one.record))) is None:
        return None
    return RetiredDump(kind=names[0], id=getattr(one.record, names[1]), reason=one.reason)


def steering_of(frame: Frame) -> tuple[SteeringDump, ...]:
    """Return the life of the task's steering: the slots of the past, and the active one last."""
    active = () if frame.steering is None else (_steering(frame.steering, "active", None),)
    return (*_past(frame), *active)


def _past(frame: Frame) -> Iterator[SteeringDump]:
    for slot, reason in frame.past_steering:
        is_acknowledged = reason.startswith(ACKNOWLEDGED)
        by = reason.removeprefix(ACKNOWLEDGED).removeprefix(SUPERSEDED)
        yield _steering(slot, "acknowledged" if is_acknowledged else "superseded", by)


def _steering(slot: SteeringSlot, state: SteeringState, by: str | None) -> SteeringDump:
    return SteeringDump(id=slot.id, text=slot.text, state=state, by=by)
