"""Assemble every request of a Pydantic AI agent: its tools write down what they read and change.

A tool records what it read as evidence and answers with the handle alone, so the text is sent once. The phase comes
from the calls, and with it the contracts. Nothing of all this is in the messages that the run keeps.

Prints on stdout:

    request 1
      contracts: none
      late: # Task epoch "t1"; # Active steering "s1"
    request 2
      contracts: looking
      late: # Task epoch "t1"; # Evidence; ## "notes.txt"; # Active steering "s1"
    request 3
      contracts: looking, changing
      late: # Task epoch "t1"; # Frame; - mutation "m1" ("notes.txt"): one line more
    kept: Add a line to the notes.; read; append; Done.
"""

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

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
from kedi_compile.assembly import Acknowledgement, Mutation, Provenance, Source
from kedi_pydantic_ai import PydanticAdapter

QUESTION = "Add a line to the notes."
frame, evidence = LiveFrame(TaskEpoch("t1", QUESTION)), EvidenceLedger()
frame.steer(SteeringSlot("s1", "Keep the notes in English.", Provenance(author="the editor")))
notes = ["Bread on Tuesday."]


def offline(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    """Stand in for a model: show the headings of what came, and work through three steps."""
    step = sum(message.kind == "response" for message in messages)
    late = "\n".join(str(getattr(part, "content", "")) for part in messages[-1].parts).splitlines()
    system = (info.instructions or "").splitlines()
    contracts = [line.split()[2] for line in system if line.startswith("# Contract ")]
    print(f"request {step + 1}")
    print("  contracts:", ", ".join(contracts) or "none")
    print("  late:", "; ".join(line for line in late if line.startswith(("#", "- mutation"))))
    calls = [ToolCallPart("read", {}), ToolCallPart("append", {"line": "Eggs too.", "steering_id": "s1"})]
    return ModelResponse(parts=[calls[step] if step < len(calls) else TextPart("Done.")])


compiler = RequestCompiler(
    ContractRegistry(
        [
            Contract("looking", "1", "Read before you answer.", {"explore"}),
            Contract("changing", "1", "One change at a time.", {"implement"}),
        ]
    ),
    inputs=RequestInputs(StableCore("Say so if you do not know."), frame, evidence),
    tool_phases={"read": "explore", "append": "implement"},
)
agent = Agent(
    FunctionModel(offline),  # for a real one: "anthropic:claude-sonnet-4-6"
    capabilities=[PydanticAdapter(request_compiler=compiler)],
)


@agent.tool_plain
def read() -> str:
    """Read the notes."""
    source = Source("notes.txt", str(len(notes)), "\n".join(notes), Provenance(path="notes.txt"))
    return f"recorded as evidence: {evidence.record(source).handle}"


@agent.tool_plain
def append(line: str, steering_id: str) -> str:
    """Append a line to the notes, and acknowledge the steering that you go by."""
    frame.acknowledge(Acknowledgement(steering_id, "the tool call append"))
    evidence.retire(f"notes.txt@{len(notes)}#whole", "changed by m1")
    notes.append(line)
    frame.mutate(Mutation("m1", "one line more", ("notes.txt",)))
    return "appended"


kept = agent.run_sync(QUESTION).all_messages()
parts = [message.parts[0] for message in kept if message.kind == "response" or message is kept[0]]
print("kept:", "; ".join(str(getattr(part, "content", "") or getattr(part, "tool_name", "")) for part in parts))
