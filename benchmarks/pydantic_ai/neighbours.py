"""Other packages' capabilities on the same work; each is left out if its package is not installed."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version

from benchmarks.cases import NEVER, PROCESS_HISTORY, Case
from benchmarks.host import Capability

HARNESS = "pydantic-ai-harness"
SUMMARIZATION = "summarization-pydantic-ai"


def installed() -> dict[str, str | None]:
    """Return each neighbour's version, or None if it is not there."""
    return {package: _version(package) for package in (HARNESS, SUMMARIZATION)}


def neighbour_cases() -> list[Case]:
    """Return the cases of the installed neighbours; the host's own `ProcessHistory` is always there."""
    present = installed()
    cases = [PROCESS_HISTORY]
    if present[HARNESS]:
        cases += [Case("harness trigger", _harness(NEVER)), Case("harness keep 20", _harness(1))]
    if present[SUMMARIZATION]:
        cases += [
            Case("summarization trigger", _summarization(NEVER)),
            Case("summarization keep 20", _summarization(1)),
        ]
    return cases


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _harness(trigger: int) -> Callable[[], Capability]:
    make = import_module("pydantic_ai_harness.compaction").SlidingWindowCompaction
    return partial(make, max_tokens=trigger, keep_messages=20)


def _summarization(trigger: int) -> Callable[[], Capability]:
    make = import_module("pydantic_ai_summarization.capability").SlidingWindowCapability
    return partial(make, trigger=("tokens", trigger), keep=("messages", 20))
