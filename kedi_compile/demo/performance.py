"""Runs the demo's agent and keeps what there is to see: each edit as the callback saw it, each body as it was sent.

Two runs over one history: one whose processor keeps recent groups, one whose processor slices the list without
looking. Nothing is judged here; that is for `proof.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final

from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage
from pydantic_ai.run import AgentRunResult

from kedi_compile import (
    HistoryGroup,
    HistoryProcessingValidationError,
    HistoryProcessorContext,
    ProtectedReason,
)
from kedi_compile.demo.replay import Recording, ReplayTransport, replayed_model
from kedi_compile.demo.story import QUESTION, THINKING, hut_agent

Context = HistoryProcessorContext[ModelMessage]

KEEP: Final = 2
OVER: Final = 4
SLICE: Final = 4


def keep_recent(ctx: Context) -> list[ModelMessage]:
    """Keep the last two eligible groups once there are more than four."""
    return ctx.keep_recent_groups(KEEP, over=OVER)


def slice_carelessly(ctx: Context) -> list[ModelMessage]:
    """Keep the last four messages, whatever they are."""
    return list(ctx.messages)[-SLICE:]


@dataclass(frozen=True)
class SeenGroup:
    """One group of a history before the edit, and whether the edit kept it."""

    group: HistoryGroup
    messages: Sequence[ModelMessage]
    tokens: int
    kept: bool

    @property
    def state(self) -> str:
        """Where the group stands: current, closed, or open for a cycle without an end."""
        if ProtectedReason.CURRENT_REQUEST in self.group.protected_reasons:
            return "current"
        return "closed" if self.group.closed else "open"


@dataclass(frozen=True)
class Edit:
    """One call of the processor: what it was given and what it returned."""

    ctx: Context
    returned: Sequence[ModelMessage]
    measured_tokens: int | None

    @cached_property
    def groups(self) -> tuple[SeenGroup, ...]:
        """The groups before the edit, in order."""
        kept = set(map(id, self.returned))
        return tuple(self._see(group, kept) for group in self.ctx.groups)

    @property
    def tokens_after(self) -> int:
        """The estimated tokens of what was kept."""
        return sum(seen.tokens for seen in self.groups if seen.kept)

    def _see(self, group: HistoryGroup, kept: set[int]) -> SeenGroup:
        span = slice(group.entry_start, group.entry_end)
        messages = self.ctx.messages[span]
        tokens = sum(entry.estimated_tokens for entry in self.ctx.entries[span])
        return SeenGroup(group, messages, tokens, all(id(message) in kept for message in messages))


@dataclass
class Watched:
    """`keep_recent`, with a note of each edit."""

    edits: list[Edit] = field(default_factory=list[Edit])

    def __call__(self, ctx: Context) -> list[ModelMessage]:
        """Edit, and note it."""
        returned = list(keep_recent(ctx))
        self.edits.append(Edit(ctx, returned, ctx.measured_tokens))
        return returned


@dataclass(frozen=True)
class Performance:
    """All there is to see of a run of the agent: `reported` are the provider's input tokens of each request."""

    edits: Sequence[Edit]
    sent: Sequence[bytes]
    reported: Sequence[int]
    answer: str


def perform(recording: Recording) -> Performance:
    """Ask the question with a processor that keeps recent groups.

    Raises:
        AgentRunError: the agent asked for more than was recorded.
        HistoryProcessingError: the edit was refused.
    """
    transport, watched = ReplayTransport(recording.exchanges), Watched()
    agent = hut_agent(replayed_model(transport), watched)
    result = _ask(agent, recording)
    reported = [message.usage.input_tokens for message in result.new_messages() if message.kind == "response"]
    return Performance(watched.edits, transport.sent, reported, result.output)


@dataclass(frozen=True)
class Refusal:
    """What a careless slice gets: the error, None if nothing refused it, and the requests that went out."""

    error: HistoryProcessingValidationError | None
    sent: Sequence[bytes]


def provoke(recording: Recording) -> Refusal:
    """Ask the question with a processor that slices the list without looking."""
    transport = ReplayTransport(recording.exchanges)
    agent = hut_agent(replayed_model(transport), slice_carelessly)
    try:
        _ask(agent, recording)
    except HistoryProcessingValidationError as error:
        return Refusal(error, transport.sent)
    return Refusal(None, transport.sent)


def _ask(agent: Agent[object, str], recording: Recording) -> AgentRunResult[str]:
    """Run the agent in an event loop that is closed again, which the host's `run_sync` leaves to the process."""
    return asyncio.run(agent.run(QUESTION, message_history=recording.history, model_settings=THINKING))
