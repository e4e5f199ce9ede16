"""Assemble a request: what stays the same goes first, what is being decided goes last."""

from kedi_compile import (
    Contract,
    ContractRegistry,
    EvidenceLedger,
    LiveFrame,
    RequestCompiler,
    RequestInputs,
    StableCore,
    SteeringSlot,
    TaskEpoch,
)
from kedi_compile.assembly import Mutation, Provenance, Source, Verification

frame = LiveFrame(TaskEpoch("t1", "Let the lexer skip comments. /nothink"))
frame.steer(SteeringSlot("s1", "Change files below src/ only.", Provenance(author="the reviewer")))
frame.verify(Verification("the tests pass", passed=True, detail="12 passed", paths=("src",)))
frame.mutate(Mutation("m1", "lex() skips comments", ("src/lex.py",)))

evidence = EvidenceLedger()
evidence.record(Source("src/lex.py", "9f2c", "def lex(text): ...\n", Provenance(tool_call_id="call_1")))

contracts = ContractRegistry(
    [
        Contract("editing", "2", "Read a file before you change it.", {"implement"}),
        Contract("release", "1", "Ask before you publish.", explicit_only=True),
    ]
)
compiler = RequestCompiler(contracts, tool_phases={"edit_file": "implement"})
core = StableCore("Say so if you do not know.")
request = compiler.compile(RequestInputs(core, frame, evidence, calls=("edit_file",)))

print(request.system)
print("-" * 20, "the history and the user's message stand here, and then")
print(request.late)
