"""Summarize old groups of an agent's thread with a second model: an async processor.

The second model is called inside the agent's graph. The tag keeps its tokens out of `stream_mode="messages"`.

Prints on stdout:

    boots
      ['boots']
    ropes
      ['boots', 'ropes']
    maps
      ['boots', 'ropes', 'maps']
    huts
      ['boots', 'ropes', 'maps', 'huts']
    weather
      ['boots; ropes; maps', 'huts', 'weather']
    food
      ['boots; ropes; maps', 'huts', 'weather', 'food']
    trains
      ['boots; ropes; maps; huts; weather', 'food', 'trains']
"""

import asyncio
from typing import Any

from langchain.agents import create_agent
from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import BaseMessage, HumanMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.memory import InMemorySaver

from kedi_compile import HistoryProcessorContext
from kedi_langchain import LangChainAdapter

MOST = 3


class Offline(SimpleChatModel):
    """Stand in for a model: show the user's side of what came, or, asked for a summary, say what was talked about."""

    def _call(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> str:
        asked = [message.text for message in messages if message.type == "human"]
        if asked[-1].startswith("Say"):
            return "; ".join(asked[:-1])
        print(f"  {asked}")
        return "Noted."

    @property
    def _llm_type(self) -> str:
        return "offline"


small = Offline().with_config(
    tags=["nostream"]
)  # for a real one: init_chat_model("openai:gpt-6-luna").with_config(...)


async def summarize(ctx: HistoryProcessorContext[BaseMessage]) -> list[BaseMessage]:
    """Replace all but the last eligible group by a summary once there are more than `MOST`; a summary is one too."""
    eligible = [group for group in ctx.groups if group.eligible]
    if len(eligible) <= MOST:
        return list(ctx.messages)
    old = eligible[:-1]
    said = [message for group in old for message in ctx.messages[group.entry_start : group.entry_end]]
    summary = await small.ainvoke([*said, HumanMessage("Say in a line what we talked about.")])
    return ctx.replace_groups(old, *ctx.summary_messages(summary.text))


adapter = LangChainAdapter(history_processor=summarize)
agent = create_agent(Offline(), middleware=[adapter.middleware()], checkpointer=InMemorySaver())


async def main() -> None:
    """Talk about seven things in one thread."""
    thread: RunnableConfig = {"configurable": {"thread_id": "one"}}
    for question in ("boots", "ropes", "maps", "huts", "weather", "food", "trains"):
        print(question)
        await agent.ainvoke({"messages": [HumanMessage(question)]}, thread)


asyncio.run(main())
