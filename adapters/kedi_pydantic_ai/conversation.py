"""One run as a turn of a conversation: the stored history in front of it, and the commit of what it leaves.

The history is put in front before the host builds the first request, so that system prompts, deferred tools and
resumed calls are the host's own business. Which lane it must be is only known when that request is made; if it is
another than the one that was used last, the history is exchanged then. Measured on pydantic-ai-slim 2.68.
"""

from __future__ import annotations

import copy
import weakref
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart
from pydantic_ai.models import ModelRequestContext
from pydantic_ai.tools import RunContext

from kedi_compile import ConversationError, ConversationState, HistoryConfigurationError
from kedi_compile.conversation.lanes import Lane, LaneKey
from kedi_compile.conversation.records import History
from kedi_compile.conversation.turns import Turn
from kedi_compile.history.carried import Carried
from kedi_pydantic_ai.dialect import DIALECT
from kedi_pydantic_ai.lanes import key_of
from kedi_pydantic_ai.origins import PartOrigins


def messages_of(state: ConversationState, key: LaneKey | None = None) -> list[ModelMessage]:
    """Return the messages of a conversation as they are committed now: a new list of the host's own objects.

    They are those of the lane that was used last with Pydantic AI, or of `key`, one of `state.lanes`; none where there
    is no such lane. A store is read, which may block.

    Raises:
        ConversationError: what is stored cannot be read.
    """
    lane = state.read(DIALECT.adapter_shortname, key)
    return [] if lane is None else list(lane.history.messages(DIALECT))


class ConversationRun:
    """A run of the host inside a turn."""

    def __init__(self, turn: Turn, origins: PartOrigins) -> None:
        self.turn = turn
        # The host may copy the capability that holds this, and drops all copies of a run that never begins.
        weakref.finalize(self, turn.release_unstarted).atexit = False
        self._origins = origins
        self._in_front: Lane[ModelMessage] | None = None
        self._lane: Lane[ModelMessage] | None = None

    def put_in_front(self, ctx: RunContext[Any]) -> None:
        """Put the lane used last in front of a run that begins; a history of the caller's own begins a conversation.

        Raises:
            HistoryConfigurationError: the caller gave a history beside a conversation that has one.
        """
        latest = self.turn.ledger.latest(DIALECT.adapter_shortname)
        if latest is None or not len(latest.history):
            return
        if ctx.messages:
            msg = (
                f"This run was given {len(ctx.messages)} messages of history inside a conversation that has "
                f"{latest.turns} turns of its own; leave `message_history` out, or use `history_scope(enabled=False)`"
            )
            raise HistoryConfigurationError(msg)
        self._in_front = latest
        ctx.messages[:] = self._messages(latest)

    @property
    def is_settled(self) -> bool:
        """Whether the run's lane is known."""
        return self._lane is not None

    @property
    def lane_note(self) -> str | None:
        """Say which lane the run goes on in; None before that is known."""
        return None if self._lane is None else self.turn.ledger.lane_note(self._lane.key)

    async def settle(self, ctx: RunContext[Any], request: ModelRequestContext) -> Carried:
        """Find the run's lane at its first request, and exchange the history in front if it is another's.

        Raises:
            ConversationError: the request answers calls of the history that would have to go.
        """
        key = key_of(ctx, request)
        lane = self._lane = self.turn.ledger.lane(key)
        if self._in_front is not None and self._in_front.key != key:
            await self._exchange(ctx, request, lane)
        return lane.carried

    def committed(
        self, messages: Sequence[ModelMessage], run_id: str | None, carried: Carried
    ) -> Lane[ModelMessage] | None:
        """Return the lane as this run leaves it.

        A run that made no request, because another capability answered in its place, goes on in the lane in front of
        it; None where there is none, since nothing tells the lane.
        """
        self._origins.remember([message for message in messages if message.run_id == run_id])
        history = History(messages, DIALECT)
        if self._lane is not None:
            return self._lane.after_turn(history, replace(carried, may_warn=True))
        return None if self._in_front is None else self._in_front.after_turn(history, self._in_front.carried)

    def _messages(self, lane: Lane[ModelMessage]) -> tuple[ModelMessage, ...]:
        return lane.history.messages(DIALECT, self._origins.adopt)

    async def _exchange(self, ctx: RunContext[Any], request: ModelRequestContext, lane: Lane[ModelMessage]) -> None:
        current = ctx.messages[-1]
        if DIALECT.describe(current).results:
            msg = (
                "This run answers tool calls of the conversation under another model, tools, settings or output than "
                "they were made under; run it as the turn that made them was run"
            )
            raise ConversationError(msg, session_id=self.turn.state.session_id)
        assert isinstance(current, ModelRequest)  # a run that begins with a prompt has made one
        prompts = await self._system_prompts(ctx)
        history = [_with_current(message, prompts) for message in self._messages(lane)]
        if not history:
            current.parts = [*prompts, *(part for part in current.parts if not isinstance(part, SystemPromptPart))]
        added = [message for message in request.messages if all(message is not one for one in ctx.messages)]
        ctx.messages[:] = [*history, current]
        request.messages = [*history, *added, current]

    async def _system_prompts(self, ctx: RunContext[Any]) -> list[SystemPromptPart]:
        if ctx.agent is None:
            return []
        return await ctx.agent.system_prompt_parts(deps=ctx.deps, model=ctx.model, prompt=ctx.prompt, usage=ctx.usage)  # type: ignore[arg-type]  # a realtime session makes no model request


def _with_current(message: ModelMessage, prompts: Sequence[SystemPromptPart]) -> ModelMessage:
    """The message with its dynamic system prompts as they are now; the given one is left alone."""
    current = {part.dynamic_ref: part for part in prompts if part.dynamic_ref}
    if not isinstance(message, ModelRequest) or not any(
        isinstance(part, SystemPromptPart) and part.dynamic_ref in current for part in message.parts
    ):
        return message
    renewed = copy.copy(message)
    renewed.parts = [
        current.get(part.dynamic_ref or "", part) if isinstance(part, SystemPromptPart) else part
        for part in message.parts
    ]
    return renewed
