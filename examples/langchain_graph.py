"""Edit the durable history of a graph of your own: a node that keeps an edit together with the answer it led to.

When the model fails, the thread is what it was before, and a resume edits anew.

Prints on stdout:

    question 1: messages sent: 1, messages in the thread: 2
    question 2: messages sent: 3, messages in the thread: 4
    question 3: messages sent: 3, messages in the thread: 4
    question 4: the model failed, messages in the thread: 5
    resumed: messages sent: 3, messages in the thread: 4
"""

from typing import Any, ClassVar

from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import START, MessagesState, StateGraph

from kedi_langchain import LangChainAdapter


class Offline(SimpleChatModel):
    """Stand in for a model: fail once, else say how many messages it was sent."""

    failures: ClassVar = ["Question 4"]

    def _call(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> str:
        if messages[-1].text in self.failures:
            self.failures.remove(messages[-1].text)
            raise ConnectionError
        return f"messages sent: {len(messages)}"

    @property
    def _llm_type(self) -> str:
        return "offline"


model = Offline()  # for a real one: init_chat_model("anthropic:claude-sonnet-4-6"), of langchain.chat_models
adapter = LangChainAdapter(history_processor=lambda ctx: ctx.keep_recent_groups(1))
builder = StateGraph(MessagesState)
builder.add_node("model", adapter.model_node(model))
builder.add_edge(START, "model")
graph = builder.compile(checkpointer=InMemorySaver())
thread: RunnableConfig = {"configurable": {"thread_id": "one"}}


def kept() -> str:
    """Count what the thread holds."""
    return f"messages in the thread: {len(graph.get_state(thread).values['messages'])}"


for number in range(1, 5):
    try:
        state = graph.invoke({"messages": [HumanMessage(f"Question {number}")]}, thread)
        print(f"question {number}: {state['messages'][-1].text}, {kept()}")
    except ConnectionError:
        print(f"question {number}: the model failed, {kept()}")
state = graph.invoke(None, thread)
print(f"resumed: {state['messages'][-1].text}, {kept()}")
