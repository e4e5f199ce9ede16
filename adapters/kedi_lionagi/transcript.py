"""A stream of LionAGI's chunks as LionAGI's messages.

Text is collected until a call interrupts it or the stream ends. What a chunk does stands in one table; a chunk of a
kind that is not in it (a result's usage, for one) is no message.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from kedi_compile import TurnStreamError
from kedi_lionagi.host import answer_with


@dataclass(frozen=True, slots=True)
class Entry:
    """A message of LionAGI, and the arguments with which its manager adds it to a branch."""

    message: Any
    added_as: Mapping[str, Any]


class Transcript:
    """The messages of one streamed turn, in the order they came, and the provider's session, if it named one."""

    def __init__(self, branch: Any) -> None:
        self._branch = branch
        self.session_id: str | None = None
        self._text: list[str] = []
        self._thinking: list[str] = []
        self._calls: dict[str, Any] = {}
        self.entries: list[Entry] = []
        self._cases: dict[str, Callable[[Any], None]] = {
            "system": self._note_session,
            "text": lambda chunk: self._text.append(chunk.content or ""),
            "thinking": lambda chunk: self._thinking.append(chunk.content or ""),
            "tool_use": self._call,
            "tool_result": self._result,
            "error": self._fail,
        }

    def take(self, chunk: Any) -> list[Any]:
        """Take a chunk in, and return the messages it completed."""
        known = len(self.entries)
        if (case := self._cases.get(chunk.type)) is not None:
            case(chunk)
        return [entry.message for entry in self.entries[known:]]

    def finish(self) -> list[Any]:
        """Return the answer that the end of the stream completed: an empty one, if calls were all there was.

        There must be one, or the next instruction would stand right behind this one.

        Raises:
            TurnStreamError: nothing came at all.
        """
        known = len(self.entries)
        self._answer()
        if not self.entries:
            raise TurnStreamError("it ended without an answer")
        if not any("assistant_response" in entry.added_as for entry in self.entries):
            self._add_answer("")
        return [entry.message for entry in self.entries[known:]]

    def _answer(self) -> None:
        if text := "".join(self._text):
            self._add_answer(text)

    def _add_answer(self, text: str) -> None:
        answer = answer_with(text, "\n".join(self._thinking), self._branch)
        self.entries.append(Entry(answer, {"assistant_response": answer}))
        self._text, self._thinking = [], []

    def _note_session(self, chunk: Any) -> None:
        if session := chunk.metadata.get("session_id"):
            self.session_id = session

    def _call(self, chunk: Any) -> None:
        self._answer()
        call = self._branch.msgs.create_action_request(
            function=chunk.tool_name or "",
            arguments=chunk.tool_input or {},
            sender=self._branch.id,
            recipient=self._branch.user or "user",
        )
        self._calls[chunk.tool_id or ""] = call
        self.entries.append(Entry(call, {"action_request": call}))

    def _result(self, chunk: Any) -> None:
        if (call := self._calls.pop(chunk.tool_id or "", None)) is None:
            return
        result = self._branch.msgs.create_action_response(
            action_request=call,
            action_output=chunk.tool_output,
            sender=self._branch.user or "user",
            recipient=self._branch.id,
        )
        if chunk.is_error:
            result.metadata["is_error"] = True
        added_as = {"action_request": call, "action_output": chunk.tool_output, "action_response": result}
        self.entries.append(Entry(result, added_as))

    def _fail(self, chunk: Any) -> None:
        if not {"benign_eos", "reconnect_notice"} & {name for name, value in chunk.metadata.items() if value}:
            raise TurnStreamError(chunk.content or "(no text)")
