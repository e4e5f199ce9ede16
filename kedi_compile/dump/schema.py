"""What is written about one model request: `RequestDump`, and the values it is made of.

Versioned JSON, one line a request. It says what the request was made of and why each item was included, compacted,
rehydrated or omitted; bodies of evidence are not in it, only their identity and size. How it is redacted and written
is in `redaction.py` and `file.py`. Nothing in here ever enters a request. Source: Assembly specification, Operational
observability.
"""

from __future__ import annotations

from typing import Final, Literal

from pydantic import BaseModel, ConfigDict

VERSION: Final = 1
"""The version of the form; a reader refuses newer ones."""

Outcome = Literal["answered", "sent", "failed", "cancelled", "refused"]
"""What became of a request: `sent` says that nobody saw what came back, `refused` that nothing was sent."""

Decision = Literal["included", "compacted", "rehydrated", "omitted"]
"""What became of one item that was at hand for a request."""

GroupDecision = Literal["kept", "dropped", "replaced", "archived", "stripped", "moved"]
"""What became of one group of the history."""

SteeringState = Literal["active", "acknowledged", "superseded"]
"""Where a steering slot stands."""


class _Value(BaseModel):
    # A newer minor writer may add fields; a reader of this version leaves them alone.
    model_config = ConfigDict(frozen=True, extra="ignore")


class ContractDump(_Value):
    """A selected contract; `in_force` says that its whole body was found in what was sent."""

    id: str
    version: str
    hash: str
    reason: str
    in_force: bool = False


class UnselectedDump(_Value):
    """A contract that was at hand and did not apply; `reason` says what would select it."""

    id: str
    version: str
    reason: str


class EpochDump(_Value):
    """The task epoch: its id, what the user asked, word for word, and the objective now."""

    id: str
    raw_objective: str
    objective: str


class SteeringDump(_Value):
    """A steering slot and where it stands; `by` is what acknowledged or superseded it."""

    id: str
    text: str
    state: SteeringState
    by: str | None = None


class SourceDump(_Value):
    """One source of evidence, and whether the model saw it.

    `coverage` is `whole` or the ranges; `recovery` says how the exact text can be had again.
    """

    handle: str
    identity: str
    version: str
    coverage: str
    visibility: Literal["visible", "visible_earlier", "not_visible"]
    fidelity: Literal["full", "extracted", "summarised"]
    decision: Decision
    reason: str
    tokens: int
    bytes: int
    recovery: str | None = None


class ProofDump(_Value):
    """The state of what a claim was checked with."""

    claim: str
    state: Literal["passed", "failed", "stale"]
    reason: str = ""


class ItemDump(_Value):
    """What became of an item that is no source, and why; `place` is 1 to 9."""

    place: int
    kind: str
    id: str
    decision: Decision
    reason: str
    tokens: int


class RetiredDump(_Value):
    """A record that is no longer current, and why; `kind` and `id` are those it had as an item or a source."""

    kind: str
    id: str
    reason: str


class SectionDump(_Value):
    """A section as it was sent: its place (1 to 9), size, and text; `text` is None where only evidence is in it."""

    place: int
    kind: str
    tokens: int
    bytes: int
    digest: str
    text: str | None = None


class TailDump(_Value):
    """A late text of this run that the request carries; `number` counts from 1, `new` says it was not sent before."""

    number: int
    request_index: int
    tokens: int
    digest: str
    new: bool


class BudgetDump(_Value):
    """Tokens: the model's limit, what is kept for the answer, and what each kind of source takes, by its name."""

    limit: int | None
    reserved_output: int
    by_source: dict[str, int]

    @property
    def total(self) -> int:
        """The tokens of everything in the request."""
        return sum(self.by_source.values())


class AssemblyDump(_Value):
    """How the request was assembled; there only where an adapter has a request compiler."""

    epoch: EpochDump
    tier: str
    flags: tuple[str, ...] = ()
    phase: str | None = None
    phase_reason: str = ""
    contracts: tuple[ContractDump, ...] = ()
    contracts_changed: bool = False
    unselected: tuple[UnselectedDump, ...] = ()
    steering: tuple[SteeringDump, ...] = ()
    sources: tuple[SourceDump, ...] = ()
    proofs: tuple[ProofDump, ...] = ()
    items: tuple[ItemDump, ...] = ()
    retired: tuple[RetiredDump, ...] = ()
    """The newest records of the task that are no longer current, so that none of them is among the items."""
    sections: tuple[SectionDump, ...] = ()
    tails: tuple[TailDump, ...] = ()
    budget: BudgetDump
    notes: tuple[str, ...] = ()
    """Whatever else was decided, a sentence each."""


class GroupDump(_Value):
    """One group of the history and what became of it; `start` and `end` are the half-open range of its entries."""

    id: str
    start: int
    end: int
    tokens: int
    closed: bool
    protected_reasons: tuple[str, ...] = ()
    decision: GroupDecision
    reason: str = ""


class HistoryDump(_Value):
    """What history processing did before the request.

    `first_change` is the 0-based position of the first entry that differs, None where nothing does. Tokens are
    estimates of the history alone. `groups` is empty where nobody looked at the history.
    """

    outcome: Literal["not_processed", "skipped", "unchanged", "edited", "refused"]
    groups: tuple[GroupDump, ...] = ()
    added: tuple[str, ...] = ()
    """Texts that the edit put in, in order."""
    first_change: int | None = None
    generation_before: int = 0
    generation_after: int = 0
    tokens_before: int | None = None
    tokens_after: int | None = None
    continuation: tuple[str, ...] = ()
    """What was decided about server-side state, a sentence each."""
    violations: tuple[str, ...] = ()
    retentions: tuple[str, ...] = ()
    """What `keep_recent_groups` found, a sentence a call."""
    notes: tuple[str, ...] = ()
    """Whatever else there is to say of it, a sentence each."""


class UsageDump(_Value):
    """Tokens as the provider reported them; None where it said nothing."""

    input: int | None = None
    output: int | None = None
    cache_read: int | None = None
    cache_write: int | None = None


class RequestDump(_Value):
    """Everything that is known about one request.

    `at` is in seconds since 1970, `duration` in seconds until the outcome. `request_index` is 1-based within the run.
    """

    version: int = VERSION
    request_id: str
    at: float
    duration: float | None = None
    run_id: str | None = None
    conversation_id: str | None = None
    lane: str | None = None
    request_index: int
    adapter: str
    model_id: str
    outcome: Outcome
    error: str | None = None
    assembly: AssemblyDump | None = None
    history: HistoryDump = HistoryDump(outcome="not_processed")
    usage: UsageDump = UsageDump()
