"""The requests of one run: what stays as it was sent, and what is new in the next one.

Two rules keep prefix caches and prefix-bound reasoning alive in a tool loop. Tails are append-only: one that was sent
is sent again, byte for byte, in its place, and a new one is added only when the frame changed. The stable text follows
its inputs, but not where reasoning is bound to it: then it stays as the request before had it. Both are told in the
dump. Where a tail stands is the adapter's business. Source: Assembly specification, Deterministic assembly order.
"""

from __future__ import annotations

from collections.abc import Collection, Generator, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Final

from kedi_compile.assembly.assembled import AssembledRequest
from kedi_compile.assembly.compiler import RequestCompiler
from kedi_compile.assembly.contracts import SelectedContract
from kedi_compile.assembly.inputs import ContextBudget, ExperimentalFlag, RequestInputs
from kedi_compile.assembly.live_request import LiveRequest
from kedi_compile.assembly.reduction import Count
from kedi_compile.assembly.report import contracts_of
from kedi_compile.assembly.source_forms import seen_earlier
from kedi_compile.assembly.sources import Extraction
from kedi_compile.assembly.typed import typed
from kedi_compile.dump.schema import AssemblyDump, BudgetDump, TailDump
from kedi_compile.errors import AssemblyError, BudgetExceeded
from kedi_compile.question import Question

SUCCESSOR: Final = (
    "This frame replaces the earlier frames of this run; steering that it does not repeat holds no longer."
)
"""What a tail begins with where earlier ones are sent again."""

_LATE: Final = ("task_epoch", "evidence", "frame", "current", "headings")
"""What a tail is made of, by the names of the context accounting."""


@dataclass(frozen=True, slots=True)
class Standing:
    """Where a request stands in its run.

    `current` names its newest message, `present` the messages that its history still holds; the names are the
    adapter's. `is_bound` says that reasoning of this run is bound to everything before it.
    """

    current: Hashable
    present: Collection[Hashable]
    is_bound: bool = False


@dataclass(frozen=True, slots=True)
class Tail:
    """A late text that was sent with the message `anchor`; `number` counts from 1.

    `before` stands in front of a user's text, `slot` behind it; by tool results both stand behind. `bodies` are those
    it shows, and `leans_on` those it says an earlier tail shows, both as handle -> digest.
    """

    number: int
    request_index: int
    anchor: Hashable
    before: str
    slot: str
    tokens: int
    digest: str
    bodies: Mapping[str, str]
    leans_on: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class AssembledStep:
    """One request of a run: the stable text as it is sent, all tails, and what was decided."""

    request: AssembledRequest
    system: str
    tails: tuple[Tail, ...]
    is_new: bool
    """Whether the last tail was not sent before."""
    contracts_changed: bool
    notes: tuple[str, ...]

    def dump(self, sent: str | None = None) -> AssemblyDump:
        """Return what the request says about itself; `sent` is the system text that went to the model, where seen."""
        request, whole = self.request, self.request.dump
        sizes = dict(request.sizes)
        if not self.is_new:
            sizes |= dict.fromkeys(_LATE, 0)  # nothing late was sent but the tails
            sizes["tails"] = _carried(self.tails)
        return whole.model_copy(
            update={
                "contracts": contracts_of(request.contracts, self.system if sent is None else sent),
                "contracts_changed": self.contracts_changed,
                "budget": BudgetDump(
                    limit=whole.budget.limit, reserved_output=whole.budget.reserved_output, by_source=sizes
                ),
                "tails": tuple(_dumped(tail, is_new=self.is_new and tail is self.tails[-1]) for tail in self.tails),
                "notes": self.notes,
            }
        )


def _dumped(tail: Tail, *, is_new: bool) -> TailDump:
    return TailDump(
        number=tail.number, request_index=tail.request_index, tokens=tail.tokens, digest=tail.digest, new=is_new
    )


@dataclass(frozen=True, slots=True)
class _Assembled:
    """The request that was assembled last; one of the same index and message is another attempt at it."""

    request_index: int
    current: Hashable
    step: AssembledStep

    def is_of(self, live: LiveRequest, standing: Standing) -> bool:
        return (self.request_index, self.current) == (live.request_index, standing.current)


