"""Draws the demo of dumps for a person at a terminal of 80 columns; all of it is read back from the dump.

The order is the story: what went into each request, the answers, the proof, and how to ask the dump more. `run` is
what the command calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from pydantic_ai.exceptions import AgentRunError
from rich.console import Console
from rich.table import Table
from rich.text import Text

from kedi_compile import KediError
from kedi_compile.demo.desk_agent import DeskPerformance, perform
from kedi_compile.demo.desk_proof import check_desk, dumps_of
from kedi_compile.demo.proof import Check
from kedi_compile.demo.replay import Recording, load_recording
from kedi_compile.demo.show import heading, plain_table, print_checks
from kedi_compile.dump.schema import AssemblyDump, HistoryDump, RequestDump, SourceDump

DESK: Final = "desk.json"
"""The recording of the desk's runs."""
_HEADLINE: Final = "A real agent's requests are assembled, sent, and written down."
_STYLES: Final = {"passed": "green", "stale": "yellow", "active": "cyan", "refused": "red"}
_SEEN: Final = {"visible": "shown", "visible_earlier": "sent before"}


def run(out: Console, err: Console, dump: Path, recording: Recording | None = None) -> int:
    """Run the demo and return its exit status.

    It is 1 if a request or the replay failed, or a claim does not hold, and 2 if the dump is no new file.
    """
    if dump.exists():
        err.print(
            Text(f"{dump} is there already; name a new file, so that its requests are these alone"), soft_wrap=True
        )
        return 2
    recording = recording or load_recording(DESK)
    try:
        seen = perform(recording, dump)
    except (AgentRunError, KediError) as error:
        err.print(Text(f"The demo failed: {error}", "red"))
        return 1
    checks = check_desk(recording, seen, dump)
    _draw(out, recording, seen, dumps_of(dump), checks)
    _point_on(out, dump)
    for check in checks:
        if not check.holds:
            err.print(Text(f"The demo failed: it is not true that {check.claim}", "red"))
    return 0 if all(check.holds for check in checks) else 1


def _draw(
    out: Console, recording: Recording, seen: DeskPerformance, dumps: Sequence[RequestDump], checks: Sequence[Check]
) -> None:
    out.print(Text(_HEADLINE, "bold"))
    heading(out, "what went into each request, over three runs")
    out.print(_requests(dumps))
    out.print()
    for answer in seen.answers:
        out.print(Text.assemble(("The agent: ", "bold"), answer))
    print_checks(out, checks)
    out.print(Text(f"Recorded from {recording.recorded_from}.", "dim"))


def _requests(dumps: Sequence[RequestDump]) -> Table:
    table = plain_table(padding=(0, 1, 0, 0), expand=False)
    for name in ("#", "groups", "contracts", "steering", "check", "evidence", "tokens"):
        table.add_column(name, justify="right" if name in ("#", "tokens") else "left", no_wrap=True)
    for number, dump in enumerate(dumps, 1):
        is_last = number == len(dumps) or dumps[number].run_id != dump.run_id
        table.add_row(*_row(number, dump), end_section=is_last)
    return table


def _row(number: int, dump: RequestDump) -> Iterable[Text]:
    yield Text(str(number), "dim")
    yield Text(_history(dump.history), _STYLES.get(dump.outcome, ""))
    if dump.assembly is None:
        yield from (Text("-") for _ in range(5))
    else:
        yield from _assembled(dump.assembly)


def _assembled(assembly: AssemblyDump) -> Iterable[Text]:
    steering = assembly.steering[-1].state if assembly.steering else "-"
    check = assembly.proofs[-1].state if assembly.proofs else "-"
    yield Text("\n".join(contract.id for contract in assembly.contracts if contract.in_force))
    yield Text(steering, _STYLES.get(steering, ""))
    yield Text(check, _STYLES.get(check, ""))
    yield Text("\n".join(_evidence(assembly.sources)) or "-")
    yield Text(f"{assembly.budget.total:,}")


def _history(history: HistoryDump) -> str:
    left = sum(group.decision != "dropped" for group in history.groups)
    edited = "refused" if history.outcome == "refused" else f"{len(history.groups)} to {left}"
    return str(left) if history.outcome == "unchanged" else edited


def _evidence(sources: Iterable[SourceDump]) -> Iterable[str]:
    return (f"{source.identity} {_state(source)}" for source in sources)


def _state(source: SourceDump) -> str:
    if source.decision == "rehydrated":
        return "whole again"
    return _SEEN.get(source.visibility) or ("extracted" if source.decision == "compacted" else "left out")


def _point_on(out: Console, dump: Path) -> None:
    out.print()
    out.print(Text(f"Why did the model see this, and what was left out? Ask {dump}:", "bold"), soft_wrap=True)
    page = dump.with_suffix(".html")
    for command in (f"inspect {dump}", f"inspect {dump} --request 5", f"report {dump} -o {page}"):
        out.print(Text(f"  kedi-compile {command}"), soft_wrap=True)
