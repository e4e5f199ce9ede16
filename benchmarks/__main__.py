"""`python -m benchmarks [--only NAME] [--smoke] [--json PATH]`: measure, and print a table for each of its names."""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks import assembly, conversation, rows, stacks, turn
from benchmarks.measure import loop_times, sample
from benchmarks.memory import measure_memory
from benchmarks.report import Table, as_json, environment
from benchmarks.samples import Samples
from benchmarks.stacks import Stack


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    count: int = 1_000
    rounds: int = 15
    large: int = 10_000
    large_rounds: int = 4
    requests: int = 400
    loops: int = 3
    load: assembly.Load = assembly.WHOLE


NAMES = (*stacks.NAMES, turn.NAME, conversation.NAME, assembly.NAME)
SMOKE = Plan(count=40, rounds=1, large=80, large_rounds=1, requests=8, loops=1, load=assembly.TINY)


def table_of(name: str, plan: Plan) -> Table:
    """Measure one of `NAMES`."""
    if name == turn.NAME:
        return turn.measure(plan.count, plan.rounds, plan.large, plan.large_rounds)
    if name == conversation.NAME:
        return conversation.measure(plan.count, plan.rounds)
    if name == assembly.NAME:
        return assembly.measure(plan.rounds, plan.load)
    return asyncio.run(measure(stacks.load(name), plan))


async def measure(stack: Stack, plan: Plan) -> Table:
    """Take all samples of one framework and return its table."""
    gc.freeze()  # what is imported by now need not be walked by the collections between samples
    ours = [case for way in stack.ways for case in way.cases]
    small = await sample(stack, [*ours, *stack.neighbours.cases], plan.count, plan.rounds)
    large = await sample(stack, ours, plan.large, plan.large_rounds)
    sections = {way.title: rows.read_rows(way.rows, small) for way in stack.ways}
    sections["the whole run"] = await _whole_rows(stack, plan, small)
    for way in stack.ways:
        grown = rows.scale_rows(sections[way.title], rows.read_rows(way.rows, large))
        sections[f"{way.title}, {plan.large:,} messages against {plan.count:,}"] = grown
    sections[stack.neighbours.title] = rows.read_rows(stack.neighbours.rows, small)
    return Table(stack.versions(), (small, large), sections)


async def _whole_rows(stack: Stack, plan: Plan, small: Samples) -> list[rows.Row]:
    loops = await loop_times(stack, plan.count, plan.requests, plan.loops)
    memory = await measure_memory(stack, plan.count)
    return [rows.copy_row(small), rows.loop_row(loops, plan.requests), *rows.memory_rows(memory)]


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code; a goal that is missed is no failure."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks", description="Measure what editing and compiling cost."
    )
    parser.add_argument("--only", choices=NAMES, metavar="NAME", help=f"one of {', '.join(NAMES)}")
    parser.add_argument("--smoke", action="store_true", help="run everything once on a tiny history: does it work?")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the measured rows to this file as well")
    options = parser.parse_args(arguments)
    print(*(f"{name} {value}" for name, value in environment().items()), sep="\n")
    tables = {}
    for name in [options.only] if options.only else NAMES:
        tables[name] = table_of(name, SMOKE if options.smoke else Plan())
        print("", tables[name].text(), sep="\n", flush=True)
    if options.json:
        options.json.write_text(as_json(tables), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
