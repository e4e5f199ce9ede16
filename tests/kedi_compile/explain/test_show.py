"""What is drawn of an explanation, in 80 columns, whatever the history says."""

from __future__ import annotations

import json
from io import StringIO
from typing import Any

import pytest
from rich.console import Console

from kedi_compile.explain.command import explained
from kedi_compile.explain.explanation import Inquiry
from kedi_compile.explain.reading import parse
from kedi_compile.explain.show import draw, printable
from saved import LANGCHAIN, PENDING, PYDANTIC_AI, Saved


def drawn(saved: Saved, inquiry: Inquiry | None = None, *, entries: bool = False, width: int = 80) -> list[str]:
    """Return the lines that are drawn of a saved history."""
    out = StringIO()
    explanation = explained(parse(json.dumps(saved).encode()), inquiry or Inquiry())
    draw(Console(file=out, width=width, highlight=False), explanation, entries=entries)
    return [line.rstrip() for line in out.getvalue().splitlines()]


SCREEN = """\
pydantic-ai: 11 entries, 6 groups, {tokens} estimated tokens, 0 open tool calls
The history ends without a next request, so entry 11, a placeholder for the next
user message, was added. It is not in the file. Without it the last group would
count as the current request.

groups ─────────────────────────────────────────────────────────────────────────
#  id  entries  begins with            tokens  closed  protected by      edit
────────────────────────────────────────────────────────────────────────────────
"""


def test_the_screen_of_a_history() -> None:
    """A stranger sees what was read, the groups, and what an edit would do, in this order."""
    lines = drawn(PYDANTIC_AI, Inquiry(1))
    edit = explained(parse(json.dumps(PYDANTIC_AI).encode()), Inquiry(1)).edit

    assert "\n".join(lines[:8]) + "\n" == SCREEN.format(tokens=edit.tokens_before)
    assert [line.split()[:3] for line in lines[8:14]] == [
        ["0", "g1", "[0:1)"],
        ["1", "g2", "[1:3)"],
        ["2", "g3", "[3:5)"],
        ["3", "g4", "[5:9)"],
        ["4", "g5", "[9:11)"],
        ["5", "g6", "[11:12)"],
    ]
    assert lines[15:] == [
        "what ctx.keep_recent_groups(1) would do before the next request ────────────────",
        "kept 1 group, protected by system: g1",
        "dropped 2 groups, eligible, not one of the last 1: g2, g3",
        "kept 1 group, protected by signed_reasoning: g4",
        "kept 1 group, eligible, one of the last 1: g5",
        "kept 1 group, protected by current_request: g6",
        f"entries 12 to 8, estimated tokens {edit.tokens_before} to {edit.tokens_after}; the first changed entry is 1",
        "Reasoning in entry 6 stands behind the change; with no --model, none is taken to",
        "bind it.",
        "The rules accept the edit.",
    ]


def test_entries_have_a_table_of_their_own() -> None:
    """With `--entries` each has a row, with the calls it opens and answers."""
    lines = drawn(PYDANTIC_AI, entries=True)

    rows = [line.split()[:-1] for line in lines]
    assert ["6", "3", "assistant", "assistant", "calls", "c1", "signed_reasoning"] in rows
    assert ["7", "3", "tool_result", "tool", "answers", "c1"] in rows


@pytest.mark.parametrize(
    ("saved", "inquiry", "line"),
    [
        (PENDING, Inquiry(), "The history ends with open tool calls. The next request brings their results"),
        (LANGCHAIN[:2], Inquiry(), "The history ends with its next request, so nothing was added; the last group is"),
        (
            LANGCHAIN,
            Inquiry(prompt="x"),
            "Entry 11, the prompt, was added as the next user message. It is not in the file.",
        ),
        (
            PENDING,
            Inquiry(prompt="x"),
            "Entry 13, the prompt, was added as the next user message. It is not in the file, and tool calls before it",
        ),
        (LANGCHAIN, Inquiry(1, 2), "what ctx.keep_recent_groups(1, over=2) would do before the next request ────────"),
        (LANGCHAIN, Inquiry(), "Nothing changes: the request goes out as it is."),
        (LANGCHAIN, Inquiry(), "No bound reasoning stands behind a change."),
        (LANGCHAIN[9:], Inquiry(0), "No bound reasoning stands behind the change."),
        (LANGCHAIN[5:9], Inquiry(0), "Nothing can be freed: every group before the current request is protected."),
        (
            LANGCHAIN,
            Inquiry(1, model="x:y"),
            "Reasoning in entry 6 stands behind the change; x:y is not known to bind it.",
        ),
        (LANGCHAIN, Inquiry(1, model="a:claude-opus-5-5"), "The rules refuse the edit; nothing would be sent."),
        (
            LANGCHAIN,
            Inquiry(1, model="a:claude-opus-5-5"),
            "  bound_reasoning: Reasoning in entry 6 is bound to the messages before it, and",
        ),
    ],
    ids=range(12),
)
def test_each_fact_has_its_words(saved: Saved, inquiry: Inquiry, line: str) -> None:
    """What was found out is said in a sentence."""
    assert any(found.startswith(line) for found in drawn(saved, inquiry, width=300))


HOSTILE = "[bold]a[/bold] [link=https://example.com]b[/link] \x1b[31mred\x07 \x9b2J \u202egnol\u202c \ud83d\u200b"


def _hostile() -> Saved:
    data: dict[str, Any] = {"content": HOSTILE, "id": HOSTILE}
    call = {"name": HOSTILE, "args": {}, "id": HOSTILE}
    return [
        {"type": "human", "data": data},
        {"type": "ai", "data": {**data, "tool_calls": [call]}},
        {"type": "tool", "data": {"content": HOSTILE, "tool_call_id": "other\x1b[0m"}},
    ]


def test_a_history_is_shown_and_never_obeyed() -> None:
    """Markup stands there as it was written, and nothing reaches the terminal that could steer it."""
    lines = drawn(_hostile(), Inquiry(0, prompt=HOSTILE, model=HOSTILE), entries=True, width=400)

    assert any("[bold]a[/bold] [link=https://example.com]b[/link] �[31mred�" in line for line in lines)
    assert not {char for line in lines for char in line if not char.isprintable()}


@pytest.mark.parametrize("width", [20, 40, 80, 100])
def test_no_line_is_wider_than_the_terminal(width: int) -> None:
    """Long ids and texts are cut or folded."""
    saved = [{"type": "human", "data": {"content": "語" * 500, "id": "i" * 500}}, *LANGCHAIN]

    assert max(map(len, drawn(saved, Inquiry(1), entries=True, width=width))) <= width


def test_the_head_names_open_calls_and_results_without_a_call() -> None:
    """A reader sees at once what waits, and what a cut by hand has left."""
    assert drawn(PENDING, width=300)[0].endswith(" estimated tokens, 1 open tool call (c2 in entry 12)")
    assert drawn(LANGCHAIN[7:], width=300)[0].endswith(
        " estimated tokens, 0 open tool calls; 1 tool result without a call (c1 in entry 0)"
    )


def test_what_is_printable_is_left_alone() -> None:
    """Letters of any script stay, and what is very long is cut."""
    assert printable("Ünï 語 🙂") == "Ünï 語 🙂"
    assert printable("a\u00a0b\u2028c\ue000") == "a\ufffdb\ufffdc\ufffd"
    assert len(printable("x" * 10_000)) == 300
