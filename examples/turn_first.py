"""Compile a turn: stored records and a request become one exact request."""

from kedi_compile import ContextBlock, TurnRequest, compile_chat_request
from kedi_compile.turn import ActionRequest, ActionResponse, AssistantResponse, Branch, Instruction

branch = Branch("You run a mountain hut.")
call = ActionRequest.create("free_beds", {"day": "Saturday"})
branch.append(
    Instruction.create("How many beds are free on Saturday?"),
    AssistantResponse.create("I will look."),
    call,
    ActionResponse.answering(call, {"bunk room": 3, "annex": 1}),
)

request = TurnRequest(
    Instruction.create("Can two more people come?", guidance="Answer in one sentence."),
    context_blocks=(ContextBlock("weather", "Snow from noon."),),
)
compiled = compile_chat_request(branch, request)

for message in compiled.messages:
    print(f"--- {message.role}\n{message.content}")
