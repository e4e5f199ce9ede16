"""Wrap a chat model: it keeps its type, and edits each request, whichever of its methods is called.

The list of messages stays the caller's own, so a program that keeps it is asked to edit the same history anew with
each request. To call a wrapped model in a graph is possible, but there the thread is not edited: see langchain_first.py
and langchain_graph.py.

Prints on stdout:

    still an Offline: True
    invoke: messages sent: 3
    stream: messages sent: 3
    batch: messages sent: 3, messages sent: 3
    the model as it was: messages sent: 7
    messages in the caller's list: 7
"""

from typing import Any

from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage

from kedi_langchain import LangChainAdapter


class Offline(SimpleChatModel):
    """Stand in for a model: say how many messages it was sent."""

    def _call(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> str:
        return f"messages sent: {len(messages)}"

    @property
    def _llm_type(self) -> str:
        return "offline"


history: list[BaseMessage] = []
for number in range(1, 4):
    history += [HumanMessage(f"Question {number}"), AIMessage(f"Answer {number}")]
history.append(HumanMessage("Question 4"))

given = Offline()  # for a real one: init_chat_model("anthropic:claude-sonnet-4-6"), of langchain.chat_models
model = LangChainAdapter(history_processor=lambda ctx: ctx.keep_recent_groups(1)).wrap(given)

print("still an Offline:", isinstance(model, Offline))
print("invoke:", model.invoke(history).text)
print("stream:", "".join(chunk.text for chunk in model.stream(history)))
print("batch:", ", ".join(answer.text for answer in model.batch([history, history])))
print("the model as it was:", given.invoke(history).text)
print("messages in the caller's list:", len(history))
