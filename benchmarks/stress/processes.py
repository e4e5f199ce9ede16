"""Several processes on one conversation, and processes that are killed while they write."""

from __future__ import annotations

import random
import subprocess
import sys
from collections.abc import Iterable, Sequence

from benchmarks.stress.crowd import stored_texts
from benchmarks.stress.turns import texts_of
from kedi_compile import ConversationState
from kedi_compile.conversation import SQLConversationStore

LIMIT_S = 180.0
"""Seconds in which a worker must have ended."""


def _worker(stack: str, address: str, session: str, name: str, count: int) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "benchmarks.stress.worker", stack, address, session, name, str(count)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True)  # noqa: S603  # our own program


def together(stack: str, address: str, workers: int, count: int) -> None:
    """Let several processes make `count` turns each, and check that each turn is there once and whole.

    Raises:
        AssertionError: something is missing, doubled, torn apart, or out of a worker's own order.
    """
    session = f"together-{stack}"
    running = [_worker(stack, address, session, f"w{number}", count) for number in range(workers)]
    for worker in running:
        worker.communicate(timeout=LIMIT_S)
        _expect(worker.returncode == 0, f"a worker ended with {worker.returncode}")
    prompts = whole_turns(stack, address, session)
    for number in range(workers):
        own = [prompt for prompt in prompts if prompt.endswith(f"w{number}")]
        _expect(own == [f"{turn} of w{number}" for turn in range(count)], f"worker {number} left {own}")
    _expect(len(prompts) == workers * count, f"{len(prompts)} turns, not {workers * count}")


def killed(stack: str, address: str, times: int, seed: int) -> None:
    """Kill a writing process again and again, and check that what it said was committed is there, and whole.

    Raises:
        AssertionError: a committed turn is lost, or half of one is visible.
    """
    session, chance, said = f"killed-{stack}", random.Random(seed), []  # noqa: S311  # repeatable, not secret
    for number in range(times):
        worker = _worker(stack, address, session, f"k{number}", 1_000)
        assert worker.stdout is not None  # it was asked for
        said += [worker.stdout.readline().strip() for _ in range(chance.randint(1, 12))]
        worker.kill()
        worker.wait(LIMIT_S)
        said += [line.strip() for line in worker.stdout]
        worker.stdout.close()
        prompts = whole_turns(stack, address, session)
        _expect(_is_subsequence(said, prompts), f"said {said}, found {prompts}")
        _expect(len(prompts) <= len(said) + number + 1, f"{len(prompts)} turns of {len(said)} said")


def whole_turns(stack: str, address: str, session: str) -> list[str]:
    """Return the prompts of a stored conversation, all of whose turns are whole.

    Raises:
        AssertionError: one is not.
    """
    with SQLConversationStore(address) as store:
        found = stored_texts(stack, ConversationState(session, store))
    prompts = found[::4]
    _expect(found == [text for prompt in prompts for text in texts_of(prompt)], "a turn is torn apart")
    return prompts


def _is_subsequence(some: Sequence[str], all_of: Iterable[str]) -> bool:
    left = iter(all_of)
    return all(one in left for one in some)


def _expect(holds: bool, otherwise: str) -> None:  # noqa: FBT001  # an assertion that `-O` does not drop
    if not holds:
        raise AssertionError(otherwise)