class RunAssembly:
    """Assembles the requests of one run, one after the other."""

    def __init__(self, compiler: RequestCompiler, count: Count) -> None:
        self._compiler = compiler
        self._count = count
        self._tails: tuple[Tail, ...] = ()
        self._numbers = 0
        self._last: _Assembled | None = None
        self._stated: AssembledRequest | None = None
        """The request whose stable text was sent last."""

    @property
    def is_begun(self) -> bool:
        """Whether a request of the run was assembled."""
        return self._last is not None

    @cached_property
    def _successor(self) -> int:
        """The tokens of what a new tail begins with; counted with a request, because a counter may raise."""
        return self._count(f"{SUCCESSOR}\n\n")

    def assemble(self, live: LiveRequest, standing: Standing) -> Generator[Question, object, AssembledStep]:
        """Assemble the next request; another attempt at the same one gets the same again.

        Raises:
            AssemblyError: a callback failed, an input is unknown, or the request cannot be compiled.
        """
        if self._last is not None and self._last.is_of(live, standing):
            return self._last.step
        notes: list[str] = []
        tails = self._standing_tails(standing, notes)
        inputs = yield from self._inputs(live, tails, standing, notes)
        yield from self._extract(inputs)
        request, tails = self._compiled(inputs, tails, standing, notes)
        step = self._step(request, tails, live, standing, notes)
        self._tails = step.tails
        self._last = _Assembled(live.request_index, standing.current, step)
        return step

    def _standing_tails(self, standing: Standing, notes: list[str]) -> tuple[Tail, ...]:
        tails = tuple(tail for tail in self._tails if tail.anchor in standing.present)
        if gone := _numbers(tail for tail in self._tails if tail.anchor not in standing.present):
            notes.append(f"earlier tails left with the messages they stood by: {gone}")
        if standing.is_bound or not (lost := tuple(_lost(tails))):
            return tails
        notes.append(f"earlier tails left, because bodies they speak of did: {_numbers(lost)}")
        return tuple(tail for tail in tails if tail not in lost)

    def _inputs(
        self, live: LiveRequest, tails: tuple[Tail, ...], standing: Standing, notes: list[str]
    ) -> Generator[Question, object, RequestInputs]:
        found: object = self._compiler.inputs
        if not isinstance(found, RequestInputs):
            if not callable(found):
                msg = "The request compiler has no `inputs`; give RequestInputs, or a callback that returns them"
                raise AssemblyError(msg)
            found = yield Question("inputs", found, live)
        inputs = _completed(typed(found, RequestInputs, "The request compiler, from `inputs`,"), live)
        inputs = replace(inputs, budget=_with_tails(inputs.budget, tails, self._successor))
        return replace(inputs, selection=self._selection(inputs, standing, notes))

    def _selection(self, inputs: RequestInputs, standing: Standing, notes: list[str]) -> tuple[SelectedContract, ...]:
        """The contracts that apply, or those of the request before where they may not change."""
        applying = self._compiler.select(inputs)[1] if inputs.selection is None else inputs.selection
        held = self._last.step.request.contracts if self._last is not None else applying
        if _ids(applying) == _ids(held):
            return held
        is_fixed = ExperimentalFlag.FIXED_CONTRACTS in inputs.flags
        if not is_fixed and not standing.is_bound:
            return applying
        why = "the flag fixed_contracts says so" if is_fixed else "reasoning of this run is bound to them"
        notes.append(
            f"contracts {', '.join(_names(applying)) or 'none'} would apply now; those of the request before "
            f"({', '.join(_names(held)) or 'none'}) stay, because {why}"
        )
        return held

    def _extract(self, inputs: RequestInputs) -> Generator[Question, object, None]:
        for wish in self._compiler.wanted(inputs, self._count):
            assert self._compiler.extraction is not None  # nothing is wanted without
            answer = yield Question("extraction", self._compiler.extraction, wish)
            extraction = typed(
                answer, Extraction, f"The request compiler, from `extraction` for {wish.source.handle!r},"
            )
            inputs.evidence.extracted(wish.source.handle, extraction)

    def _compiled(
        self, inputs: RequestInputs, tails: tuple[Tail, ...], standing: Standing, notes: list[str]
    ) -> tuple[AssembledRequest, tuple[Tail, ...]]:
        """Compile behind the tails; where there is no room, and nothing is bound to them, without them."""
        if (same := self._unchanged(inputs, tails)) is not None:
            return same, tails
        try:
            return self._compiler.compile(inputs, self._count), tails
        except BudgetExceeded:
            if not tails or standing.is_bound:
                raise
        notes.append(f"earlier tails were left out, because there is no room for them: {_numbers(tails)}")
        fresh = replace(inputs, budget=_with_tails(inputs.budget, ()))
        return self._compiler.compile(fresh, self._count), ()

    def _unchanged(self, inputs: RequestInputs, tails: tuple[Tail, ...]) -> AssembledRequest | None:
        """Compile what would be sent in the place of the newest tail; None where it is not what that tail says."""
        if not tails or _leans_on_lost_bodies(tails):
            return None
        try:
            request = self._compiler.compile(
                replace(inputs, budget=_with_tails(inputs.budget, tails[:-1], self._successor)), self._count
            )
        except BudgetExceeded:
            return None
        if request.late_digest != tails[-1].digest:
            return None
        return replace(request, items=tuple(map(seen_earlier, request.items)))

    def _step(
        self,
        request: AssembledRequest,
        tails: tuple[Tail, ...],
        live: LiveRequest,
        standing: Standing,
        notes: list[str],
    ) -> AssembledStep:
        is_new = not tails or tails[-1].digest != request.late_digest or _leans_on_lost_bodies(tails)
        if is_new:
            tails = (*tails, self._tail(request, live, standing, is_first=not tails))
        system, changed = self._stable(request, standing, notes)
        return AssembledStep(request, system, tails, is_new, changed, tuple(notes))

    def _tail(self, request: AssembledRequest, live: LiveRequest, standing: Standing, *, is_first: bool) -> Tail:
        self._numbers += 1
        return Tail(
            number=self._numbers,
            request_index=live.request_index,
            anchor=standing.current,
            before=request.before if is_first else f"{SUCCESSOR}\n\n{request.before}",
            slot=request.slot,
            tokens=sum(request.sizes[name] for name in _LATE) + (0 if is_first else self._successor),
            digest=request.late_digest,
            bodies=request.bodies,
            leans_on=request.bodies_earlier,
        )

    def _stable(self, request: AssembledRequest, standing: Standing, notes: list[str]) -> tuple[str, bool]:
        """Return the stable text to send, and whether its contracts are others than in the request before."""
        before = self._stated
        if before is not None and before.system != request.system:
            places = ", ".join(_changed_places(before, request))
            if standing.is_bound:
                notes.append(f"the stable text stays, because reasoning of this run is bound to it: {places} changed")
                return before.system, False
            notes.append(f"the stable text changed: {places}")
        self._stated = request
        return request.system, before is not None and _ids(before.contracts) != _ids(request.contracts)


