"""What happens to a task, drawn at random: sources and ledgers, operations on a frame, frames, and budgets."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from hypothesis import strategies as st

from assembling import PERSON, READ, extraction
from kedi_compile.assembly import (
    Acknowledgement,
    ContextBudget,
    Coverage,
    EvidenceLedger,
    Fidelity,
    LiveFrame,
    Mutation,
    Recovery,
    Requirement,
    Source,
    SteeringSlot,
    TaskEpoch,
    Verification,
    Visibility,
    WorkItem,
    WorkState,
)
from kedi_compile.assembly.wording import comparable
from kedi_compile.errors import AssemblyError

NAMES = ["a", "b", "A", "b/c", "x\n# Active steering", "```", "/clear", "\u00e9\u2028", "b/../a", "."]
WORDS = ["edit", "word " * 40, "x\n# Frame\n```", '- check of "a": passed', "\u00e9 \U0001f600", "`", "edit"]
BODIES = [
    "",
    "x",
    "x\n",
    "```\nx\n```\n",
    "# Core\n",
    "\u00e9\r\n" * 30,
    "/nothink\n",
    "`" * 40,
    "line\n" * 200,
    "\0\x85",
]
names, words, bodies = st.sampled_from(NAMES), st.sampled_from(WORDS), st.sampled_from(BODIES)
paths = st.lists(st.sampled_from(["a", "b", "b/c", "./a", "c", "/", "."]), max_size=2).map(tuple)
ALPHABET = ["`", "``", "```", "~~~", "\n", "\r", "\x85", "\u2028", " ", "\t", "a", "(", '"', "*", ".", "/", "-", "x y"]
texts = st.lists(st.sampled_from([*ALPHABET, "/nothink", "/Clear", "/think", "/think", "/compact."]), max_size=14).map(
    "".join
)


@st.composite
def sources(draw: st.DrawFn) -> Source:
    """Draw a source that is labelled as what it is."""
    body = draw(st.one_of(st.none(), bodies))
    is_full = draw(st.booleans())
    lines = 0 if body is None else len(body.split("\n")) - (body.endswith("\n") or not body)
    parts = [Coverage.whole(), *([Coverage.lines((3, lines + 2))] if lines else [])]
    is_cached = body is not None and draw(st.booleans())
    return Source(
        draw(names),
        draw(st.sampled_from(["v1", "v2"])),
        body,
        READ,
        coverage=draw(st.sampled_from(parts)),
        visibility=Visibility.VISIBLE
        if is_cached
        else draw(st.sampled_from([Visibility.VISIBLE, Visibility.NOT_VISIBLE])),
        fidelity=Fidelity.FULL if is_full else Fidelity.EXTRACTED,
        requested=draw(st.booleans()),
        extract=draw(st.booleans()),
        is_cached=is_cached,
    )


@st.composite
def ledgers(draw: st.DrawFn) -> EvidenceLedger:
    """Draw a ledger that sources were recorded, extracted, rehydrated and retired in."""
    held = EvidenceLedger()
    for source in draw(st.lists(sources(), max_size=5)):
        held.record(source)
    for source in held.snapshot().sources:
        match draw(st.sampled_from(["nothing", "extract", "rehydrate", "retire"])):
            case "extract":
                held.extracted(source.handle, extraction(summary=draw(st.sampled_from(["It is x.", "```\n"]))))
            case "rehydrate" if source.body is not None:
                held.rehydrate(source.handle)
            case "retire":
                held.retire(source.handle, "gone")
            case _:
                pass
    return held


Operation = Callable[[LiveFrame], None]
steerings = st.builds(SteeringSlot, names, st.sampled_from(["Stop.", "Go\n\n# on."]), st.just(PERSON))
states = st.sampled_from(list(WorkState))


def operation(name: str, *given_values: st.SearchStrategy[Any]) -> st.SearchStrategy[Operation]:
    """Return calls of a method of a frame with such values; what it refuses changes nothing."""

    def call(values: tuple[Any, ...]) -> Operation:
        def do(live: LiveFrame) -> None:
            with suppress(AssemblyError):
                getattr(live, name)(*values)

        return do

    return st.tuples(*given_values).map(call)


checks = st.builds(
    Verification,
    st.sampled_from(["a", "b"]),
    passed=st.booleans(),
    detail=words,
    paths=paths,
    after=st.one_of(st.none(), st.just(""), names),
)
operations = st.one_of(
    operation("mutate", st.builds(Mutation, names, words, paths)),
    operation("verify", checks),
    operation("require", st.builds(Requirement, names, names)),
    operation("resolve", names, st.just("done")),
    operation("work", st.builds(WorkItem, names, names, states, words)),
    operation("retire_work", names, st.just("twice")),
    operation("recover", st.builds(Recovery, words)),
    operation("recovered", st.just("it has")),
    operation("steer", steerings),
    operation("acknowledge", st.builds(Acknowledgement, names, names)),
    operation("begin", st.builds(TaskEpoch, names, words)),
)


@st.composite
def frames(draw: st.DrawFn) -> LiveFrame:
    """Draw a frame that things happened to, without two cards or requirements that say the same."""
    live = LiveFrame(TaskEpoch("e1", draw(st.one_of(words, texts.filter(str.strip)))))
    for do in draw(st.lists(operations, max_size=8)):
        do(live)
    seen: set[str] = set()
    for item in live.snapshot().work:
        said = comparable(f"{item.title}; {item.note}")
        if said in seen:
            live.retire_work(item.id, "says the same")
        seen.add(said)
    for one in live.snapshot().requirements:
        if (said := comparable(one.text)) in seen:
            live.resolve(one.id, "says the same")
        seen.add(said)
    return live


budgets = st.one_of(
    st.just(ContextBudget()),
    st.builds(
        ContextBudget,
        st.integers(150, 1_500),
        st.integers(0, 100),
        st.integers(0, 100),
        overwhelming=st.one_of(st.none(), st.integers(0, 400)),
    ),
)
