"""The specification tables name tests that exist, and leave no sentence without a test or a reason."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
SECTIONS = {
    "SPECIFICATION.md": [
        "Stateful Conversation History",
        "User-Defined History Processing",
        "Native Configuration",
        "Conditional Processing",
        "Recent Groups and Origins",
        "Callback Contract",
        "Context Budget Accounting",
        "Atomic Groups",
        "Persistence and Continuation",
    ],
    "TURN_SPECIFICATION.md": [
        "D1: Separate record-ready instruction data from transient call data",
        "D2: One deterministic compiler owns selection, folding, and rendering",
        "D3: Context blocks use a canonical source-attributed JSON section",
        "D4: Provider translation occurs after neutral compilation",
        "D5: Chat and run share compilation and diverge only for execution",
        "D6: Migrate by adaptation, characterization, and removal of competing policy",
    ],
    "ASSEMBLY_SPECIFICATION.md": [
        "Purpose",
        "Inputs to the compiler",
        "Deterministic assembly order",
        "Contract selection policy",
        "Dynamic frame requirements",
        "Context budget and rehydration",
        "Compiler invariants",
        "Operational observability",
    ],
}
EACH_TABLE = pytest.mark.parametrize("table", SECTIONS)
EACH_SECTION = pytest.mark.parametrize(
    ("table", "section"), [(table, section) for table, sections in SECTIONS.items() for section in sections]
)


def text_of(table: str) -> str:
    """Return the text of a table."""
    return Path(__file__).with_name(table).read_text(encoding="utf-8")


def rows(table: str) -> dict[str, list[tuple[str, str]]]:
    """Read a table: for each section the first words of a sentence and what holds it."""
    out: dict[str, list[tuple[str, str]]] = {}
    for line in text_of(table).splitlines():
        if line.startswith("## "):
            out[line[3:]] = []
        elif line.startswith("| ") and not line.startswith("| sentence "):
            words, held = line.strip("| ").split(" | ", 1)
            list(out.values())[-1].append((words, held))
    return out


@cache
def functions_of(path: str) -> frozenset[str]:
    """The names of the test functions of a file."""
    tree = ast.parse((ROOT / path).read_text(encoding="utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))


@EACH_TABLE
def test_a_table_has_these_sections(table: str) -> None:
    """They are the specification's, in its order."""
    assert list(rows(table)) == SECTIONS[table]


@EACH_SECTION
def test_every_named_test_exists(table: str, section: str) -> None:
    """A test that was renamed is renamed here too."""
    named = [match for _, held in rows(table)[section] for match in REFERENCE.findall(held)]

    missing = [
        f"{path}::{name}" for path, name in named if not (ROOT / path).is_file() or name not in functions_of(path)
    ]

    assert missing == []


@EACH_SECTION
def test_every_sentence_has_a_test_or_a_reason(table: str, section: str) -> None:
    """A row is never empty, and names its sentence by more than one word."""
    assert rows(table)[section] != []
    for words, held in rows(table)[section]:
        assert REFERENCE.search(held) or len(held.split()) > 1
        assert len(words.split()) > 2


@EACH_TABLE
def test_every_path_in_a_table_is_a_reference(table: str) -> None:
    """Nothing that looks like a test escapes the check for a typing error."""
    text = text_of(table)

    assert text.count("::") == len(REFERENCE.findall(text))
