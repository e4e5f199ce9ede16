"""The same conversation with a wrapped chat model and with an agent: turns are native messages in front of the new one.

Prints on stdout:

    model: messages sent: 1
    model: messages sent: 3
    agent: messages sent: 1
    agent: messages sent: 3, messages in its own result: 2
    lanes: 1 and 1
"""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage, HumanMessage

from kedi_compile import ConversationState, history_scope
from kedi_langchain import LangChainAdapter


class Offline(SimpleChatModel):
    """Stand in for a model: say how many messages it was sent."""

    def _call(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> str:
        return f"messages sent: {len(messages)}"

    @property
    def _llm_type(self) -> str:
        return "offline"


adapter = LangChainAdapter()
model = Offline()  # for a real one: model = init_chat_model("anthropic:claude-sonnet-4-6")

wrapped, talk = adapter.wrap(model), ConversationState()
with history_scope(enabled=True, state=talk):
    for question in ("Remember project Ferry.", "A tagline for it?"):
        print("model:", wrapped.invoke(question).text)

agent, work = create_agent(model, middleware=[adapter.middleware()]), ConversationState()
with history_scope(enabled=True, state=work):
    first = agent.invoke({"messages": [HumanMessage("Remember project Ferry.")]})
    second = agent.invoke({"messages": [HumanMessage("A tagline for it?")]})
print("agent:", first["messages"][-1].text)
print(f"agent: {second['messages'][-1].text}, messages in its own result: {len(second['messages'])}")
print("lanes:", len(talk.lanes), "and", len(work.lanes))
