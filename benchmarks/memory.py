"""Memory the runtime holds beyond the history, as a share of what the history itself takes.

Measured with tracemalloc in the middle of a run that asks for every fact it can: the estimate, the measured tokens,
the digest of the history, and a processor that looks at groups. The history is parsed from JSON, so its texts are its
own. Held means: alive between two requests after a full garbage collection.
"""

from __future__ import annotations

import gc
import tracemalloc
from typing import Any

import orjson

from benchmarks.samples import Memory
from benchmarks.stacks import Run, Stack


async def measure_memory(stack: Stack, count: int) -> Memory:
    """Measure one run over a history of `count` messages."""
    text = _text(stack, stack.history(count))
    await _two_requests(stack, stack.history(8))  # whatever is made once in a process is made now
    tracemalloc.start()
    try:
        start = _traced()
        history = stack.parse(text)
        size = _traced() - start
        before, added = _traced(), len(history)
        tracemalloc.reset_peak()
        run = await _two_requests(stack, history)
        peak = tracemalloc.get_traced_memory()[1] - before
        held = _traced() - before - _size_of_new(stack, run.messages[added:])
        return Memory(size, held, peak)
    finally:
        tracemalloc.stop()


async def _two_requests(stack: Stack, history: list[Any]) -> Run:
    run = stack.asking.start(history)
    for _ in range(2):
        await run.step()
    return run


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _text(stack: Stack, messages: list[Any]) -> bytes:
    return orjson.dumps(stack.plain(messages))


def _size_of_new(stack: Stack, messages: list[Any]) -> int:
    """What messages of a loop take, which belong to the history and not to the runtime."""
    text = _text(stack, messages)
    before = _traced()
    copies = stack.parse(text)
    size = _traced() - before
    del copies
    return size
