"""Draws the demo for a person at a terminal of 80 columns; every number on it was computed in this run.

The order is the story: the groups before the edit, what the edit did, what a careless slice gets, the proof that the
edited request is what was sent. `run` is what the command calls.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Final

from pydantic_ai.exceptions import AgentRunError
from pydantic_ai.messages import ModelResponse, ToolCallPart, UserPromptPart
from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from kedi_compile import KediError, ProtectedReason
from kedi_compile.demo.performance import KEEP, OVER, SLICE, Edit, Performance, Refusal, SeenGroup, perform, provoke
from kedi_compile.demo.proof import Check, Compared, check_all, compare
from kedi_compile.demo.replay import Recording, load_recording

_HEADLINE: Final = "A real agent edits its history before a request, and proves what was sent."
_DECISION: Final = {True: Text("kept", "bold green"), False: Text("dropped", "red")}
_STATES: Final = {"current": "cyan", "closed": "", "open": "yellow"}


def run(out: Console, err: Console, recording: Recording | None = None) -> int:
    """Run the demo and return its exit status: 1 if the edit or the replay failed, or a claim does not hold."""
    recording = recording or load_recording()
    try:
        seen, refused = perform(recording), provoke(recording)
    except (AgentRunError, KediError) as error:
        err.print(Text(f"The demo failed: {error}", "red"))
        return 1
    if not len(seen.edits) == len(seen.sent) == len(recording.exchanges):
        requests = f"{len(seen.edits)} edits and {len(seen.sent)} requests for {len(recording.exchanges)} recorded ones"
        err.print(Text(f"The demo failed: the agent made {requests}", "red"))
        return 1
    checks = check_all(recording, seen, refused)
    _draw(out, recording, seen, refused, checks)
    for check in checks:
        if not check.holds:
            err.print(Text(f"The demo failed: it is not true that {check.claim}", "red"))
    return 0 if all(check.holds for check in checks) else 1


def _draw(out: Console, recording: Recording, seen: Performance, refused: Refusal, checks: Sequence[Check]) -> None:
    edit, (refusal_checks, sent_checks) = seen.edits[0], (checks[:2], checks[2:])
    out.print(Text(_HEADLINE, "bold"))
    heading(out, f"history_processor=lambda ctx: ctx.keep_recent_groups({KEEP}, over={OVER})")
    out.print(_groups(edit))
    out.print(_figures(out, seen))
    heading(out, f"a careless slice instead: list(ctx.messages)[-{SLICE}:]")
    out.print(*_error_lines(refused), sep="\n")
    print_checks(out, refusal_checks)
    heading(out, "what was validated, and what the transport was given")
    out.print(_comparison(out, compare(edit, seen.sent[0])[0]))
    print_checks(out, sent_checks)
    out.print()
    out.print(Text.assemble(("The agent: ", "bold"), seen.answer))
    out.print(Text(f"Recorded from {recording.recorded_from}.", "dim"))


def heading(out: Console, title: str) -> None:
    """Draw a title with a rule behind it."""
    out.print()
    out.print(Rule(Text(title, "bold"), align="left", style="dim"))


def _groups(edit: Edit) -> Table:
    table = plain_table(padding=(0, 0, 0, 0), expand=True)
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("id", no_wrap=True)
    table.add_column("holds", no_wrap=True)
    table.add_column("begins with", no_wrap=True, ratio=1)
    table.add_column("entries", justify="right", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("state", no_wrap=True)
    table.add_column("protected by", no_wrap=True)
    table.add_column("edit", no_wrap=True)
    for index, seen in enumerate(edit.groups):
        table.add_row(*_group_row(index, seen), style="" if seen.kept else "dim")
    return table


def plain_table(*, padding: tuple[int, int, int, int], expand: bool) -> Table:
    """Return an empty table without a frame."""
    return Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=padding,
        expand=expand,
        header_style="dim",
        border_style="dim",
    )


def _group_row(index: int, seen: SeenGroup) -> Iterable[Text]:
    group = seen.group
    yield Text(str(index), "dim")
    yield Text(group.group_id)
    yield Text(_holds(seen))
    yield Text(_first_words(seen))
    yield Text(f"{group.entry_start}:{group.entry_end}")
    yield Text(f"{seen.tokens:,}")
    yield Text(seen.state, _STATES.get(seen.state, "dim"))
    yield Text("\n".join(sorted(group.protected_reasons)), "yellow")
    yield _DECISION[seen.kept]


def _holds(seen: SeenGroup) -> str:
    """Say what a group is made of: system text, tool calls (at once, where a response has several), or text."""
    if ProtectedReason.SYSTEM in seen.group.protected_reasons:
        return "system"
    calls = [
        sum(isinstance(part, ToolCallPart) for part in message.parts)
        for message in seen.messages
        if isinstance(message, ModelResponse)
    ]
    most = max(calls, default=0)
    return "text" if most == 0 else "call" if most == 1 else f"{most} calls"


def _first_words(seen: SeenGroup) -> str:
    prompts = (part for message in seen.messages for part in message.parts if isinstance(part, UserPromptPart))
    return str(next(prompts).content)


def _figures(out: Console, seen: Performance) -> Text:
    before, after = seen.edits
    kept = sum(group.kept for group in before.groups)
    saved = 1 - before.tokens_after / before.ctx.estimated_tokens
    measured = "unknown" if after.measured_tokens is None else f"{after.measured_tokens:,}"
    to = _glyph(out, "→", "->")
    return Text.assemble(
        "\nkept ", (str(kept), "bold green"), ", dropped ", (str(len(before.groups) - kept), "bold red"),
        f" of {len(before.groups)} groups; cache_epoch ",
        (f"{before.ctx.cache_epoch} {to} {after.ctx.cache_epoch}", "bold"),
        "\nestimated tokens of the history ", (f"{before.ctx.estimated_tokens:,} {to} {before.tokens_after:,}", "bold"),
        f" ({saved:.0%} less)",
        "\nmeasured tokens of request 2: ", (measured, "bold"), " expected, ",
        (f"{seen.reported[1]:,}", "bold"), " reported by the provider",
    )  # fmt: skip


def _error_lines(refused: Refusal) -> Iterable[Padding]:
    if refused.error is None:
        return
    head, *rules = str(refused.error).splitlines()
    yield Padding(Text(f"{type(refused.error).__name__}\n{head}", "red"), 0, expand=False)
    for line in rules:
        name, _, detail = line.strip().partition(": ")
        yield Padding(Text.assemble((f"{name}: ", "bold red"), detail), (0, 0, 0, 2), expand=False)


def _comparison(out: Console, rows: Sequence[Compared]) -> Table:
    table = plain_table(padding=(0, 2, 0, 0), expand=False)
    for name in ("id", "pieces", "validated", "sent in request 1", ""):
        table.add_column(name, justify="right" if name == "pieces" else "left")
    for row in rows:
        table.add_row(row.group_id, str(row.pieces), row.validated, row.sent, _mark(out, holds=row.agrees))
    return table


def print_checks(out: Console, checks: Iterable[Check]) -> None:
    """Draw a line for each check."""
    out.print()
    for check in checks:
        out.print(Text.assemble(_mark(out, holds=check.holds), " ", check.claim))


def _mark(out: Console, *, holds: bool) -> Text:
    return Text(_glyph(out, "✓", "ok"), "bold green") if holds else Text(_glyph(out, "✗", "NO"), "bold red")


def _glyph(out: Console, glyph: str, plain: str) -> str:
    return plain if out.options.ascii_only else glyph
