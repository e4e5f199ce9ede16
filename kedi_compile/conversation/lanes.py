"""A conversation's lanes: which inputs must agree for a history to go on, and what a lane holds.

The rule: a turn continues the lane of its own key and no other. The key is the adapter, the model, the settings that
shape prompt or reasoning, the MCP servers, the tools' names and schemas, and the output's schema; sampling and
transport settings are no part of it. Nothing is translated between lanes. Source: History specification, Stateful
Conversation History.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any, Final, Generic, TypeVar

from kedi_compile.canonical import digest
from kedi_compile.conversation.records import History
from kedi_compile.history.carried import Carried

MessageT = TypeVar("MessageT")

SAMPLING: Final = frozenset({
    "frequency_penalty", "logit_bias", "logprobs", "max_completion_tokens", "max_output_tokens", "max_tokens",
    "metadata", "n", "presence_penalty", "repetition_penalty", "seed", "stop", "stop_sequences", "temperature", "top_k",
    "top_logprobs", "top_p",
})  # fmt: skip
"""Settings that choose among answers to the same prompt."""

TRANSPORT: Final = frozenset({
    "extra_headers", "max_retries", "parallel_tool_calls", "request_timeout", "service_tier", "store", "stream",
    "stream_options", "streaming", "timeout", "tool_choice", "user",
})  # fmt: skip
"""Settings that say how a request travels, or what one step may call."""


@dataclass(frozen=True, slots=True)
class LaneKey:
    """What must agree for a stored history to be continued; the last four are digests of what they name."""

    adapter: str
    model: str
    settings: str = ""
    servers: str = ""
    tools: str = ""
    output: str = ""

    def differences(self, other: LaneKey) -> tuple[str, ...]:
        """Name what does not agree."""
        return tuple(one.name for one in fields(self) if getattr(self, one.name) != getattr(other, one.name))


def lane_key(
    adapter: str,
    model: str,
    *,
    settings: Mapping[str, Any],
    servers: Iterable[str] = (),
    tools: Iterable[object] = (),
    output: object = None,
) -> LaneKey:
    """Make a key of plain values.

    `settings` may still hold sampling and transport settings. The order of settings, servers and tools means nothing.
    """
    shaping = {name: value for name, value in settings.items() if name not in SAMPLING | TRANSPORT}
    return LaneKey(
        adapter,
        model,
        _digest_of(sorted(shaping.items(), key=lambda item: item[0])),
        _digest_of(sorted(servers)),
        _digest_of(sorted(digest(tool) for tool in tools)),
        _digest_of(output),
    )


def _digest_of(value: object) -> str:
    return digest(value).hex() if value not in ([], None) else ""


@dataclass(frozen=True, slots=True)
class Lane(Generic[MessageT]):
    """The committed turns of one key: native messages, generation, measured usage, and how many turns they were."""

    key: LaneKey
    history: History[MessageT]
    carried: Carried = Carried()  # noqa: RUF009  # a frozen value
    turns: int = 0

    def after_turn(self, history: History[MessageT], carried: Carried) -> Lane[MessageT]:
        """Return the lane as one more turn leaves it."""
        return replace(self, history=history, carried=carried, turns=self.turns + 1)
