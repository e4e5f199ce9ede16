"""Assemble every request of a LangChain agent; a callback gives the inputs of each request anew.

The callback is told what the middleware sees of the request, so each question is a task epoch of its own. The thread
holds the questions and answers alone.

Prints on stdout:

    question 1
      system: # Core (core, version 1); # Environment
      human: # Task epoch "q1"; Which bus goes to the lake?; # Active steering "s1"
    question 2
      system: # Core (core, version 1); # Environment
      human: Which bus goes to the lake?
      ai: Bus 4.
      human: # Task epoch "q2"; And back?; # Active steering "s1"
    in the thread: ['Which bus goes to the lake?', 'Bus 4.', 'And back?', 'Bus 4.']
"""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from kedi_compile import LiveFrame, RequestCompiler, RequestInputs, StableCore, SteeringSlot, TaskEpoch
from kedi_compile.assembly import LiveRequest, Provenance
from kedi_langchain import LangChainAdapter

QUESTIONS = ("Which bus goes to the lake?", "And back?")
frame = LiveFrame(TaskEpoch("q0", "nothing yet"))
frame.steer(SteeringSlot("s1", "The lake road is closed until noon.", Provenance(author="the dispatcher")))


def inputs(live: LiveRequest) -> RequestInputs:
    """Begin a task epoch with each question of the user."""
    epoch = frame.snapshot().epoch
    if live.user_text and live.user_text != epoch.raw_objective:
        frame.begin(TaskEpoch(f"q{int(epoch.id[1:]) + 1}", live.user_text))
    return RequestInputs(StableCore("You know every bus."), frame)


class Offline(SimpleChatModel):
    """Stand in for a model: show headings and questions of what came."""

    def _call(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> str:
        for message in messages:
            lines = "\n".join(str(block.get("text", "")) for block in message.content_blocks).splitlines()
            shown = [line for line in lines if line.startswith("# ") or line in (*QUESTIONS, "Bus 4.")]
            print(f"  {message.type}:", "; ".join(dict.fromkeys(shown)))
        return "Bus 4."

    @property
    def _llm_type(self) -> str:
        return "offline"


adapter = LangChainAdapter(request_compiler=RequestCompiler(inputs=inputs))
model = Offline()  # for a real one: model = "anthropic:claude-sonnet-4-6"
agent = create_agent(model, middleware=[adapter.middleware()], checkpointer=InMemorySaver())
thread: RunnableConfig = {"configurable": {"thread_id": "one"}}

for number, question in enumerate(QUESTIONS, 1):
    print(f"question {number}")
    state = agent.invoke({"messages": [HumanMessage(question)]}, thread)
print("in the thread:", [message.text for message in state["messages"]])
