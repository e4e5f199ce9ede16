"""`user_prompt_submit` on LangChain: the content of the newest message, where that is the user's."""

from __future__ import annotations

from collections.abc import Sequence

from langchain_core.messages import BaseMessage, HumanMessage

from kedi_compile.history.drive import drive, drive_sync
from kedi_compile.history.prompt import UserPromptSubmit, submit


class PromptHook:
    """An adapter's prompt hook, or none."""

    def __init__(self, function: UserPromptSubmit | None, owner: object) -> None:
        self._function = function
        self._owner = owner

    @property
    def is_set(self) -> bool:
        """Whether there is one."""
        return self._function is not None

    def edit(self, message: BaseMessage) -> BaseMessage:
        """Return a copy of the user's message with the content to use, on a synchronous path."""
        assert self._function is not None  # asked before
        content = drive_sync(submit(self._function, message.content), self._owner)
        return message.model_copy(update={"content": content})

    async def aedit(self, message: BaseMessage) -> BaseMessage:
        """Do what `edit` does on an asynchronous path."""
        assert self._function is not None  # asked before
        content = await drive(submit(self._function, message.content), self._owner)
        return message.model_copy(update={"content": content})

    def newest(self, messages: Sequence[BaseMessage]) -> BaseMessage | None:
        """Return the message to ask the hook about, if it is set and the newest message is the user's."""
        return messages[-1] if self.is_set and messages and isinstance(messages[-1], HumanMessage) else None
