"""README.md says what is true today: its programs, outputs, tables, commands and links."""

from __future__ import annotations

import inspect
import re
import tomllib
import warnings
from enum import StrEnum
from types import SimpleNamespace
from typing import Any, Final

import pytest

import readme
from kedi_compile import (
    HistoryEntry,
    HistoryGroup,
    HistoryOrigin,
    HistoryPrefixWarning,
    HistoryProcessorContext,
    HistoryProcessorState,
    ProtectedReason,
)
from kedi_compile.history.rules import RULES

TEXT: Final = readme.README.read_text(encoding="utf-8")
PROJECT: Final = tomllib.loads((readme.ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ELSEWHERE: Final = {"empty_result", "not_native", "bound_reasoning", "changed_after_validation"}
"""Rules that are checked before or behind the others."""


@pytest.fixture(scope="module")
def made() -> dict[str, str]:
    """Make the parts that programs make."""
    return readme.made()


@pytest.mark.parametrize(
    "part",
    [
        *readme.FIRST,
        *(f"{name} output" for name in (*readme.FIRST, *readme.OTHERS)),
        *("demo", "inspect", "inspect in part"),
    ],
)
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
    assert list(readme.table(TEXT, "What protects a group")) == [str(reason) for reason in ProtectedReason]


SHOWN: Final = {
    "state": HistoryProcessorState,
    "group": HistoryGroup,
    "entry": HistoryEntry,
    "origin": HistoryOrigin,
}


@pytest.mark.parametrize("name", SHOWN)
def test_the_attributes_are_those_of_the_class(name: str) -> None:
    """What a row of the table lists is all there is; what stands in brackets explains."""
    assert attributes_in(readme.table(TEXT, "What your function gets and returns")[name]) == members(SHOWN[name])


def test_the_context_has_what_the_state_has_and_more() -> None:
    """The row lists the difference, and each method has a line of its own."""
    differing = attributes_in(readme.table(TEXT, "What your function gets and returns")["ctx"])
    methods = set(re.findall(r"^- `ctx\.(\w+)\(", TEXT, re.MULTILINE)) | {"text_message"}

    assert members(HistoryProcessorContext) == members(HistoryProcessorState) ^ differing | methods


def attributes_in(row: str) -> set[str]:
    """Return what a row names, without what it says in brackets."""
    return set(re.findall(r"`(\w+)`", re.sub(r"\([^)]*\)", "", row)))


def members(kind: type[object]) -> set[str]:
    """Return the public attributes and methods of a class."""
    fields = set(getattr(kind, "__dataclass_fields__", ()))
    return {name for name in fields | set(vars(kind)) if not name.startswith("_")}


def test_the_signatures_are_these() -> None:
    """A method's line is its signature, but for types and the context itself."""
    lines = re.findall(r"^- `ctx\.(\w+)(\([^`]*\))`", TEXT, re.MULTILINE)

    assert len(lines) == 4
    for name, shown in lines:
        parameters = inspect.signature(getattr(HistoryProcessorContext, name)).parameters.values()
        bare = [one.replace(annotation=inspect.Parameter.empty) for one in parameters if one.name != "self"]
        assert str(inspect.Signature(bare)).replace("'", '"') == shown


@pytest.mark.parametrize("program", readme.programs(TEXT), ids=["silence", "adapter", "store"])
def test_a_piece_of_python_runs(program: str) -> None:
    """It can be pasted as it stands."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HistoryPrefixWarning)

        exec(program, {})  # noqa: S102  # our own README


def test_the_shown_adapter_processes_above_the_limit() -> None:
    """The condition compares the measured count, or the estimate where there is none."""
    names: dict[str, Any] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HistoryPrefixWarning)
        exec(readme.programs(TEXT)[1], names)  # noqa: S102  # our own README

    def asked(measured: int | None, estimated: int) -> bool:
        return bool(names["condition"](SimpleNamespace(measured_tokens=measured, estimated_tokens=estimated)))

    assert [asked(None, 50_001), asked(None, 50_000), asked(60_000, 1), asked(1, 60_000)] == [True, False, True, False]


def test_links_lead_to_files() -> None:
    """Every relative link is a file or a folder of the project."""
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", TEXT)

    assert len(links) > 5
    assert [link for link in links if not (readme.ROOT / link).exists()] == []


def test_the_extras_and_targets_exist() -> None:
    """What is installed and run by the commands is there."""
    makefile = (readme.ROOT / "Makefile").read_text(encoding="utf-8")
    found = re.findall(r"'(\.|kedi-compile)\[([a-z,-]+)\]'", TEXT)
    extras = {extra for _, names in found for extra in names.split(",")}
    targets = set(re.findall(r"^make (\w+)", TEXT, re.MULTILINE))

    assert extras == {"pydantic-ai", "langchain", "lionagi", "stores", "all", "bench", "dev"}
    assert extras <= PROJECT["optional-dependencies"].keys()
    assert targets == {"demo", "test"}
    assert [target for target in targets if f"\n{target}:" not in makefile] == []


def test_the_versions_are_the_projects() -> None:
    """Python and the hosts are required as the text says."""
    assert PROJECT["requires-python"] == ">=3.11"
    assert PROJECT["optional-dependencies"]["pydantic-ai"] == ["pydantic-ai-slim>=2.68,<3"]
    assert PROJECT["optional-dependencies"]["langchain"][:3] == [
        "langchain>=1.5,<2",
        "langchain-core>=1.8,<2",
        "langgraph>=1.2,<2",
    ]
    assert PROJECT["optional-dependencies"]["lionagi"] == ["lionagi>=0.29.1,<0.37"]
    install = " ".join(TEXT.partition("## Install\n")[2].partition("```")[0].split())
    assert install.startswith(
        "Python 3.11 or newer. One adapter needs `pydantic-ai-slim` 2.68 or newer, below 3; one `langchain` 1.5, "
        "`langchain-core` 1.8 and `langgraph` 1.2 or newer, each below 2; one `lionagi` 0.29.1 or newer, below 0.37."
    )
