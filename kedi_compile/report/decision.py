"""The whole decision of one request as blocks of facts, tables and texts, for a terminal and the page alike.

What is said and in which order is decided here; `expansion.py` draws the blocks at a terminal, `template.html.j2` in a
browser. A block without content is left out. The nine places are those of the Assembly specification, Deterministic
assembly order.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from kedi_compile.dump.schema import AssemblyDump, GroupDump, HistoryDump, ItemDump, RequestDump, SourceDump
from kedi_compile.report.rows import UNKNOWN, date_of, exactly, groups_of, time_of

PLACES: Final = {
    1: "core",
    2: "contracts",
    3: "repository",
    4: "environment",
    5: "task",
    6: "evidence",
    7: "frame",
    8: "message",
    9: "tools",
}
"""Place -> the word for it."""

NUMERIC: Final = frozenset({"tokens", "bytes", "share", "entries", "request"})
"""The columns that hold numbers."""

EVIDENCE: Final = 6
_HASH: Final = 12
"""How much of a hash is shown: enough to tell any two apart."""


@dataclass(frozen=True, slots=True)
class Block:
    """A part of the decision: facts by name, a table, and texts under headings, each of which may be empty."""

    title: str
    facts: tuple[tuple[str, str], ...] = ()
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    texts: tuple[tuple[str, str], ...] = ()

    def __bool__(self) -> bool:
        return bool(self.facts or self.rows or self.texts)


def explain(dump: RequestDump) -> tuple[Block, ...]:
    """Return all that is known about a request, the most telling first."""
    blocks = [_request(dump)]
    if dump.assembly is not None:
        blocks += _assembly(dump.assembly)
    blocks += [_history(dump.history), _usage(dump)]
    return tuple(block for block in blocks if block)


def _request(dump: RequestDump) -> Block:
    took = UNKNOWN if dump.duration is None else f"{dump.duration:.1f} s"
    return Block(
        "Request",
        _known(
            ("id", dump.request_id),
            ("at", f"{date_of(dump.at)} {time_of(dump.at)} UTC"),
            ("took", took),
            ("run", dump.run_id),
            ("request of the run", str(dump.request_index)),
            ("conversation", dump.conversation_id),
            ("lane", dump.lane),
            ("adapter", dump.adapter),
            ("model", dump.model_id),
            ("outcome", dump.outcome),
            ("error", None if dump.error is None else dump.error.partition("\n")[0]),
        ),
        texts=tuple(_rest_of_error(dump)),
    )


def _rest_of_error(dump: RequestDump) -> Iterator[tuple[str, str]]:
    """Yield what an error says behind its first line, unless it is the rules that the history's block tells."""
    rest = (dump.error or "").partition("\n")[2]
    if rest and not dump.history.violations:
        yield "the error goes on", rest


def _assembly(assembly: AssemblyDump) -> Iterator[Block]:
    yield _task(assembly)
    yield Block("What went in, and why", columns=("place", "what", "decision", "tokens", "why"), rows=_places(assembly))
    yield _contracts(assembly)
    yield _steering(assembly)
    yield _proofs(assembly)
    yield _retired(assembly)
    yield _budget(assembly)
    yield _sections(assembly)
    yield _tails(assembly)
    yield Block("Notes", texts=tuple(("", note) for note in assembly.notes))


def _contracts(assembly: AssemblyDump) -> Block:
    selected = (
        (c.id, c.version, c.hash[:_HASH], _yes(value=c.in_force), _briefly(c.reason, assembly))
        for c in assembly.contracts
    )
    unselected = ((c.id, c.version, "", "not selected", c.reason) for c in assembly.unselected)
    return Block(
        "Contracts",
        facts=(("changed", "yes, since the request before"),) if assembly.contracts_changed else (),
        columns=("contract", "version", "hash", "in force", "why"),
        rows=(*selected, *unselected),
    )


def _steering(assembly: AssemblyDump) -> Block:
    return Block(
        "Steering",
        columns=("steering", "state", "by", "text"),
        rows=tuple((s.id, s.state, s.by or UNKNOWN, s.text) for s in assembly.steering),
    )


def _proofs(assembly: AssemblyDump) -> Block:
    return Block(
        "Proofs",
        columns=("claim", "state", "why"),
        rows=tuple((proof.claim, proof.state, proof.reason) for proof in assembly.proofs),
    )


def _retired(assembly: AssemblyDump) -> Block:
    return Block(
        "No longer current, so not in this request",
        columns=("what", "why"),
        rows=tuple((_named(one.kind, one.id), one.reason) for one in assembly.retired),
    )


def _tails(assembly: AssemblyDump) -> Block:
    return Block(
        "Tails, the late texts of this run",
        columns=("number", "request", "tokens", "digest", "sent before"),
        rows=tuple(
            (str(t.number), str(t.request_index), exactly(t.tokens), t.digest[:_HASH], _yes(value=not t.new))
            for t in assembly.tails
        ),
    )


def _task(assembly: AssemblyDump) -> Block:
    phase = None if assembly.phase is None else f"{assembly.phase} ({assembly.phase_reason})".replace(" ()", "")
    return Block(
        "Task",
        _known(
            ("epoch", assembly.epoch.id),
            ("tier", assembly.tier),
            ("flags", ", ".join(assembly.flags)),
            ("phase", phase),
        ),
        texts=(("asked, word for word", assembly.epoch.raw_objective), ("objective now", assembly.epoch.objective)),
    )


