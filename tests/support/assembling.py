"""Inputs of the request compiler, as small as they can be, and a run of requests driven by hand."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from kedi_compile.assembly import (
    AssembledRequest,
    ContextBudget,
    Contract,
    ContractRegistry,
    EvidenceLedger,
    Extraction,
    LiveFrame,
    LiveRequest,
    Provenance,
    RepositoryInstructions,
    RequestCompiler,
    RequestInputs,
    RuntimeEnvironment,
    Source,
    StableCore,
    SteeringSlot,
    TaskEpoch,
    ToolSchema,
)
from kedi_compile.assembly.items import Candidate, Form, Trust
from kedi_compile.assembly.places import Place
from kedi_compile.assembly.run import AssembledStep, RunAssembly, Standing
from kedi_compile.tokens import text_tokens

READ = Provenance(tool_call_id="call_1")
PERSON = Provenance(author="operator")
FILE = Provenance(path="/repo/AGENTS.md")
TOOL = ToolSchema("read", "Read a file.", {"type": "object", "properties": {"path": {"type": "string"}}})

CONTRACT_SETS: Mapping[str, tuple[str, ...]] = {
    "Understand local source": ("discovery", "local-tool-read", "provenance"),
    "Change code": ("implementation", "local-edit", "verification"),
    "Diagnose a failing test": ("failure-recovery", "verification", "workspace-shell"),
    "Delegate a bounded item": ("parallel-delegated", "authority-steering", "provenance"),
    "Publish or restart a service": ("release", "security-high-impact", "external-state"),
    "Build context tooling": ("context-compaction", "branch-evidence", "harness", "tier-autonomy"),
}
"""The specification's example table: live work -> the contracts beside the core."""

CALLS: Mapping[str, tuple[str, ...]] = {
    "Understand local source": ("read",),
    "Change code": ("read", "edit"),
    "Diagnose a failing test": ("pytest",),
}
"""The rows that tool calls show; the others are high-impact or special, and are named."""

PHASES = {"read": "explore", "edit": "implement", "pytest": "verify"}


def table_registry(row: str) -> ContractRegistry:
    """Return the contracts of all rows; those of the row that calls show carry its phase."""
    phase = {"Understand local source": "explore", "Change code": "mixed", "Diagnose a failing test": "verify"}.get(row)
    names = dict.fromkeys(name for names in CONTRACT_SETS.values() for name in names)
    return ContractRegistry(
        contract(name, phases=[phase] if phase and name in CONTRACT_SETS[row] and name != "release" else [])
        for name in names
    )


def contract(name: str, body: str | None = None, phases: Iterable[str] = (), **options: Any) -> Contract:
    """Return a contract with a body that names it."""
    return Contract(name, "1", body or f"Rules of {name}.", frozenset(phases), **options)


def source(path: str = "a.py", body: str | None = "x = 1\n", version: str = "v1", **options: Any) -> Source:
    """Return a source that a tool call read."""
    return Source(path, version, body, **{"provenance": READ, **options})


def frame(raw: str = "Make it work.", **options: Any) -> LiveFrame:
    """Return a frame with one epoch."""
    return LiveFrame(TaskEpoch("e1", raw, **options))


def steering(name: str = "s1", text: str = "Do not touch the tests.") -> SteeringSlot:
    """Return a steering slot of a person."""
    return SteeringSlot(name, text, PERSON)


def ledger(*sources: Source) -> EvidenceLedger:
    """Return a ledger that holds the sources."""
    held = EvidenceLedger()
    for one in sources:
        held.record(one)
    return held


def inputs(*sources: Source, **options: Any) -> RequestInputs:
    """Return inputs with the sources; everything else as in `options`, or as little as there can be."""
    given = {"core": StableCore("You are a careful engineer."), "frame": frame(), "evidence": ledger(*sources)}
    return RequestInputs(**{**given, **options})


def everything() -> RequestInputs:
    """Return inputs that have something at each place."""
    live = frame(objective="Make the tests pass.")
    live.steer(steering())
    return inputs(
        source(),
        frame=live,
        repository=(RepositoryInstructions("Use tabs.", "/repo", FILE),),
        environment=RuntimeEnvironment("/repo", {"os": "linux"}, (TOOL,)),
        current_message="Go on.",
        response_format={"type": "object"},
        calls=("read",),
    )


def compiled(*sources: Source, **options: Any) -> AssembledRequest:
    """Compile such inputs."""
    return RequestCompiler().compile(inputs(*sources, **options))


def limited(limit: int, **options: Any) -> ContextBudget:
    """Return the budget of a model with this limit."""
    return ContextBudget(limit, **options)


def candidate(name: str, *forms: Form, record: object = None, kind: str = "note") -> Candidate:
    """Return a candidate of the frame."""
    return Candidate(Place.FRAME, kind, name, Trust.OPERATOR, record, forms[0], forms[1:])


class Run:
    """One run, driven by hand: each request adds a message, and questions are answered by their function."""

    def __init__(self, compiler: RequestCompiler, count: Any = text_tokens) -> None:
        self.assembly = RunAssembly(compiler, count)
        self.present: list[str] = []
        self.asked: list[str] = []
        self.index = 0

    def request(
        self,
        *calls: str,
        bound: bool = False,
        again: bool = False,
        left: Iterable[str] = (),
        history_tokens: int = 0,
    ) -> AssembledStep:
        """Assemble the next request, or the last one `again`; `left` are messages that the history lost."""
        if not again:
            self.index += 1
            self.present.append(f"m{self.index}")
        self.present = [name for name in self.present if name not in left]
        live = LiveRequest(self.index, "model", calls, tools=(TOOL,), history_tokens=history_tokens)
        flow = self.assembly.assemble(live, Standing(f"m{self.index}", tuple(self.present), bound))
        answer: object = None
        while True:
            try:
                question = flow.send(answer)
            except StopIteration as stop:
                return stop.value  # type: ignore[no-any-return]  # a generator's value is untyped
            self.asked.append(question.callback)
            answer = question.function(question.argument)


def extraction(**options: Any) -> Extraction:
    """Return an extraction that says something."""
    return Extraction(**{"summary": "It sets x.", **options})
