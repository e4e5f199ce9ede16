"""Serve many users with one agent: frame and ledger belong to a conversation, and reach it as the run's `deps`.

The callback is asked before each request; it begins a task epoch with each question. A model that makes up a handle
is told what there is, and asked again.

Prints on stdout:

    Ada: Order 7 is paid.
      sent to the model: order 7
    Bo: Order 9 is open.
      sent to the model: order 9
    Ada: Order 7 is paid.
      sent to the model: order 7
    late texts that were kept: 0
"""

import re
from dataclasses import dataclass, field

from pydantic_ai import Agent, ModelRetry, RunContext
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart
from pydantic_ai.models.function import AgentInfo, FunctionModel

from kedi_compile import AssemblyError, EvidenceLedger, LiveFrame, RequestCompiler, RequestInputs, StableCore, TaskEpoch
from kedi_compile.assembly import LiveRequest, Provenance, Source
from kedi_pydantic_ai import PydanticAdapter

ORDERS = {"7": "paid", "9": "open"}
seen: list[str] = []


@dataclass
class Desk:
    """What one user's conversation goes on with."""

    frame: LiveFrame = field(default_factory=lambda: LiveFrame(TaskEpoch("0", "Nothing yet.")))
    evidence: EvidenceLedger = field(default_factory=EvidenceLedger)
    messages: list[ModelMessage] = field(default_factory=list)


def inputs(live: LiveRequest) -> RequestInputs:
    """Give a request what belongs to its own user; `live.context` is the run's `deps`."""
    desk = live.context
    assert isinstance(desk, Desk)
    if live.request_index == 1:
        desk.frame.begin(TaskEpoch(f"question-{live.run_id}", live.user_text), fresh=True)
    return RequestInputs(StableCore("Say so if you do not know."), desk.frame, desk.evidence)


def offline(messages: list[ModelMessage], _: AgentInfo) -> ModelResponse:
    """Stand in for a model: look an order up once, and answer from the evidence."""
    texts = "\n".join(str(getattr(part, "content", "")) for message in messages for part in message.parts)
    known = dict(re.findall(r"order (\d) is (\w+)", texts))
    number = re.findall(r"order (\d)\?", texts)[-1]
    if number not in known:
        return ModelResponse(parts=[ToolCallPart("look_up", {"number": number})])
    seen[:] = [f"order {one}" for one in known]
    return ModelResponse(parts=[TextPart(f"Order {number} is {known[number]}.")])


agent = Agent(
    FunctionModel(offline),  # for a real one: "anthropic:claude-sonnet-4-6"
    deps_type=Desk,
    capabilities=[PydanticAdapter(request_compiler=RequestCompiler(inputs=inputs))],
)


@agent.tool
def look_up(ctx: RunContext[Desk], number: str) -> str:
    """Look an order up."""
    source = Source(
        f"orders/{number}", ORDERS[number], f"order {number} is {ORDERS[number]}", Provenance(path="orders")
    )
    return f"recorded as evidence: {ctx.deps.evidence.supersede(source).handle}"


@agent.tool
def recall(ctx: RunContext[Desk], handle: str) -> str:
    """Show the exact text of evidence again, by its handle."""
    try:
        ctx.deps.evidence.rehydrate(handle)
    except AssemblyError as error:
        raise ModelRetry(str(error)) from error
    return "it is in the next request"


desks = {"Ada": Desk(), "Bo": Desk()}
for user, number in (("Ada", "7"), ("Bo", "9"), ("Ada", "7")):
    desk = desks[user]
    result = agent.run_sync(f"What about order {number}?", deps=desk, message_history=desk.messages)
    desk.messages = result.all_messages()
    print(f"{user}: {result.output}")
    print("  sent to the model:", ", ".join(seen))
print("late texts that were kept:", str(desks["Ada"].messages).count("Task epoch"))
