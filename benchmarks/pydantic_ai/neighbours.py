"""Other packages' capabilities on the same work; each is left out if its package is not installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module

from pydantic_ai.capabilities import ProcessHistory
from pydantic_ai.messages import ModelMessage

from benchmarks.callbacks import NEVER
from benchmarks.pydantic_ai.cases import case
from benchmarks.pydantic_ai.host import Capability
from benchmarks.rows import Timed
from benchmarks.stacks import Case, Way, installed
from benchmarks.table import FIRST, LATER

HARNESS = "pydantic-ai-harness"
SUMMARIZATION = "summarization-pydantic-ai"


async def _last_twenty(messages: list[ModelMessage]) -> list[ModelMessage]:
    return messages[-21:]  # twenty and the current request; this cut does not part a call from its result


def _cases() -> list[Case]:
    """The host's own `ProcessHistory` is always there; it keeps what it edits, so only a first request counts."""
    cases = [case("core keep 20", lambda: ProcessHistory(_last_twenty), steps=1)]
    if installed(HARNESS):
        cases += [case("harness trigger", _harness(NEVER)), case("harness keep 20", _harness(1))]
    if installed(SUMMARIZATION):
        cases += [
            case("summarization trigger", _summarization(NEVER)),
            case("summarization keep 20", _summarization(1)),
        ]
    return cases


def _harness(trigger: int) -> Callable[[], Capability]:
    make = import_module("pydantic_ai_harness.compaction").SlidingWindowCompaction
    return partial(make, max_tokens=trigger, keep_messages=20)


def _summarization(trigger: int) -> Callable[[], Capability]:
    make = import_module("pydantic_ai_summarization.capability").SlidingWindowCapability
    return partial(make, trigger=("tokens", trigger), keep=("messages", 20))


_ROWS = (
    Timed("ProcessHistory keep-last-20, first request", "core keep 20", FIRST),
    Timed("harness token trigger is false, first request", "harness trigger", FIRST),
    Timed("harness token trigger is false, later requests", "harness trigger", LATER),
    Timed("harness keep-last-20, first request", "harness keep 20", FIRST),
    Timed("harness keep-last-20, later requests", "harness keep 20", LATER),
    Timed("summarization token trigger is false, first request", "summarization trigger", FIRST),
    Timed("summarization token trigger is false, later requests", "summarization trigger", LATER),
    Timed("summarization keep-last-20, first request", "summarization keep 20", FIRST),
    Timed("summarization keep-last-20, later requests", "summarization keep 20", LATER),
)

NEIGHBOURS = Way("Pydantic AI, neighbours", _cases(), _ROWS)
