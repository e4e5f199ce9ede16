"""The scenarios that both adapters go through: each history as lines, the groups it has, and what differs, with why.

The letters of the lines are those of `parity.py`. A group is written as its half-open span in lines, whether it is
closed, and its reasons.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from parity import Lines, Stack


@dataclass(frozen=True)
class Row:
    """One scenario: the history, its groups, and what the one or the other stack has instead, with the reason.

    `core` holds other groups by stack, `host` another history and its groups as the framework's agent shows them.
    """

    name: str
    lines: Lines
    groups: Lines
    core: Mapping[str, Lines] = field(default_factory=dict)
    host: Mapping[str, tuple[Lines, Lines]] = field(default_factory=dict)
    why: str = ""

    def seen_by_core(self, stack: Stack) -> Lines:
        """Return the groups that the core finds."""
        return self.core.get(stack.name, self.groups)

    def seen_by_agent(self, stack: Stack) -> tuple[Lines, Lines]:
        """Return the history and the groups that a processor in an agent is shown."""
        return self.host.get(stack.name, (self.lines, self.seen_by_core(stack)))


MERGED = "Pydantic AI merges neighbouring requests before any capability runs, so system text joins the next prompt."
ANSWERED = "Pydantic AI answers a dangling call with a made-up result before any capability runs; LangChain does not."

ROWS = (
    Row(
        "plain cycles",
        ("U q1", "A a1", "U q2", "A a2", "U q3", "A a3", "U now"),
        ("0:2 closed", "2:4 closed", "4:6 closed", "6:7 open current_request"),
    ),
    Row("the first request", ("U now",), ("0:1 open current_request",)),
    Row(
        "a tool loop",
        ("U q1", "C c1", "R c1", "C c2", "R c2", "A a1", "U now"),
        ("0:6 closed", "6:7 open current_request"),
    ),
    Row(
        "parallel calls",
        ("U q1", "C c1 c2 c3", "R c2", "R c3", "R c1", "A a1", "U q2", "A a2", "U now"),
        ("0:6 closed", "6:8 closed", "8:9 open current_request"),
    ),
    Row(
        "a running loop",
        ("U q1", "A a1", "U q2", "C c1", "R c1", "C c2 c3", "R c2", "R c3"),
        ("0:2 closed", "2:8 open current_request"),
    ),
    Row(
        "signed thinking",
        ("U q1", "H a1", "U q2", "A a2", "U q3", "T c1", "R c1", "A a3", "U now"),
        ("0:2 closed signed_reasoning", "2:4 closed", "4:8 closed signed_reasoning", "8:9 open current_request"),
    ),
    Row(
        "tools the provider served",
        ("U q1", "P a1", "U q2", "A a2", "U now"),
        ("0:2 closed provider_record", "2:4 closed", "4:5 open current_request"),
    ),
    Row(
        "a compaction",
        ("U q1", "K a1", "U q2", "A a2", "U now"),
        ("0:2 closed checkpoint", "2:4 closed", "4:5 open current_request"),
    ),
    Row(
        "an interrupted answer",
        ("U q1", "I half", "U q2", "A a2", "U now"),
        ("0:2 open unfinished", "2:4 closed", "4:5 open current_request"),
    ),
    Row(
        "system text first",
        ("S rule", "U q1", "A a1", "U q2", "A a2", "U now"),
        ("0:1 open system", "1:3 closed", "3:5 closed", "5:6 open current_request"),
        host={
            "pydantic_ai": (
                ("S rule", "U q1", "A a1", "U q2", "A a2", "U now"),
                ("0:3 closed system", "3:5 closed", "5:6 open current_request"),
            )
        },
        why=MERGED,
    ),
    Row(
        "system text between cycles",
        ("U q1", "A a1", "S rule", "U q2", "A a2", "U now"),
        ("0:2 closed", "2:3 open system", "3:5 closed", "5:6 open current_request"),
        host={
            "pydantic_ai": (
                ("U q1", "A a1", "S rule", "U q2", "A a2", "U now"),
                ("0:2 closed", "2:5 closed system", "5:6 open current_request"),
            )
        },
        why=MERGED,
    ),
    Row(
        "system text inside a cycle",
        ("U q1", "C c1", "R c1", "S rule", "A a1", "U q2", "A a2", "U now"),
        ("0:5 closed system", "5:7 closed", "7:8 open current_request"),
    ),
    Row(
        "a pending call",
        ("U q1", "C c1", "U q2", "A a2", "U now"),
        ("0:2 open pending_tool_call", "2:4 closed", "4:5 open current_request"),
        host={
            "pydantic_ai": (
                ("U q1", "C c1", "R c1", "U q2", "A a2", "U now"),
                ("0:5 closed", "5:6 open current_request"),
            )
        },
        why=ANSWERED,
    ),
    Row(
        "a batch answered in part",
        ("U q1", "C c1 c2", "R c1", "A a1", "U now"),
        ("0:4 open pending_tool_call", "4:5 open current_request"),
        host={
            "pydantic_ai": (
                ("U q1", "C c1 c2", "R c1", "R c2", "A a1", "U now"),
                ("0:5 closed", "5:6 open current_request"),
            )
        },
        why=ANSWERED,
    ),
    Row(
        "a late result",
        ("U q1", "C c1", "U q2", "A a2", "R c1", "A a1", "U q3", "A a3", "U now"),
        ("0:6 closed", "6:8 closed", "8:9 open current_request"),
    ),
    Row(
        "a leading answer",
        ("A hello", "U q1", "A a1", "U now"),
        ("0:1 closed", "1:3 closed", "3:4 open current_request"),
    ),
    Row(
        "reused ids",
        ("U q1", "C c1", "R c1", "A a1", "U q2", "C c1", "R c1", "C c1", "R c1", "A a2", "U now"),
        ("0:4 closed", "4:10 closed", "10:11 open current_request"),
    ),
    Row(
        "several prompts in a row",
        ("U q1", "U more", "A a1", "U q2", "A a2", "U now", "U please"),
        ("0:3 closed", "3:5 closed", "5:7 open current_request"),
    ),
    Row(
        "a prompt between two results",
        ("U q1", "C c1 c2", "R c1", "U more", "R c2", "A a1", "U now"),
        ("0:6 closed", "6:7 open current_request"),
        host={
            "pydantic_ai": (
                ("U q1", "C c1 c2", "R c1", "R c2", "U more", "A a1", "U now"),
                ("0:6 closed", "6:7 open current_request"),
            )
        },
        why="Pydantic AI merges the three requests into one and puts results before prompts.",
    ),
    Row(
        "a prompt behind results",
        ("U q1", "C c1", "R c1", "U more", "A a1", "U now"),
        ("0:3 open unfinished", "3:5 closed", "5:6 open current_request"),
        core={"pydantic_ai": ("0:5 closed", "5:6 open current_request")},
        why="Pydantic AI may merge a prompt into the request with the results, so their boundary means nothing there.",
    ),
    Row(
        "two answers in a row",
        ("U q1", "A a1", "A more", "U now"),
        ("0:3 closed", "3:4 open current_request"),
        host={"pydantic_ai": (("U q1", "A a1more", "U now"), ("0:2 closed", "2:3 open current_request"))},
        why="Pydantic AI merges neighbouring responses of an old history; LangChain leaves them to the provider.",
    ),
)
