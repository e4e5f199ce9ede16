"""A question to whoever drives a flow: the core asks, `history/drive.py` answers, with `await` or without.

A flow is a generator: it yields a `Question` for each user function it needs and is sent what that returned. So there
is one flow for every host, and no hand-written async twin of any rule.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

Callback = Literal["archive", "condition", "extraction", "inputs", "processor", "prompt"]
"""What a user function is for."""


@dataclass(frozen=True, slots=True)
class Question:
    """Call `function` with `argument` and send back what it returns."""

    callback: Callback
    function: Callable[[Any], Any]
    argument: object
