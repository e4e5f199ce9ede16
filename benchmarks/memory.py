"""Memory the runtime holds beyond the history, as a share of what the history itself takes.

Measured with tracemalloc in the middle of a run that asks for every fact it can: the estimate, the measured tokens,
the digest of the history, and a processor that looks at groups. The history is parsed from JSON, so its texts are its
own. Held means: alive between two requests after a full garbage collection.
"""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from benchmarks.cases import State, adapter, keep_all
from benchmarks.histories import Author
from benchmarks.host import HostRun


@dataclass(frozen=True, slots=True)
class Memory:
    """Bytes of the history, and bytes held beyond it and at most needed during a request."""

    history: int
    held: int
    peak: int


async def measure_memory(count: int) -> Memory:
    """Measure one run over a history of `count` messages."""
    text = ModelMessagesTypeAdapter.dump_json(Author().history(count))
    await _two_requests(Author().history(8))  # whatever is made once in a process is made now
    tracemalloc.start()
    try:
        start = _traced()
        history = ModelMessagesTypeAdapter.validate_json(text)
        size = _traced() - start
        before, added = _traced(), len(history)
        tracemalloc.reset_peak()
        run = await _two_requests(history)
        peak = tracemalloc.get_traced_memory()[1] - before
        held = _traced() - before - _size_of_new(run.messages[added:])
        return Memory(size, held, peak)
    finally:
        tracemalloc.stop()


async def _two_requests(history: list[ModelMessage]) -> HostRun:
    run = HostRun(adapter(keep_all, _ask_everything), history, Author(2))
    for _ in range(2):
        await run.step()
    return run


def _ask_everything(state: State) -> bool:
    return bool(state.estimated_tokens and state.history_version) or bool(state.measured_tokens)


def _traced() -> int:
    gc.collect()
    return tracemalloc.get_traced_memory()[0]


def _size_of_new(messages: Sequence[ModelMessage]) -> int:
    """What messages of a loop take, which belong to the history and not to the runtime."""
    before = _traced()
    copies = ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(list(messages)))
    size = _traced() - before
    del copies
    return size
