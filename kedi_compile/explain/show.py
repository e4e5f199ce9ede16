"""Draws an explanation for a person at a terminal of 80 columns, or through a pipe.

Texts, names and ids come from the history and may be anything: none is read as markup, and what cannot be printed is
shown as a replacement character. The values are in `explanation.py`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from rich import box
from rich.console import Console
from rich.padding import Padding
from rich.rule import Rule
from rich.table import Table
from rich.text import Text

from kedi_compile.errors import entries_text
from kedi_compile.explain.explanation import Ending, ExplainedEdit, ExplainedEntry, ExplainedGroup, Explanation, alike

_LONGEST: Final = 300
"""Characters that are shown of one name or sentence."""

_LISTED: Final = 12
"""How many groups, calls or entries a line names."""

_ENDINGS: Final[dict[Ending, str]] = {
    "request": "The history ends with its next request, so nothing was added; the last group is the current request.",
    "open_calls": "The history ends with open tool calls. The next request brings their results into the same group, "
    "so nothing was added; the last group is the current request.",
    "placeholder_added": "The history ends without a next request, so entry {added}, a placeholder for the next user "
    "message, was added. It is not in the file. Without it the last group would count as the current request.",
    "prompt_added": "Entry {added}, the prompt, was added as the next user message. It is not in the file.",
    "prompt_added_over_open_calls": "Entry {added}, the prompt, was added as the next user message. It is not in the "
    "file, and tool calls before it are open: a host or provider may refuse it until they have results.",
}

_OUTCOMES: Final = {
    "unchanged": ("Nothing changes: the request goes out as it is.", "bold"),
    "edited": ("The rules accept the edit.", "bold green"),
    "refused": ("The rules refuse the edit; nothing would be sent.", "bold red"),
}


def draw(out: Console, explanation: Explanation, *, entries: bool) -> None:
    """Draw an explanation, with a row for each entry if `entries`."""
    out.print(_head(explanation))
    out.print(Text(_ENDINGS[explanation.ending].format(added=explanation.entries_read)))
    _heading(out, "groups")
    out.print(_groups(explanation.groups))
    if entries:
        _heading(out, "entries")
        out.print(_entries(explanation.entries))
    edit = explanation.edit
    over = "" if edit.over is None else f", over={edit.over}"
    _heading(out, f"what ctx.keep_recent_groups({edit.keep}{over}) would do before the next request")
    for line in _edit_lines(explanation):
        out.print(line)


def printable(text: str) -> str:
    """Return a text with all that cannot be printed, or that turns what is printed, replaced; a long one is cut."""
    cut = text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"
    return "".join(char if char.isprintable() else "\N{REPLACEMENT CHARACTER}" for char in cut)


def _head(explanation: Explanation) -> Text:
    calls = [f"{printable(one.call_id)} in entry {one.entry}" for one in explanation.open_calls]
    orphans = [f"{printable(one.call_id)} in entry {one.entry}" for one in explanation.orphan_results]
    head = Text.assemble(
        (explanation.stack, "bold"),
        f": {_count(explanation.entries_read, 'entry', 'entries')}, {_count(len(explanation.groups), 'group')}, "
        f"{explanation.tokens:,} estimated tokens, {_count(len(calls), 'open tool call')}",
    )
    if calls:
        head.append(f" ({_listed(calls)})", "yellow")
    if orphans:
        head.append(f"; {_count(len(orphans), 'tool result')} without a call ({_listed(orphans)})", "yellow")
    return head


def _heading(out: Console, title: str) -> None:
    out.print()
    out.print(Rule(Text(title, "bold"), align="left", style="dim"))


def _table() -> Table:
    return Table(
        box=box.SIMPLE_HEAD,
        show_edge=False,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        expand=True,
        header_style="dim",
        border_style="dim",
    )


def _groups(groups: Iterable[ExplainedGroup]) -> Table:
    table = _table()
    table.add_column("#", justify="right", no_wrap=True)
    table.add_column("id", no_wrap=True, max_width=10)
    table.add_column("entries", justify="right", no_wrap=True)
    table.add_column("begins with", no_wrap=True, ratio=1)
    table.add_column("tokens", justify="right", no_wrap=True)
    table.add_column("closed", no_wrap=True)
    table.add_column("protected by", no_wrap=True)
    table.add_column("edit", no_wrap=True)
    for group in groups:
        table.add_row(
            Text(str(group.index), "dim"),
            Text(printable(group.id)),
            Text(f"[{group.start}:{group.end})"),
            Text(printable(group.words)),
            Text(f"{group.tokens:,}"),
            Text("yes" if group.closed else "no"),
            Text("\n".join(group.protected_reasons), "yellow")
            if group.protected_reasons
            else Text("eligible", "green"),
            Text("kept", "bold green") if group.kept else Text("dropped", "red"),
        )
    return table


def _entries(entries: Iterable[ExplainedEntry]) -> Table:
    table = _table()
    table.add_column("entry", justify="right", no_wrap=True)
    table.add_column("group", justify="right", no_wrap=True)
    table.add_column("kind", no_wrap=True)
    table.add_column("role", no_wrap=True)
    table.add_column("tool calls", ratio=1, overflow="fold")
    table.add_column("protected by", no_wrap=True)
    table.add_column("tokens", justify="right", no_wrap=True)
    for entry in entries:
        table.add_row(
            str(entry.index),
            str(entry.group),
            Text(entry.kind),
            Text(entry.role),
            Text("\n".join(_calls(entry))),
            Text("\n".join(entry.protected_reasons), "yellow"),
            f"{entry.tokens:,}",
        )
    return table


def _calls(entry: ExplainedEntry) -> Iterable[str]:
    yield from (f"calls {printable(name)}" for name in entry.calls)
    yield from (f"answers {printable(name)}" for name in entry.results)


def _edit_lines(explanation: Explanation) -> Iterable[Text | Padding]:
    edit = explanation.edit
    for kept, why, groups in alike(explanation.groups):
        style = ("kept", "bold green") if kept else ("dropped", "red")
        names = _listed([printable(group.id) for group in groups])
        yield Text.assemble(style, f" {_count(len(groups), 'group')}, {why}: {names}")
    yield Text(
        f"entries {edit.entries_before:,} to {edit.entries_after:,}, estimated tokens {edit.tokens_before:,} to "
        f"{edit.tokens_after:,}; {_change(edit)}"
    )
    yield Text(_binding(edit))
    if edit.is_stuck:
        yield Text("Nothing can be freed: every group before the current request is protected.", "yellow")
    yield Text(*_OUTCOMES[edit.outcome])
    for broken in edit.violations:
        yield Padding(Text.assemble((f"{broken.rule}: ", "bold red"), printable(broken.detail)), (0, 0, 0, 2))


def _change(edit: ExplainedEdit) -> str:
    return "no entry changes" if edit.first_change is None else f"the first changed entry is {edit.first_change}"


def _binding(edit: ExplainedEdit) -> str:
    if edit.first_change is None:
        return "No bound reasoning stands behind a change."
    if not edit.bound_entries:
        return "No bound reasoning stands behind the change."
    held = f"Reasoning in {entries_text(edit.bound_entries)} stands behind the change"
    if edit.model is None:
        return f"{held}; with no --model, none is taken to bind it."
    return f"{held}; {printable(edit.model)} {'binds it' if edit.model_binds else 'is not known to bind it'}."


def _count(number: int, one: str, many: str | None = None) -> str:
    return f"{number:,} {one if number == 1 else many or one + 's'}"


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _LISTED:,} more" if len(names) > _LISTED else ""
    return ", ".join(names[:_LISTED]) + more
