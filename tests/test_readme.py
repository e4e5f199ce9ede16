"""README.md says what is true today: its programs, outputs, tables, commands and links."""

from __future__ import annotations

import re
import tomllib
from enum import StrEnum
from typing import Final

import pytest

import readme
from kedi_compile import ProtectedReason
from kedi_compile.history.rules import RULES

TEXT: Final = readme.README.read_text(encoding="utf-8")
PROJECT: Final = tomllib.loads((readme.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ELSEWHERE: Final = {"empty_result", "not_native", "bound_reasoning"}
"""Rules that are checked before or behind the others."""


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """Make the parts that programs make."""
    return readme.made()


@pytest.mark.parametrize("part", ["first program", "first output", "demo"])
def test_what_a_program_makes_is_what_is_shown(part: str, made: dict[str, str]) -> None:
    """`make record`, or `python -m readme` with tests/support on the path, writes these parts anew."""
    assert readme.shown(TEXT)[part] == made[part]


def test_the_demo_fits_in_80_columns() -> None:
    """As the terminal it was made for, and as a code block on a page."""
    assert [line for line in readme.shown(TEXT)["demo"].splitlines() if len(line) > 80] == []


def test_every_rule_is_in_the_table_of_refused_edits() -> None:
    """A rule without a line, and a line without a rule, are both a fault."""
    listed = readme.table(TEXT, "Refused edits")

    assert sorted(listed) == sorted({rule.__name__ for rule in RULES} | ELSEWHERE)


def test_every_reason_is_in_the_table_of_protection() -> None:
    """The reasons are those of `ProtectedReason`."""
    assert issubclass(ProtectedReason, StrEnum)
    assert readme.table(TEXT, "What protects a group") == [str(reason) for reason in ProtectedReason]


def test_links_lead_to_files() -> None:
    """Every relative link is a file of the project."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT)

    assert len(links) > 5
    assert [link for link in links if not (readme.ROOT / link).is_file()] == []


def test_the_extras_and_targets_exist() -> None:
    """What is installed and run by the commands is there."""
    makefile = (readme.ROOT / "Makefile").read_text(encoding="utf-8")
    extras = {extra for names in re.findall(r"\[([a-z,-]+)\]'", TEXT) for extra in names.split(",")}
    targets = set(re.findall(r"^make (\w+)", TEXT, re.MULTILINE))

    assert extras == {"pydantic-ai", "all", "bench", "dev"}
    assert extras <= PROJECT["optional-dependencies"].keys()
    assert targets == {"demo", "test"}
    assert [target for target in targets if f"\n{target}:" not in makefile] == []


def test_the_versions_are_the_projects() -> None:
    """Python and Pydantic AI are required as the text says."""
    assert PROJECT["requires-python"] == ">=3.11"
    assert PROJECT["optional-dependencies"]["pydantic-ai"] == ["pydantic-ai-slim>=2.68,<3"]
    assert "Python 3.11 or newer; the adapter needs `pydantic-ai-slim` 2.68 or newer, below 3." in TEXT
