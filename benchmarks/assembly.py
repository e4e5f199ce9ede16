"""Request assembly: what compiling a request costs, in passes over the bytes of its own inputs (R).

200 records and 1 MB of evidence. The bodies' digests belong to the records and are known after the first request, so a
first request and a later one are rows of their own; the dump is a row beside them, without and with its redaction.
Times are processor seconds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from statistics import median
from typing import Any

from benchmarks.clock import Reference, now, quiet
from benchmarks.report import Table
from benchmarks.rows import Row, spread_of
from benchmarks.stacks import installed
from kedi_compile import ContextBudget, EvidenceLedger, LiveFrame, RequestCompiler, RequestInputs, StableCore, TaskEpoch
from kedi_compile.assembly import Mutation, Provenance, Requirement, Source, Verification, WorkItem
from kedi_compile.dump.redaction import Redactor
from kedi_compile.dump.schema import RequestDump

NAME = "assembly"
PASSES = 3.0
MEGABYTE = 1_000_000
LINE = "def work(item: str) -> str:  # a line of a source file of ordinary length\n"


@dataclass(frozen=True, slots=True)
class Load:
    """How many sources, how many records of the frame, and the bytes of all bodies."""

    sources: int
    records: int
    size: int


WHOLE = Load(sources=100, records=100, size=MEGABYTE)
TINY = Load(sources=4, records=8, size=10_000)


def bodies_of(load: Load) -> list[str]:
    """Return the bodies, each another one."""
    lines = load.size // load.sources // len(LINE)
    return [f"# {number}\n" + LINE * lines for number in range(load.sources)]


def inputs_of(load: Load, bodies: list[str]) -> RequestInputs:
    """Return fresh inputs: nothing of them has been looked at."""
    frame, evidence = LiveFrame(TaskEpoch("t1", "Make the checks pass", "Find the failing check")), EvidenceLedger()
    for number, body in enumerate(bodies):
        source = Source(f"src/{number}.py", "v1", "".join(body), Provenance(tool_call_id=f"c{number}"))
        evidence.record(source)
    for number in range(load.records // 4):
        frame.mutate(Mutation(f"m{number}", f"Changed file {number}", (f"src/{number}.py",)))
        frame.verify(Verification(f"check {number}", passed=True, detail="as expected", paths=(f"src/{number}.py",)))
        frame.require(Requirement(f"r{number}", f"Keep what file {number} promises"))
        frame.work(WorkItem(f"w{number}", f"Look at file {number}", note="begun"))
    budget = ContextBudget(limit=2 * load.size)
    return RequestInputs(StableCore("Say what is so."), frame, evidence, budget=budget)


def plain_of(load: Load, bodies: list[str]) -> dict[str, Any]:
    """Return the same inputs as plain data, for the reference."""
    sources = [{"path": f"src/{number}.py", "body": body} for number, body in enumerate(bodies)]
    words = [f"record {number}: some words that say what it is" for number in range(load.records)]
    return {"sources": sources, "records": words, "objective": "Make the checks pass"}


def measure(rounds: int, load: Load) -> Table:
    """Take all samples and return the table."""
    compiler, bodies = RequestCompiler(), bodies_of(load)
    reference = Reference(plain_of(load, bodies))
    samples: dict[str, list[float]] = {}
    for _ in range(rounds + 1):
        for name, seconds in _round(compiler, inputs_of(load, bodies), reference).items():
            samples.setdefault(name, []).append(seconds)
    unit = median(samples.pop("reference")[1:])
    rows = [Row(name, "R", spread_of(found[1:], unit), _GOALS.get(name)) for name, found in samples.items()]
    title = f"assembly, {load.sources + load.records} records, {reference.size / MEGABYTE:.1f} MB"
    versions = {name: installed(name) for name in ("pydantic", "orjson")}
    return Table(versions, (), {title: [*rows, Row("R itself", "s", spread_of([unit]))]})


FIRST, LATER = "a first request", "a later request, nothing changed"
_GOALS = {FIRST: PASSES, LATER: PASSES}


def _round(compiler: RequestCompiler, inputs: RequestInputs, reference: Reference) -> dict[str, float]:
    with quiet():
        unit = reference.seconds()
        first, request = _timed(lambda: compiler.compile(inputs))
        later, _ = _timed(lambda: compiler.compile(inputs))
        assert request.late  # the text itself, which is joined when it is first asked for
        text, _ = _timed(lambda: compiler.compile(inputs).late)
        dumped, dump = _timed(lambda: compiler.compile(inputs).dump)
        whole = RequestDump(
            request_id="r", at=0.0, request_index=1, adapter="none", model_id="m", outcome="answered", assembly=dump
        )
        redacted, _ = _timed(lambda: Redactor().redact_dump(whole))
    return {
        "reference": unit,
        FIRST: first,
        LATER: later,
        "a later request with its late text": text,
        "a later request with its dump": dumped,
        "redaction of the dump": redacted,
    }


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = now()
    result = work()
    return now() - start, result
