"""`RequestCompiler`: typed inputs become one assembled request, in a fixed order.

Pure and deterministic: the same inputs give the same bytes. It selects contracts, lays out the nine places, makes them
fit, and proves the invariants. What a run remembers between its requests is in `run.py`. Source: Assembly
specification, whole.
"""

from __future__ import annotations

import copy
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final, Literal

from kedi_compile.assembly.assembled import HEADINGS, AssembledRequest
from kedi_compile.assembly.contracts import (
    ContractRegistry,
    NamedModule,
    SelectedContract,
    configured_modules,
    operator_modules,
)
from kedi_compile.assembly.evidence import Evidence
from kedi_compile.assembly.frame import Frame
from kedi_compile.assembly.inputs import RequestInputs
from kedi_compile.assembly.invariants import check_invariants
from kedi_compile.assembly.items import Candidate, Item
from kedi_compile.assembly.late import current_candidates, epoch_candidate, evidence_candidates, frame_candidates
from kedi_compile.assembly.live_request import InputsCallback
from kedi_compile.assembly.phases import ObservedPhase, Phase, observe_phase
from kedi_compile.assembly.places import Place
from kedi_compile.assembly.reduction import Count, fit
from kedi_compile.assembly.sources import Extraction, ExtractionRequest, Source, Visibility
from kedi_compile.assembly.stable import stable_candidates
from kedi_compile.assembly.typed import typed
from kedi_compile.assembly.ui_tokens import DEFAULT_UI_TOKENS, UiTokens
from kedi_compile.errors import AssemblyError, BudgetExceeded, HistoryConfigurationError, UnknownInputError
from kedi_compile.tokens import text_tokens

ExtractionCallback = Callable[[ExtractionRequest], "Extraction | Awaitable[Extraction]"]
"""What reads overwhelming material apart from the conversation: request -> extraction, sync or async."""


class RequestCompiler:
    """Compiles requests; immutable, and shared by any number of runs.

    Args:
        contracts: The contracts at hand; None for none beside the core.
        inputs: What an adapter compiles its requests from: the inputs themselves, whose ledgers go on changing, or a
            callback that gives them for each request. None where `compile` is only called directly.
        tool_phases: The phase of the work that a call of each tool shows; other tools show none.
        reference_contract_modules: Ids of contracts that are selected whatever the phase.
        extraction: Reads overwhelming material, or material whose record asks for it, apart from the conversation;
            sync or async. None omits what does not fit.
        ui_tokens: Command tokens of the interface that users type into.

    Raises:
        UnknownInputError: `contracts` is no ContractRegistry, or `inputs` are of another type.
        AssemblyError: a module is no contract's id, a phase is unknown, or something is not callable.

    Source: Assembly specification, whole.
    """

    def __init__(
        self,
        contracts: ContractRegistry | None = None,
        *,
        inputs: RequestInputs | InputsCallback | None = None,
        tool_phases: Mapping[str, Phase | str] | None = None,
        reference_contract_modules: Sequence[str] = (),
        extraction: ExtractionCallback | None = None,
        ui_tokens: Iterable[str] = DEFAULT_UI_TOKENS,
    ) -> None:
        at_hand = ContractRegistry() if contracts is None else contracts
        self.contracts = typed(at_hand, ContractRegistry, "`contracts` of the request compiler")
        self.inputs = inputs
        self.tool_phases = {tool: _phase(tool, phase) for tool, phase in (tool_phases or {}).items()}
        self.modules = configured_modules(reference_contract_modules)
        self.extraction = extraction
        self.ui_tokens = UiTokens(tuple(ui_tokens))
        self.contracts.check(self.modules)
        _check_callbacks(inputs, extraction)

    def with_modules(self, modules: Iterable[NamedModule]) -> RequestCompiler:
        """Return a compiler that also selects these contracts, as an operator's setting asks.

        Raises:
            AssemblyError: one of them is no contract's id.
        """
        added = copy.copy(self)
        added.modules = (*self.modules, *modules)
        self.contracts.check(added.modules)
        return added

    def select(self, inputs: RequestInputs) -> tuple[ObservedPhase, tuple[SelectedContract, ...]]:
        """Return the observed phase, and the contracts that apply in it or were named."""
        observed = observe_phase(inputs.calls or (), self.tool_phases)
        return observed, self.contracts.select(observed, self.modules)

    def compile(self, inputs: RequestInputs, count: Count = text_tokens) -> AssembledRequest:
        """Return the request; `count` gives the tokens of a text.

        Nothing is extracted here: whoever calls does what `wanted` lists first, as the adapters do.

        Raises:
            UnknownInputError: `inputs` are no RequestInputs.
            BudgetExceeded: it does not fit the model after everything that may be reduced was.
            InvariantViolation: it breaks an invariant; the error holds all that it breaks.
        """
        request = self._laid_out(inputs, count)
        room = inputs.budget.room
        if room is not None and sum(request.sizes.values()) > room:
            raise BudgetExceeded(inputs.budget.limit or 0, inputs.budget.reserved_output, request.sizes)
        check_invariants(request)
        return request

    def wanted(self, inputs: RequestInputs, count: Count = text_tokens) -> tuple[ExtractionRequest, ...]:
        """Return what is to be extracted before the request is compiled: what is asked for, or overwhelming.

        Empty without an extraction callback; a source that has been extracted already is not asked for again.
        """
        if self.extraction is None:
            return ()
        request = self._laid_out(inputs, count)
        most, whole = inputs.budget.most_at_once, inputs.budget.room
        room = whole if most is None else most
        requirements = tuple(one.text for one in request.frame.requirements)
        objective = request.frame.epoch.objective_now
        return tuple(
            ExtractionRequest(item.record, objective, requirements, wish, room)
            for item in request.items
            if isinstance(item.record, Source) and (wish := _wish(item, request.evidence, inputs, count)) is not None
        )

    def _laid_out(self, inputs: RequestInputs, count: Count) -> AssembledRequest:
        """Lay out all places, reduced as far as needed or as far as they can be."""
        typed(inputs, RequestInputs, "The request compiler")
        observed, selected = self.select(inputs)
        selection = selected if inputs.selection is None else inputs.selection
        frame, evidence, budget = inputs.frame.snapshot(), inputs.evidence.snapshot(), inputs.budget
        fixed = _fixed_sizes(inputs, count)
        room = None if budget.room is None else budget.room - sum(fixed.values())
        candidates = [*stable_candidates(inputs, selection), *self._late(inputs, frame, evidence, count)]
        items = fit(candidates, count, room)
        return AssembledRequest(
            items=items,
            contracts=selection,
            unselected=self.contracts.unselected(selection),
            phase=observed,
            frame=frame,
            evidence=evidence,
            tools=inputs.environment.tools or (),
            response_format=inputs.response_format,
            ui_tokens=self.ui_tokens,
            sizes={**_sizes(items), **fixed},
            limit=budget.limit,
            reserved_output=budget.reserved_output,
            tier=inputs.tier,
            flags=tuple(sorted(inputs.flags)),
        )

    def _late(self, inputs: RequestInputs, frame: Frame, evidence: Evidence, count: Count) -> Iterator[Candidate]:
        most = inputs.budget.most_at_once
        bodies = ((source.handle, source.body) for source in evidence.sources if source.body is not None)
        overwhelming = frozenset(handle for handle, body in bodies if most is not None and count(body) > most)
        yield epoch_candidate(frame, self.ui_tokens)
        yield from evidence_candidates(evidence, inputs.budget, overwhelming, self.ui_tokens)
        yield from frame_candidates(frame)
        yield from current_candidates(frame, inputs.current_message, self.ui_tokens)


