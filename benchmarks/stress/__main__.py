"""`python -m benchmarks.stress [--smoke]`: run everything on each store, and print what held and how long it took."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from uuid import uuid4

from sqlalchemy import create_engine, text

from benchmarks.stress.crowd import many_conversations, one_conversation
from benchmarks.stress.processes import killed, together
from benchmarks.stress.turns import STACKS
from kedi_compile.conversation import ConversationStore, MemoryConversationStore, SQLConversationStore


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is asked for."""

    turns: int = 64
    workers: int = 4
    turns_of_a_worker: int = 16
    kills: int = 10


SMOKE = Plan(turns=8, workers=2, turns_of_a_worker=3, kills=2)


@contextmanager
def addresses() -> Iterator[dict[str, str]]:
    """Yield the databases to run on, each empty: a file, and a schema of PostgreSQL where there is a server."""
    with tempfile.TemporaryDirectory() as folder:
        found = {"SQLite": f"sqlite:///{Path(folder) / 'stress.db'}"}
        server = os.environ.get("KEDI_POSTGRES")
        if server is None:
            yield found
            return
        schema = f"stress_{uuid4().hex}"
        engine = create_engine(server.replace("postgresql://", "postgresql+psycopg://", 1))
        with engine.begin() as connection:
            connection.execute(text(f"CREATE SCHEMA {schema}"))
        try:
            yield {**found, "PostgreSQL": f"{server}?options=-csearch_path%3D{schema}"}
        finally:
            with engine.begin() as connection:
                connection.execute(text(f"DROP SCHEMA {schema} CASCADE"))
            engine.dispose()


def _timed(name: str, work: Callable[[], object]) -> None:
    start = time.perf_counter()
    work()
    print(f"{name:64} held  {time.perf_counter() - start:6.1f} s", flush=True)


def _crowd(stack: str, name: str, store: ConversationStore | None, plan: Plan) -> None:
    _timed(
        f"{plan.turns} turns at once on one conversation, {name}, {stack}",
        lambda: asyncio.run(one_conversation(stack, store, plan.turns, seed=1)),
    )
    _timed(
        f"{plan.turns} conversations at once, {name}, {stack}",
        lambda: asyncio.run(many_conversations(stack, store, plan.turns, seed=2)),
    )


def _processes(stack: str, name: str, address: str, plan: Plan) -> None:
    _timed(
        f"{plan.workers} processes with {plan.turns_of_a_worker} turns each, {name}, {stack}",
        lambda: together(stack, address, plan.workers, plan.turns_of_a_worker),
    )
    _timed(f"a writer killed {plan.kills} times, {name}, {stack}", lambda: killed(stack, address, plan.kills, seed=3))


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code: an exception is a failure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stress", description="Put conversations under stress.")
    parser.add_argument("--smoke", action="store_true", help="a few turns of everything: does it run?")
    plan = SMOKE if parser.parse_args(arguments).smoke else Plan()
    for stack in STACKS:
        _crowd(stack, "no store", None, plan)
        _crowd(stack, "memory", MemoryConversationStore(), plan)
    with addresses() as databases:
        for stack, (name, address) in product(STACKS, databases.items()):
            with SQLConversationStore(address) as store:
                _crowd(stack, name, store, plan)
            _processes(stack, name, address, plan)
    return 0


if __name__ == "__main__":
    sys.exit(main())
