"""A synthetic run of 12 requests as its dump would say it, for whatever shows a dump.

A coding agent reads, edits and tests in one tool loop: the contracts change at request 4, the history is edited at 5
and 9, steering comes at 3 and is acknowledged at 6, request 8 is refused, 10 fails, and the provider reports cache
reads from request 2 on. `grow` repeats the run under other ids.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from typing import Final

from kedi_compile.dump.schema import (
    AssemblyDump,
    BudgetDump,
    ContractDump,
    Decision,
    EpochDump,
    GroupDump,
    HistoryDump,
    ItemDump,
    ProofDump,
    RequestDump,
    SectionDump,
    SourceDump,
    SteeringDump,
    TailDump,
    UsageDump,
)

BEGINS: Final = 1_796_119_200.0
"""2026-12-01 10:00:00 UTC."""
LIMIT: Final = 32_000
REFUSED: Final = 8
FAILED: Final = 10
EDITED: Final = {5: 3, 9: 4}
"""Request -> how many of its groups the edit dropped or archived."""

HOSTILE: Final = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\"'&{{ 7*7 }}[bold]\x1b[2J\x00\x9b"
"""What ends an element, begins another, is markup to some library, and commands a terminal."""

_CLOSED: Final = frozenset({"outcome", "decision", "state", "visibility", "fidelity"})
"""Fields that take one of a few words."""
_OBJECTIVE: Final = "Make parse_date accept ISO week dates such as 2026-W07-3.\nKeep the old formats working."
_HISTORY: Final = (0, 640, 2_310, 4_020, 2_180, 3_900, 5_160, 6_420, 3_050, 4_240, 4_240, 5_010)
"""Tokens of the history as it is sent, request by request."""
_EDITED_FROM: Final = {5: 6_350, 9: 8_190}
_EVIDENCE: Final = (900, 2_400, 3_900, 5_200, 5_650, 6_100, 4_300, 24_700, 4_900, 5_300, 5_300, 5_800)


def build_run(run: str = "run-7f3a", begins: float = BEGINS, first_generation: int = 0) -> tuple[RequestDump, ...]:
    """Return the twelve requests of the run."""
    return tuple(_request(index, run, begins, first_generation) for index in range(1, 13))


def grow(count: int) -> Iterator[RequestDump]:
    """Yield `count` requests: the run over and over, each time as the next run of the same conversation."""
    for start in range(0, count, 12):
        again = build_run(f"run-{start // 12:04}", BEGINS + 60.0 * start, start // 6)
        yield from again[: count - start]


def write_dumps(path: Path, dumps: Iterable[RequestDump]) -> Path:
    """Write the dumps as a file of JSON lines and return its path."""
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"{dump.model_dump_json()}\n" for dump in dumps)
    return path


def poison(dump: RequestDump) -> RequestDump:
    """Return the dump with `HOSTILE` for each of its texts that may be anything, and for a name among its sources."""
    return RequestDump.model_validate(_poison(dump.model_dump(mode="json")))


def _poison(value: object, field: str = "") -> object:
    if isinstance(value, dict):
        return {HOSTILE if key == "core" else key: _poison(inner, key) for key, inner in value.items()}
    if isinstance(value, list):
        return [_poison(inner, field) for inner in value]
    return HOSTILE if isinstance(value, str) and field not in _CLOSED else value


def _request(index: int, run: str, begins: float, first_generation: int) -> RequestDump:
    sent = index != REFUSED
    return RequestDump(
        request_id=f"{run}-{index:02}",
        at=begins + 7.5 * (index - 1),
        duration=1.5 + 0.25 * index if sent else 0.0,
        run_id=run,
        conversation_id="dates-in-weeks",
        lane="main",
        request_index=index,
        adapter="pydantic-ai",
        model_id="claude-opus-5",
        outcome="refused" if index == REFUSED else "failed" if index == FAILED else "answered",
        error={
            REFUSED: "BudgetExceeded: 33,140 tokens do not fit in 32,000 - 4,000",
            FAILED: "overloaded_error: the provider is overloaded",
        }.get(index),
        assembly=_assembly(index),
        history=_history(index, first_generation),
        usage=_usage(index),
    )


def _assembly(index: int) -> AssemblyDump:
    sources = _sources(index)
    phase = "explore" if index < 4 else "implement" if index < 9 else "verify"
    return AssemblyDump(
        epoch=EpochDump(id="epoch-1", raw_objective=_OBJECTIVE, objective="Accept ISO week dates in parse_date"),
        tier="frontier",
        flags=("late_frames",) if index > 2 else (),
        phase=phase,
        phase_reason={"explore": "2 reads", "implement": "1 edit", "verify": "2 test runs"}[phase],
        contracts=_contracts(index),
        contracts_changed=index == 4,
        steering=_steering(index),
        sources=sources,
        proofs=_proofs(index),
        items=_items(index),
        sections=_sections(index),
        tails=_tails(index),
        budget=_budget(index, sum(source.tokens for source in sources if source.visibility == "visible")),
        notes=("The frame is unchanged, so no tail was added",) if index in {6, 7} else (),
    )


def _contracts(index: int) -> tuple[ContractDump, ...]:
    chosen = [("core", "3", "always on"), ("provenance", "2", "phase explore")]
    if index >= 4:
        chosen = [
            ("core", "3", "always on"),
            ("implementation", "5", "phase implement"),
            ("verification", "1", "an edit"),
        ]
    return tuple(
        ContractDump(
            id=name,
            version=version,
            hash=_digest(name + version),
            reason=reason,
            in_force=index != REFUSED and not (name == "verification" and index == 4),
        )
        for name, version, reason in chosen
    )


def _steering(index: int) -> tuple[SteeringDump, ...]:
    if index < 3:
        return ()
    done = index >= 6
    text = "Do not touch the public signature of parse_date."
    state: SteeringDump = SteeringDump(
        id="steer-1", text=text, state="acknowledged" if done else "active", by="run-7f3a-06" if done else None
    )
    return (state,)


def _sources(index: int) -> tuple[SourceDump, ...]:
    evidence = _EVIDENCE[index - 1]
    sources = [
        _source("S1", "src/dates.py", "whole", "included", "asked for in full, and it fits", tokens=evidence // 2),
        _source("S2", "docs/formats.md", "lines 40-90", "included", "a range was asked for", tokens=evidence // 4),
    ]
    if index >= 3:
        sources.append(
            _source("S3", "tests/test_dates.py", "whole", "compacted", "over its share", tokens=evidence // 8)
        )
    if index >= 5:
        sources.append(_source("S4", "CHANGELOG.md", "whole", "omitted", "no requirement needs it", tokens=1_240))
    if index >= 7:
        sources.append(
            _source(
                "S5", "pytest run 1", "lines 1-60", "rehydrated", "the failing claim names it", tokens=evidence // 8
            )
        )
    return tuple(sources)


def _source(handle: str, identity: str, coverage: str, decision: Decision, reason: str, *, tokens: int) -> SourceDump:
    omitted = decision == "omitted"
    return SourceDump(
        handle=handle,
        identity=identity,
        version=_digest(identity)[:8],
        coverage=coverage,
        visibility="not_visible" if omitted else "visible",
        fidelity="extracted" if decision == "compacted" else "full",
        decision=decision,
        reason=reason,
        tokens=tokens,
        bytes=tokens * 4,
        recovery=f"read_file {identity}" if decision in {"omitted", "compacted"} else None,
    )


def _proofs(index: int) -> tuple[ProofDump, ...]:
    if index < 7:
        return ()
    if index in {7, 8, 9}:
        return (ProofDump(claim="old formats parse", state="stale", reason="src/dates.py changed after the run"),)
    return (
        ProofDump(claim="old formats parse", state="passed", reason="pytest run 2"),
        ProofDump(claim="week dates parse", state="failed" if index == 10 else "passed", reason="pytest run 2"),
    )


def _items(index: int) -> tuple[ItemDump, ...]:
    items = [
        ItemDump(place=1, kind="core", id="identity", decision="included", reason="stable", tokens=820),
        ItemDump(
            place=3, kind="instructions", id="AGENTS.md", decision="included", reason="its root is here", tokens=310
        ),
        ItemDump(place=4, kind="environment", id="runtime", decision="included", reason="stable", tokens=190),
        ItemDump(place=5, kind="objective", id="epoch-1", decision="included", reason="the current task", tokens=60),
        ItemDump(place=9, kind="tools", id="6 schemas", decision="included", reason="the adapter's own", tokens=1_450),
    ]
    if index >= 6:
        gone = ItemDump(place=7, kind="frame", id="frame-2", decision="omitted", reason="a newer frame", tokens=140)
        items.append(gone)
    return tuple(items)


def _sections(index: int) -> tuple[SectionDump, ...]:
    core = "You are a careful engineer.\nNever claim what was not checked."
    contracts = "\n".join(f"[{c.id} {c.version} {c.hash[:12]}]" for c in _contracts(index))
    sections = [(1, "core", 820, core), (2, "contracts", 700, contracts), (5, "task", 60, _OBJECTIVE)]
    evidence = SectionDump(
        place=6,
        kind="evidence",
        tokens=_EVIDENCE[index - 1],
        bytes=_EVIDENCE[index - 1] * 4,
        digest=_digest(str(index)),
    )
    made = [
        SectionDump(place=p, kind=k, tokens=n, bytes=len(text.encode()), digest=_digest(text), text=text)
        for p, k, n, text in sections
    ]
    return (*made, evidence)


def _tails(index: int) -> tuple[TailDump, ...]:
    added = [request for request in (1, 3, 5, 9) if request <= index]
    return tuple(
        TailDump(
            number=n, request_index=request, tokens=120 + 15 * n, digest=_digest(f"tail {n}"), new=request == index
        )
        for n, request in enumerate(added, 1)
    )


def _budget(index: int, evidence: int) -> BudgetDump:
    return BudgetDump(
        limit=LIMIT,
        reserved_output=4_000,
        by_source={
            "core": 820,
            "contracts": 480 if index < 4 else 700,
            "repository": 310,
            "environment": 190,
            "history": _HISTORY[index - 1],
            "task": 60,
            "evidence": evidence,
            "frame": 140 if index >= 3 else 0,
            "tools": 1_450,
        },
    )


def _history(index: int, generation: int) -> HistoryDump:
    before = generation + sum(edit < index for edit in EDITED)
    if index == REFUSED:
        return HistoryDump(
            outcome="refused",
            generation_before=before,
            generation_after=before,
            violations=("signed_reasoning_kept: group 1 (entries 1:3) loses signed reasoning",),
        )
    edited = index in EDITED
    groups = _groups(index)
    return HistoryDump(
        outcome="edited" if edited else "unchanged",
        groups=groups,
        added=("Earlier: three files were read; see archive a-1.",) if edited else (),
        first_change=1 if edited else None,
        generation_before=before,
        generation_after=before + edited,
        tokens_before=_EDITED_FROM.get(index, _HISTORY[index - 1]),
        tokens_after=_HISTORY[index - 1],
        continuation=("previous_response_id is dropped: the history before it changed",) if edited else (),
        retentions=("keep_recent_groups(4) kept 4 of 7 groups",) if edited else (),
    )


def _groups(index: int) -> tuple[GroupDump, ...]:
    gone = EDITED.get(index, 0)
    count = 3 + (index if index < 5 else index - 3 + gone if index < 9 else index - 6 + gone)
    return tuple(_group(number, count, gone) for number in range(count))


def _group(number: int, count: int, gone: int) -> GroupDump:
    current, system, signed = number == count - 1, number == 0, number == count - 2
    reasons = [("system", system), ("current_request", current), ("signed_reasoning", signed)]
    drops = 0 < number <= gone
    return GroupDump(
        id=f"g{number}",
        start=2 * number,
        end=2 * number + 2,
        tokens=210 + 130 * number,
        closed=not current,
        protected_reasons=tuple(name for name, holds in reasons if holds),
        decision="archived" if drops and number % 2 else "dropped" if drops else "kept",
        reason="older than the last 4 groups" if drops else "",
    )


def _usage(index: int) -> UsageDump:
    if index in {REFUSED, FAILED}:
        return UsageDump()
    sent = 3_500 + _HISTORY[index - 1] + _EVIDENCE[index - 1]
    cached = None if index == 1 else 2_600 if index in EDITED else sent * 3 // 4
    return UsageDump(input=sent, output=180 + 20 * index, cache_read=cached, cache_write=None if index == 1 else 600)


def _digest(text: str) -> str:
    return sha256(text.encode()).hexdigest()
