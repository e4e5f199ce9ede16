"""Keep an agent's thread short, in whole groups."""

from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from kedi_langchain import LangChainAdapter


class Offline(SimpleChatModel):
    """Stand in for a model: say how many messages it was sent."""

    def _call(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> str:
        return f"messages sent: {len(messages)}"

    @property
    def _llm_type(self) -> str:
        return "offline"


adapter = LangChainAdapter(history_processor=lambda ctx: ctx.keep_recent_groups(2, over=4))
model = Offline()  # for a real one: model = "anthropic:claude-sonnet-4-6"
agent = create_agent(model, middleware=[adapter.middleware()], checkpointer=InMemorySaver())
thread: RunnableConfig = {"configurable": {"thread_id": "one"}}

for number in range(1, 9):
    state = agent.invoke({"messages": [HumanMessage(f"Question {number}")]}, thread)
    messages = state["messages"]
    print(f"question {number}: {messages[-1].text}, messages in the thread: {len(messages)}")
