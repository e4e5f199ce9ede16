"""A stopwatch that always charges exactly one account, and the reference pass every time is divided by.

Times are processor seconds of the whole process: nothing measured here waits, and on a busy machine the wall clock
charges long samples for other programs' turns and short ones not. Garbage collection is off while something is timed,
as in `timeit`: a collection would be charged to whichever number it happens to fall into.
"""

from __future__ import annotations

import gc
import hashlib
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import orjson

now = time.process_time


class Stopwatch:
    """Seconds by account; `turn` stops the running account and starts another."""

    def __init__(self) -> None:
        self.seconds: defaultdict[str, float] = defaultdict(float)
        self._account = ""
        self._since = 0.0

    def turn(self, account: str) -> None:
        """Charge the time since the last turn to the account of then, and run `account` from now on."""
        passed = now() - self._since
        if self._account:
            self.seconds[self._account] += passed
        self._account = account
        self._since = now()


@contextmanager
def quiet() -> Iterator[None]:
    """Collect garbage now, and not again before the block ends."""
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


class Reference:
    """The pass that looks at every byte of a history once: sha256 over its plain form as JSON."""

    def __init__(self, plain: Any) -> None:
        self._plain = plain

    @property
    def size(self) -> int:
        """The bytes of the history as JSON."""
        return len(orjson.dumps(self._plain))

    def seconds(self) -> float:
        """Do the pass once and return what it took."""
        start = now()
        hashlib.sha256(orjson.dumps(self._plain)).digest()
        return now() - start
