"""One run of an agent inside a turn: what stands in front of its thread, and what it leaves.

Who begins and ends it is in `agent_turns.py` and `run_ends.py`. Measured on langchain-core 1.8, langgraph 1.2.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from langchain_core.messages import AIMessage, BaseMessage, RemoveMessage, ToolMessage
from langgraph.errors import GraphInterrupt
from langgraph.types import Command

from kedi_compile.conversation.lanes import Lane, LaneKey
from kedi_compile.conversation.scope import Scope
from kedi_compile.conversation.turns import Turn
from kedi_compile.history.carried import Carried
from kedi_langchain.continuation import without_response_id
from kedi_langchain.conversation import after_turn, refuse_repetition
from kedi_langchain.dialect import DIALECT
from kedi_langchain.editing import EditedRequest
from kedi_langchain.origins import ThreadOrigins


class AgentRun:
    """A run of an agent inside a turn; `front` are the conversation's messages, in front of the thread's own.

    `scope` is the one that it began in, also where its stream is read elsewhere.
    """

    def __init__(self, turn: Turn, scope: Scope) -> None:
        self.turn = turn
        self.scope = scope
        self.front: list[BaseMessage] = []
        self._lane: Lane[BaseMessage] | None = None
        self._thread: list[BaseMessage] = []
        self._results: dict[str, ToolMessage] = {}
        self._written: dict[str, BaseMessage] = {}
        self._carried = Carried()
        self._is_paused = False

    def settle(self, key: LaneKey, thread: Sequence[BaseMessage], origins: ThreadOrigins) -> Carried | None:
        """Find the run's lane at its first request and return what it carries; None at later ones.

        Raises:
            ConversationError: the thread repeats an answer of the conversation.
        """
        if self._lane is not None:
            return None
        lane = self._lane = self.turn.ledger.lane(key)
        stored = lane.history.messages(DIALECT, origins.adopt)
        refuse_repetition(stored, thread, self.turn)
        self.front = list(stored)
        return lane.carried

    @property
    def lane_note(self) -> str | None:
        """Say which lane the run goes on in; None before that is known."""
        return None if self._lane is None else self.turn.ledger.lane_note(self._lane.key)

    def answered(self, edited: EditedRequest, thread: Sequence[BaseMessage]) -> None:
        """Keep what an answered request left of the conversation, and the thread with its answer."""
        if edited.is_rewritten:
            self.front = [without_response_id(message) for message in edited.history[: edited.cut]]
        self._thread = list(thread)
        self._carried = edited.session.carried
        self.turn.on_failure(edited.session.undo_archives)

    def node_ended(self, outputs: object) -> None:
        """Keep the results of tools that a node wrote, and what it put in the place of other messages."""
        for written in outputs if isinstance(outputs, list) else [outputs]:
            update = written.update if isinstance(written, Command) else written
            found = update.get("messages") if isinstance(update, Mapping) else None
            messages = [one for one in found if isinstance(one, BaseMessage)] if isinstance(found, list) else []
            self._results |= {one.tool_call_id: one for one in messages if isinstance(one, ToolMessage)}
            self._written |= {one.id: one for one in messages if one.id}

    def node_failed(self, error: BaseException) -> None:
        """Remember whether the graph was paused: nothing can resume it, so its turn is not committed."""
        self._is_paused = self._is_paused or isinstance(error, GraphInterrupt)

    async def end(self, outputs: object) -> None:
        """Commit what the conversation and the whole thread are now; nothing, where no model was asked."""
        lane = self._left(outputs)
        if self.turn.is_open:
            await self.turn.end(lane)

    def end_sync(self, outputs: object) -> None:
        """Do what `end` does on a synchronous path."""
        lane = self._left(outputs)
        if self.turn.is_open:
            self.turn.end_sync(lane)

    def _left(self, outputs: object) -> Lane[BaseMessage] | None:
        if self._lane is None or self._is_paused:
            return None
        # What a caller asked the graph for need not hold the messages; then they are put together.
        found = outputs.get("messages") if isinstance(outputs, Mapping) else outputs
        thread = _messages(found) or self._put_together()
        return after_turn(self._lane, [*self.front, *thread], self._carried)

    def _put_together(self) -> list[BaseMessage]:
        """The thread of the last request with its answer, and the results of tools behind that."""
        last = self._thread[-1] if self._thread else None
        called = [call["id"] for call in last.tool_calls] if isinstance(last, AIMessage) else []
        whole = [*self._thread, *(self._results[one] for one in called if one in self._results)]
        newest = [self._written.get(one.id or "", one) for one in whole]
        return [one for one in newest if not isinstance(one, RemoveMessage)]


def _messages(found: object) -> list[BaseMessage]:
    """The messages of a list that holds nothing else; none for anything else."""
    held = [one for one in found if isinstance(one, BaseMessage)] if isinstance(found, list) else []
    return held if isinstance(found, list) and len(held) == len(found) else []
