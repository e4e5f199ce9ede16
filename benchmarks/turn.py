"""Turns: what compiling costs beside LionAGI's own preparation of the same branch, and how it grows.

Both prepare the same records, and must come to the same messages. LionAGI keeps the text of a record that no result of
a call is folded into, so its first preparation of a branch and a later one are rows of their own; the compiler keeps
nothing. Times are processor seconds.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, NamedTuple

from lionagi import Branch as LionBranch
from lionagi.operations.chat._prepare import _prepare_run_kwargs  # LionAGI has no public name for its preparation
from lionagi.operations.types import ChatParam

from benchmarks.clock import now, quiet
from benchmarks.report import Table
from benchmarks.rows import Row, spread_of
from benchmarks.stacks import installed
from kedi_compile import TurnRequest, compile_chat_request
from kedi_compile.turn import Branch, Instruction, provider_messages
from kedi_lionagi import to_branch

NAME = "turn"
RATIO = 1.5
GROWTH = 12.0
MEGABYTE = 1_000_000
QUESTION = "And now?"

logging.getLogger("lionagi").setLevel(logging.ERROR)  # it says at each start that no model is configured


@dataclass(frozen=True, slots=True)
class Shape:
    """A kind of history: how it is called, and how many records of it make one turn."""

    name: str
    add: Callable[[LionBranch, int], int]


def _lines(number: int) -> str:
    return f"Line {number}: a sentence of ordinary length.\n" * 10


def add_talk(branch: LionBranch, number: int) -> int:
    """Add a question with context and its answer; return how many records that is."""
    context = [{"doc": _lines(number), "page": number}]
    branch.msgs.add_message(instruction=f"Question {number}?", context=context, sender="user", recipient=branch.id)
    branch.msgs.add_message(assistant_response=_lines(number), sender=branch.id, recipient="user")
    return 2


def add_calls(branch: LionBranch, number: int) -> int:
    """Add a question, its answer, and a call with its result."""
    added = add_talk(branch, number)
    people = {"sender": branch.id, "recipient": branch.id}
    call = branch.msgs.add_message(action_function="look", action_arguments={"page": number}, **people)
    branch.msgs.add_message(action_request=call, action_output={"found": _lines(number)}, **people)
    return added + 2


SHAPES = (Shape("calls and results", add_calls), Shape("text alone", add_talk))


def branch_of(shape: Shape, count: int) -> LionBranch:
    """Return a branch of at least `count` records."""
    branch = LionBranch(system="Be terse.", log_config={"auto_save_on_exit": False})
    records, number = 0, 0
    while records < count:
        records += shape.add(branch, number)
        number += 1
    return branch


class Seconds(NamedTuple):
    """One sample: the compiler, and LionAGI's first and a later preparation of the same branch."""

    ours: float
    first: float
    later: float


def times_of(shape: Shape, count: int, rounds: int) -> list[Seconds]:
    """Measure both on a new branch each time; an extra first round is thrown away."""
    return [_sample(branch_of(shape, count)) for _ in range(rounds + 1)][1:]


def _sample(branch: LionBranch) -> Seconds:
    param, snapshot = ChatParam.from_branch(branch), to_branch(branch)
    with quiet():
        first, theirs = _timed(lambda: _prepare_run_kwargs(branch, QUESTION, param)[1]["messages"])
        ours, compiled = _timed(lambda: compile_chat_request(snapshot, TurnRequest(Instruction.create(QUESTION))))
        later, _ = _timed(lambda: _prepare_run_kwargs(branch, QUESTION, param))
    assert provider_messages(compiled) == theirs  # or they are not comparable
    return Seconds(ours, first, later)


def _timed(work: Callable[[], Any]) -> tuple[float, Any]:
    start = now()
    result = work()
    return now() - start, result


def measure(count: int, rounds: int, large: int, large_rounds: int) -> Table:
    """Take all samples and return the table."""
    sections = {f"turns, {shape.name}": _rows(shape, count, rounds, large, large_rounds) for shape in SHAPES}
    sections["turns, one long text"] = [row for text in TEXTS for row in _text_rows(*text, rounds=large_rounds)]
    return Table({name: installed(name) for name in ("lionagi", "pydantic", "PyYAML")}, (), sections)


def _rows(shape: Shape, count: int, rounds: int, large: int, large_rounds: int) -> list[Row]:
    small = times_of(shape, count, rounds)
    ours, first, later = ([getattr(times, name) for times in small] for name in Seconds._fields)
    grown = [times.ours for times in times_of(shape, large, large_rounds)]
    return [
        _ratio(f"compiling {count:,} records, against LionAGI's first preparation", ours, first, RATIO),
        _ratio(f"compiling {count:,} records, against a later preparation", ours, later, RATIO),
        _ratio(f"compiling {large:,} records against {count:,}", grown, ours, GROWTH),
    ]


TEXTS = (
    ("on one line", "word " * (MEGABYTE // 5)),
    ("in lines", "a line of text\n" * (MEGABYTE // 15)),
    ("that needs escapes", "a\tline\nof text " * (MEGABYTE // 15)),
)


def _text_rows(name: str, megabyte: str, rounds: int) -> list[Row]:
    small = [_compile_text(megabyte) for _ in range(rounds + 1)]
    large = [_compile_text(megabyte * 10) for _ in range(rounds + 1)]
    grown = _ratio(f"10 MB of text {name}, against 1 MB", large, small, GROWTH)
    return [Row(f"10 MB of text {name}", "s", spread_of(large, 1)), grown]


def _compile_text(text: str) -> float:
    request = TurnRequest(Instruction.create(f"{text}."))
    with quiet():
        return _timed(lambda: compile_chat_request(Branch(), request))[0]


def _ratio(name: str, samples: Sequence[float], unit: Sequence[float], goal: float) -> Row:
    return Row(name, "x", spread_of(samples, median(unit)), goal)