def operated(compiler: object, environ: Mapping[str, str]) -> RequestCompiler | None:
    """Return the compiler of an adapter with the modules that the operator names in `environ`; None for None.

    Raises:
        HistoryConfigurationError: it is no RequestCompiler, or has no `inputs` to compile live requests from.
        AssemblyError: the operator names a contract that is not there.
    """
    if compiler is None:
        return None
    if not isinstance(compiler, RequestCompiler) or compiler.inputs is None:
        what = "has no `inputs`" if isinstance(compiler, RequestCompiler) else f"is {_kind(compiler)}"
        msg = f"`request_compiler` {what}; give a RequestCompiler with `inputs=`, or None"
        raise HistoryConfigurationError(msg)
    return compiler.with_modules(operator_modules(environ))


def _kind(value: object) -> str:
    return f"the class {value.__name__}" if isinstance(value, type) else type(value).__name__


def _phase(tool: str, phase: str) -> Phase:
    try:
        found = Phase(phase)
    except ValueError:
        found = Phase.MIXED
    if found is Phase.MIXED:
        msg = f"`tool_phases` gives {tool!r} the phase {phase!r}; a tool shows explore, plan, implement, or verify"
        raise AssemblyError(msg)
    return found


def _check_callbacks(inputs: object, extraction: object) -> None:
    if not (inputs is None or isinstance(inputs, RequestInputs) or callable(inputs)):
        msg = f"`inputs` is {type(inputs).__name__}; give RequestInputs, or a callback that returns them"
        raise UnknownInputError(msg)
    if extraction is not None and not callable(extraction):
        msg = f"`extraction` is {extraction!r}; pass the function itself, or None"
        raise AssemblyError(msg)


def _wish(
    item: Item, evidence: Evidence, inputs: RequestInputs, count: Count
) -> Literal["overwhelming", "requested"] | None:
    """Why a source is to be extracted, or None; one that is shown earlier or rehydrated is not."""
    source = item.record
    if not isinstance(source, Source) or source.body is None or source.handle in evidence.extractions:
        return None
    if source.handle in evidence.rehydrated or item.form.visibility is Visibility.VISIBLE_EARLIER:
        return None
    if source.is_unhandled:
        return None
    if source.extract:
        return "requested"
    if source.visibility is Visibility.NOT_VISIBLE:
        return None
    most = inputs.budget.most_at_once
    is_out = item.form.decision == "omitted"
    is_much = most is not None and not source.requested and count(source.body) > most
    return "overwhelming" if is_out or is_much else None


_FAMILIES: Final[Mapping[Place, str]] = {
    Place.CORE: "core",
    Place.CONTRACTS: "contracts",
    Place.REPOSITORY: "repository",
    Place.ENVIRONMENT: "environment",
    Place.EPOCH: "task_epoch",
    Place.EVIDENCE: "evidence",
    Place.FRAME: "frame",
    Place.CURRENT: "current",
}
"""Place -> the name of its source type in the context accounting."""


def _sizes(items: Iterable[Item]) -> dict[str, int]:
    sizes = dict.fromkeys(_FAMILIES.values(), 0)
    for item in items:
        sizes[_FAMILIES[item.place]] += item.tokens
    return sizes


def _fixed_sizes(inputs: RequestInputs, count: Count) -> dict[str, int]:
    """The tokens of what no reduction touches: the history, earlier tails, tools and response format, headings."""
    tools = sum(count(tool.name) + count(tool.text) for tool in inputs.environment.tools or ())
    form = count(inputs.response_text)
    headings = sum(count(f"{heading}\n\n") for heading in HEADINGS.values())
    return {
        "headings": headings,
        "tools": tools + form,
        "history": inputs.budget.history,
        "tails": inputs.budget.carried,
    }