def _completed(inputs: RequestInputs, live: LiveRequest) -> RequestInputs:
    """Fill in what the adapter observed where the inputs leave it open."""
    environment = inputs.environment
    if environment.tools is None:
        environment = replace(environment, tools=live.tools)
    calls = live.calls if inputs.calls is None else inputs.calls
    budget = replace(inputs.budget, history=inputs.budget.history + live.history_tokens)
    return replace(inputs, environment=environment, calls=calls, budget=budget)


def _with_tails(budget: ContextBudget, tails: tuple[Tail, ...], successor: int = 0) -> ContextBudget:
    """Say what the tails show and take; `successor` are the tokens of what a new tail begins with."""
    sent = {handle: digest for tail in tails for handle, digest in tail.bodies.items()}
    return replace(budget, sent=sent, carried=_carried(tails) + (successor if tails else 0))


def _carried(tails: Iterable[Tail]) -> int:
    return sum(tail.tokens for tail in tails)


def _numbers(tails: Iterable[Tail]) -> str:
    return ", ".join(f"tail {tail.number}" for tail in tails)


def _leans_on_lost_bodies(tails: tuple[Tail, ...]) -> bool:
    """Whether the newest tail speaks of a body in an earlier one which none of them shows any more."""
    shown = {pair for tail in tails[:-1] for pair in tail.bodies.items()}
    return not shown.issuperset(tails[-1].leans_on.items())


def _lost(tails: Iterable[Tail]) -> Iterator[Tail]:
    """Yield the tails that speak of a body which no tail before them shows, not counting those that are lost."""
    shown: set[tuple[str, str]] = set()
    for tail in tails:
        if not shown.issuperset(tail.leans_on.items()):
            yield tail
        else:
            shown.update(tail.bodies.items())


def _ids(contracts: tuple[SelectedContract, ...]) -> list[tuple[str, str]]:
    return [(one.contract.id, one.contract.hash) for one in contracts]


def _names(contracts: tuple[SelectedContract, ...]) -> list[str]:
    return [one.contract.id for one in contracts]


def _changed_places(old: AssembledRequest, new: AssembledRequest) -> list[str]:
    before = {section.place: section.text for section in old.sections if section.place.is_stable}
    after = {section.place: section.text for section in new.sections if section.place.is_stable}
    return [place.name.lower() for place in sorted({*before, *after}) if before.get(place) != after.get(place)]
