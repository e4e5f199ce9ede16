"""`SPECIFICATION.md` names tests that exist, and leaves no sentence without a test or a reason."""

from __future__ import annotations

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
TABLE = Path(__file__).with_name("SPECIFICATION.md")
REFERENCE = re.compile(r"`(tests/[\w/]+\.py)::(\w+)`")
SECTIONS = [
    "User-Defined History Processing",
    "Native Configuration",
    "Conditional Processing",
    "Recent Groups and Origins",
    "Callback Contract",
    "Context Budget Accounting",
    "Atomic Groups",
    "Persistence and Continuation",
]


def rows() -> dict[str, list[tuple[str, str]]]:
    """Read the table: for each section the first words of a sentence and what holds it."""
    out: dict[str, list[tuple[str, str]]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
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


def test_the_table_has_these_sections() -> None:
    """They are the specification's, in its order."""
    assert list(rows()) == SECTIONS


@pytest.mark.parametrize("section", SECTIONS)
def test_every_named_test_exists(section: str) -> None:
    """A test that was renamed is renamed here too."""
    named = [match for _, held in rows()[section] for match in REFERENCE.findall(held)]

    missing = [
        f"{path}::{name}" for path, name in named if not (ROOT / path).is_file() or name not in functions_of(path)
    ]

    assert missing == []


@pytest.mark.parametrize("section", SECTIONS)
def test_every_sentence_has_a_test_or_a_reason(section: str) -> None:
    """A row is never empty, and names its sentence by more than one word."""
    assert rows()[section] != []
    for words, held in rows()[section]:
        assert REFERENCE.search(held) or len(held.split()) > 1
        assert len(words.split()) > 2


def test_every_path_in_the_table_is_a_reference() -> None:
    """Nothing that looks like a test escapes the check for a typing error."""
    text = TABLE.read_text(encoding="utf-8")

    assert text.count("::") == len(REFERENCE.findall(text))
