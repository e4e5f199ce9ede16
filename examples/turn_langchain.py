"""Run a compiled turn with a LangChain model whose history is edited, and record it once the model has answered.

The wrapped model is given the messages like any others. The processor keeps one of the three questions before the
current one, and the first, which the policy is folded into: its group is protected. Tools and the output type are bound
to the model natively; nothing of them is stored.

Prints on stdout:

    compiled: 7 messages
    answer: 5 messages reached me
    the model answered: 9 records
"""

import warnings
from typing import Any

from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage

from kedi_compile import HistoryPrefixWarning, TurnRequest, compile_chat_request
from kedi_compile.turn import AssistantResponse, Branch, Instruction
from kedi_langchain import LangChainAdapter, to_messages

warnings.filterwarnings("ignore", category=HistoryPrefixWarning)


class Offline(SimpleChatModel):
    """Stand in for a model: say how many messages it was sent."""

    def _call(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> str:
        return f"{len(messages)} messages reached me"

    @property
    def _llm_type(self) -> str:
        return "offline"


branch = Branch("You know every path around the hut.")
for place in ("lake", "pass", "hut"):
    branch.append(Instruction.create(f"How long is the way to the {place}?"), AssistantResponse.create("Two hours."))
compiled = compile_chat_request(branch, TurnRequest(Instruction.create("And to the summit?")))
print(f"compiled: {len(compiled.messages)} messages")

adapter = LangChainAdapter(history_processor=lambda ctx: ctx.keep_recent_groups(1))
model = adapter.wrap(Offline())  # for a real one: init_chat_model("anthropic:claude-sonnet-4-6")
answer = model.invoke(to_messages(compiled))
branch.append(compiled.instruction, AssistantResponse.create(answer.text))
print(f"answer: {answer.text}")
print(f"the model answered: {len(branch.progression)} records")
