"""Fit a request to its model: a log that is too much is extracted, and its exact text comes back by its handle.

What does not fit after everything that may go has gone is a `BudgetExceeded` with the table of sizes.

Prints on stdout:

    extracting build.log: overwhelming
    build.log compacted, extracted, not_visible: its body is overwhelming, and was extracted
      0 lines of it, 119 tokens
    build.log rehydrated, full, visible: asked for by its handle
      299 lines of it, 2416 tokens
    build.log omitted, full, not_visible: there is no room even for what was asked for
      0 lines of it, 75 tokens
    The request takes 171 tokens, and 50 are there (1,050 less 1,000 for the answer),
    after all that may be reduced was;
    nothing was sent. Shorten the history or the inputs:
      core                 18
      environment          20
      task_epoch           30
      evidence             75
      headings             28
"""

from kedi_compile import (
    BudgetExceeded,
    ContextBudget,
    EvidenceLedger,
    LiveFrame,
    RequestCompiler,
    RequestInputs,
    StableCore,
    TaskEpoch,
)
from kedi_compile.assembly import Anchor, Extraction, ExtractionRequest, Provenance, Source

LINES = [f"[{number:3}] compiled unit {number}" for number in range(1, 301)]
LINES[200] = "ERROR linker: libfoo not found"


def extract(request: ExtractionRequest) -> Extraction:
    """Read too much apart from the conversation; in earnest a second model does, which may be awaited."""
    lines = (request.source.body or "").splitlines()
    found = [Anchor(f"line {number}", line) for number, line in enumerate(lines, 1) if "ERROR" in line]
    print(f"extracting {request.source.path}: {request.reason}")
    return Extraction(tuple(found), unresolved=("why the library is missing",))


frame, evidence = LiveFrame(TaskEpoch("t1", "Why does the build fail?")), EvidenceLedger()
log = evidence.record(Source("build.log", "run 7", "\n".join(LINES), Provenance(path="build.log")))
compiler = RequestCompiler(extraction=extract)


def inputs(limit: int) -> RequestInputs:
    """Return the inputs for a model with this limit."""
    return RequestInputs(StableCore("Say so if you do not know."), frame, evidence, budget=ContextBudget(limit, 1_000))


def show(limit: int) -> None:
    """Compile, after what is wanted was extracted, as the adapters do by themselves; say what became of the log."""
    for wish in compiler.wanted(inputs(limit)):
        evidence.extracted(wish.source.handle, extract(wish))
    request = compiler.compile(inputs(limit))
    (source,) = request.dump.sources
    print(f"{source.identity} {source.decision}, {source.fidelity}, {source.visibility}: {source.reason}")
    print(f"  {request.late.count('compiled unit')} lines of it, {source.tokens} tokens")


show(4_000)
evidence.rehydrate(log.handle)  # a tool would do this when the model asks for the exact text
show(4_000)
show(3_000)
try:
    show(1_050)
except BudgetExceeded as error:
    print(str(error).replace("; ", ";\n").replace(", after", ",\nafter"))
