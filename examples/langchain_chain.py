"""Wrap a chain: the chat model in it is found and wrapped where it stands.

What cannot be looked into, such as a function that calls a model, is refused and never passed through unedited.

Prints on stdout:

    system  You sell tents.
    human   And is it dry inside?
    ai      Dry as a bone.
    human   How heavy is it?
    answer: Noted.
    refused: A RunnableLambda cannot be looked into, so its requests would go out unedited
"""

from typing import Any

from langchain_core.language_models import SimpleChatModel
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage
from langchain_core.output_parsers import StrOutputParser
from langchain_core.prompts import ChatPromptTemplate, MessagesPlaceholder
from langchain_core.runnables import RunnableLambda

from kedi_compile import HistoryConfigurationError
from kedi_langchain import LangChainAdapter


class Offline(SimpleChatModel):
    """Stand in for a model: show what came."""

    def _call(self, messages: list[BaseMessage], *_args: Any, **_kwargs: Any) -> str:
        for message in messages:
            print(f"{message.type:8}{message.text}")
        return "Noted."

    @property
    def _llm_type(self) -> str:
        return "offline"


model = Offline()  # for a real one: init_chat_model("openai:gpt-6-luna"), of langchain.chat_models
prompt = ChatPromptTemplate.from_messages(
    [("system", "You sell tents."), MessagesPlaceholder("history"), ("user", "{question}")]
)
adapter = LangChainAdapter(history_processor=lambda ctx: ctx.keep_recent_groups(1))
chain = adapter.wrap(prompt | model | StrOutputParser())

history = [
    HumanMessage("Is it green?"),
    AIMessage("As grass."),
    HumanMessage("And is it dry inside?"),
    AIMessage("Dry as a bone."),
]
print("answer:", chain.invoke({"history": history, "question": "How heavy is it?"}))

try:
    adapter.wrap(RunnableLambda(model.invoke))
except HistoryConfigurationError as error:
    print("refused:", str(error).partition(";")[0])
