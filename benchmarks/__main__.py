"""`python -m benchmarks [--smoke] [--json PATH]`: measure, print the table, and write it as JSON."""

from __future__ import annotations

import argparse
import asyncio
import gc
import sys
from dataclasses import dataclass
from pathlib import Path

from benchmarks import cases, rows
from benchmarks.measure import loop_times, sample
from benchmarks.memory import measure_memory
from benchmarks.neighbours import neighbour_cases
from benchmarks.report import Report, environment


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    count: int = 1_000
    rounds: int = 15
    large: int = 10_000
    large_rounds: int = 4
    requests: int = 400
    loops: int = 3


SMOKE = Plan(count=40, rounds=1, large=80, large_rounds=1, requests=8, loops=1)


async def measure(plan: Plan) -> Report:
    """Take all samples and return the rows."""
    gc.freeze()  # what is imported by now need not be walked by the collections between samples
    small = await sample([*cases.OURS, *neighbour_cases()], plan.count, plan.rounds)
    ours = rows.rows_of_ours(small)
    large = await sample(cases.OURS, plan.large, plan.large_rounds)
    loop = rows.loop_row(await loop_times(plan.count, plan.requests, plan.loops), plan.requests)
    memory = rows.memory_rows(await measure_memory(plan.count))
    return Report(
        environment(),
        (small, large),
        {
            "kedi-compile": [*ours, loop, *memory],
            f"kedi-compile, {plan.large:,} messages against {plan.count:,}": rows.scale_rows(
                ours, rows.rows_of_ours(large)
            ),
            "neighbours": rows.timed_rows(rows.NEIGHBOURS, small),
        },
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the program and return its exit code; a goal that is missed is no failure."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure what history processing costs.")
    parser.add_argument("--smoke", action="store_true", help="run everything once on a tiny history: does it work?")
    parser.add_argument("--json", type=Path, metavar="PATH", help="write the measured rows to this file as well")
    options = parser.parse_args(arguments)
    report = asyncio.run(measure(SMOKE if options.smoke else Plan()))
    print(report.table())
    if options.json:
        options.json.write_text(report.json(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