def _places(assembly: AssemblyDump) -> tuple[tuple[str, ...], ...]:
    items = [(item.place, _item(item, assembly)) for item in assembly.items]
    sources = [(EVIDENCE, _source(source)) for source in assembly.sources]
    return tuple(row for _, row in sorted([*items, *sources], key=lambda pair: pair[0]))


def _briefly(reason: str, assembly: AssemblyDump) -> str:
    """Return a contract's reason without what was observed, which the task says once for all of them."""
    return reason.removesuffix(f", {assembly.phase_reason}") if assembly.phase_reason else reason


def _item(item: ItemDump, assembly: AssemblyDump) -> tuple[str, ...]:
    return (
        place_name(item.place),
        _named(item.kind, item.id),
        item.decision,
        exactly(item.tokens),
        _briefly(item.reason, assembly),
    )


def _named(kind: str, name: str) -> str:
    return name if name == kind else f"{kind} {name}"


def _source(source: SourceDump) -> tuple[str, ...]:
    what = f"{source.identity}, version {source.version}, {source.coverage}"
    if source.handle != f"{source.identity}@{source.version}#{source.coverage}":
        what = f"{source.handle} {what}"
    state = f"{source.fidelity}, {source.visibility.replace('_', ' ')}"
    is_out = source.visibility == "not_visible"
    recovery = f"; for the exact text: {source.recovery}" if source.recovery and is_out else ""
    why = f"{source.reason} ({state}{recovery})"
    return (place_name(EVIDENCE), what, source.decision, exactly(source.tokens), why)


def place_name(place: int) -> str:
    """Return a place's number and word; a place of a newer writer has its number alone."""
    return f"{place} {PLACES.get(place, '')}".rstrip()


def _budget(assembly: AssemblyDump) -> Block:
    budget = assembly.budget
    rows = [(name, exactly(tokens), _share(tokens, budget.total)) for name, tokens in budget.by_source.items()]
    free = None if budget.limit is None else budget.limit - budget.reserved_output - budget.total
    return Block(
        "Budget",
        _known(
            ("total", exactly(budget.total)),
            ("limit", exactly(budget.limit)),
            ("kept for the answer", exactly(budget.reserved_output)),
            ("left", exactly(free)),
        ),
        columns=("source", "tokens", "share"),
        rows=tuple(rows),
    )


def _share(tokens: int, total: int) -> str:
    return f"{tokens / total:.0%}" if total else UNKNOWN


def _sections(assembly: AssemblyDump) -> Block:
    return Block(
        "Sections as sent",
        columns=("place", "section", "tokens", "bytes", "digest"),
        rows=tuple(
            (place_name(s.place), s.kind, exactly(s.tokens), exactly(s.bytes), s.digest[:_HASH])
            for s in assembly.sections
        ),
        texts=tuple((f"{place_name(s.place)}: {s.kind}", s.text) for s in assembly.sections if s.text),
    )


def _history(history: HistoryDump) -> Block:
    before, after = groups_of(history)
    return Block(
        "History",
        _known(
            ("outcome", history.outcome.replace("_", " ")),
            ("groups", f"{before} -> {after}" if before else None),
            ("tokens", _tokens(history)),
            ("first changed entry", None if history.first_change is None else str(history.first_change)),
            ("generation", f"{history.generation_before} -> {history.generation_after}"),
        ),
        columns=("group", "entries", "tokens", "state", "decision", "protected by", "why"),
        rows=tuple(_group(group) for group in history.groups),
        texts=tuple(_history_texts(history)),
    )


def _tokens(history: HistoryDump) -> str | None:
    if history.tokens_before is None and history.tokens_after is None:
        return None
    return f"{exactly(history.tokens_before)} -> {exactly(history.tokens_after)}"


def _group(group: GroupDump) -> tuple[str, ...]:
    return (
        group.id,
        f"{group.start}:{group.end}",
        exactly(group.tokens),
        "closed" if group.closed else "open",
        group.decision,
        ", ".join(reason.replace("_", " ") for reason in group.protected_reasons),
        group.reason,
    )


def _history_texts(history: HistoryDump) -> Iterator[tuple[str, str]]:
    yield from (("added", text) for text in history.added)
    yield from (("broken rule", text) for text in history.violations)
    yield from (("server-side state", text) for text in history.continuation)
    yield from (("keep_recent_groups", text) for text in history.retentions)
    yield from (("note", text) for text in history.notes)


def _usage(dump: RequestDump) -> Block:
    usage = dump.usage
    counts: Iterable[tuple[str, int | None]] = (
        ("input", usage.input),
        ("output", usage.output),
        ("cache reads", usage.cache_read),
        ("cache writes", usage.cache_write),
    )
    return Block("Usage as the provider reported it", _known(*((name, exactly(count)) for name, count in counts)))


def _known(*facts: tuple[str, str | None]) -> tuple[tuple[str, str], ...]:
    return tuple((name, value) for name, value in facts if value and value != UNKNOWN)


def _yes(*, value: bool) -> str:
    return "yes" if value else "no"
