"""What was measured, before rows are read off it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field


@dataclass
class Samples:
    """All samples over one history: reference passes, deep copies, and the requests of each case."""

    count: int
    json_bytes: int = 0
    reference: list[float] = field(default_factory=list)
    deepcopy: list[float] = field(default_factory=list)
    requests: dict[str, list[list[dict[str, float]]]] = field(default_factory=lambda: defaultdict(list))
    """By case: a list of runs, each a list of requests, each the seconds by account."""


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of the history, and bytes held beyond it and at most needed during a request."""

    history: int
    held: int
    peak: int
