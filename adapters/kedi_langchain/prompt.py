"""The content of the newest message, where that is the user's, as everything sees it once it was edited.

`user_prompt_submit` edits it, and then a request compiler takes out what was meant for the interface.
"""

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import Any

from langchain_core.messages import BaseMessage, HumanMessage

from kedi_compile import AssemblyError
from kedi_compile.assembly.ui_tokens import UiTokens
from kedi_compile.history.drive import drive, drive_sync
from kedi_compile.history.prompt import UserPromptSubmit, submit
from kedi_compile.question import Question
from kedi_langchain.blocks import Content
from kedi_langchain.pauses import letting_the_graph_pause


class PromptHook:
    """What an adapter does to the newest prompt, or nothing."""

    def __init__(self, function: UserPromptSubmit | None, owner: object, tokens: UiTokens | None = None) -> None:
        self._function = function
        self._owner = owner
        self._tokens = tokens

    @property
    def is_set(self) -> bool:
        """Whether there is anything to do to a prompt."""
        return self._function is not None or self._tokens is not None

    def edit(self, message: BaseMessage) -> BaseMessage:
        """Return a copy of the user's message with the content to use, on a synchronous path."""
        with letting_the_graph_pause():
            content = drive_sync(self._submitted(message.content), self._owner)
        return message.model_copy(update={"content": content})

    async def aedit(self, message: BaseMessage) -> BaseMessage:
        """Do what `edit` does on an asynchronous path."""
        with letting_the_graph_pause():
            content = await drive(self._submitted(message.content), self._owner)
        return message.model_copy(update={"content": content})

    def newest(self, messages: Sequence[BaseMessage]) -> BaseMessage | None:
        """Return the message to edit, if there is anything to do and the newest message is the user's."""
        newest = messages[-1] if messages and isinstance(messages[-1], HumanMessage) else None
        return newest if newest is not None and self._has_a_say(newest.content) else None

    def _has_a_say(self, content: Content) -> bool:
        if self._function is not None:
            return True
        return self._tokens is not None and _cleaned(content, self._tokens) != content

    def _submitted(self, given: Content) -> Generator[Question, object, Content]:
        content = given if self._function is None else (yield from submit(self._function, given))
        return content if self._tokens is None else _not_empty(content, _cleaned(content, self._tokens))


def without_ui_tokens(message: BaseMessage, tokens: UiTokens) -> BaseMessage:
    """Return a message as a model may see it: one of the user's that was kept with tokens goes out without them.

    Where nothing would be left, they are quoted. Any other message, and one without tokens, is the same object.
    """
    if not isinstance(message, HumanMessage):
        return message
    content = _cleaned(message.content, tokens)
    if content == message.content:
        return message
    if all(map(_is_blank, [content] if isinstance(content, str) else content)):
        content = _quoted(message.content, tokens)
    return message.model_copy(update={"content": content})


def _quoted(content: Content, tokens: UiTokens) -> Content:
    if isinstance(content, str):
        return tokens.escape(content).text
    texts = [block if isinstance(block, str) else str(block.get("text", "")) for block in content]
    return tokens.escape("\n".join(texts)).text


def _cleaned(content: Content, tokens: UiTokens) -> Content:
    """The content without what was meant for the interface."""
    if isinstance(content, str):
        return tokens.clean(content).text
    blocks = [(block, _cleaned_block(block, tokens)) for block in content]
    return [new for old, new in blocks if new == old or not _is_blank(new)]


def _cleaned_block(block: str | dict[Any, Any], tokens: UiTokens) -> str | dict[Any, Any]:
    if isinstance(block, str):
        return tokens.clean(block).text
    text = block.get("text")
    if block.get("type") != "text" or not isinstance(text, str):
        return block
    return {**block, "text": tokens.clean(text).text}


def _is_blank(block: str | dict[Any, Any]) -> bool:
    text = block.get("text") if isinstance(block, dict) and block.get("type") == "text" else block
    return isinstance(text, str) and not text.strip()


def _not_empty(given: Content, content: Content) -> Content:
    if content != given and all(map(_is_blank, [content] if isinstance(content, str) else content)):
        msg = f"The user's message is {str(given)[:80]!r}, all for the interface; there is nothing to ask a model"
        raise AssemblyError(msg)
    return content
