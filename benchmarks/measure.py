"""Takes the samples: every round measures each case once, with a reference pass before it, all in one process.

A sample starts from deep copies of the messages and a new adapter, so that nothing the library remembers from another
sample can help it; making them is not timed. Cases take turns within a round, so a slow minute of the machine hits all.
"""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from benchmarks.clock import Reference, now, quiet
from benchmarks.samples import Samples
from benchmarks.stacks import Case, Stack


async def sample(stack: Stack, cases: Sequence[Case], count: int, rounds: int) -> Samples:
    """Measure the cases over a history of `count` messages; an extra first round is thrown away."""
    history = stack.history(count)
    reference = Reference(stack.plain(history))
    samples = Samples(count, reference.size)
    for number in range(rounds + 1):
        taken = await _round(cases, history, reference)
        if number:
            _extend(samples, taken)
    return samples


async def _round(cases: Sequence[Case], history: Sequence[Any], reference: Reference) -> Samples:
    taken = Samples(len(history))
    for case in cases:
        run = case.start(_copied(history, taken))
        with quiet():
            taken.reference.append(reference.seconds())
            taken.requests[case.name].append([await run.step() for _ in range(case.steps)])
    return taken


def _copied(history: Sequence[Any], taken: Samples) -> list[Any]:
    with quiet():
        start = now()
        messages = copy.deepcopy(list(history))
        taken.deepcopy.append(now() - start)
    return messages


def _extend(samples: Samples, taken: Samples) -> None:
    samples.reference += taken.reference
    samples.deepcopy += taken.deepcopy
    for name, runs in taken.requests.items():
        samples.requests[name] += runs


async def loop_times(stack: Stack, count: int, requests: int, runs: int) -> list[tuple[float, float]]:
    """Return, for each of `runs` tool loops, the seconds up to half of the requests and up to all of them."""
    return [await _loop(stack, count, requests) for _ in range(runs)]


async def _loop(stack: Stack, count: int, requests: int) -> tuple[float, float]:
    run = stack.loop.start(stack.history(count))
    with quiet():
        seconds = [sum((await run.step()).values()) for _ in range(requests)]
    return sum(seconds[: requests // 2]), sum(seconds)
