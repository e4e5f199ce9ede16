"""Keep a conversation on disk: load it, compile a turn, and store it once the model has answered.

Each question is a run of its own, as after a restart. `Branch.to_dict` is JSON as long as the values in it are; the
system record and the order are part of it.

Prints on stdout:

    asked: Guidance: You know every path around the hut. | Instruction: How long is the way to the lake?
    stored: 3 records
    asked: Guidance: You know every path around the hut. | Instruction: How long is the way to the lake?
    stored: 5 records
"""

import json
from pathlib import Path
from tempfile import TemporaryDirectory

from kedi_compile import TurnRequest, compile_chat_request, provider_messages
from kedi_compile.turn import AssistantResponse, Branch, Instruction


def ask(question: str, file: Path) -> None:
    """Ask a question of the conversation in a file."""
    branch = Branch.from_dict(json.loads(file.read_text(encoding="utf-8")))
    compiled = compile_chat_request(branch, TurnRequest(Instruction.create(question)))

    messages = provider_messages(compiled)  # send these to any chat API
    print("asked:", str(messages[0]["content"]).replace("\n", " | "))
    answer = "About two hours."

    branch.append(compiled.instruction, AssistantResponse.create(answer))
    file.write_text(json.dumps(branch.to_dict()), encoding="utf-8")
    print(f"stored: {len(branch.progression)} records")


with TemporaryDirectory() as folder:
    conversation = Path(folder) / "conversation.json"
    conversation.write_text(json.dumps(Branch("You know every path around the hut.").to_dict()), encoding="utf-8")
    ask("How long is the way to the lake?", conversation)
    ask("And to the pass?", conversation)
