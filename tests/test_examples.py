"""Every program in `examples/` runs offline, warns of nothing else, and prints what its page shows."""

from __future__ import annotations

import ast
import os
import re
import subprocess
import sys
import textwrap
from pathlib import Path
from typing import Final, get_args

import pytest
from pydantic_ai.models import KnownModelName

import readme

ROOT: Final = Path(__file__).parents[1]
EXAMPLES: Final = sorted((ROOT / "examples").glob("*.py"))
README: Final = (ROOT / "README.md").read_text(encoding="utf-8")
KNOWN_MODELS: Final = frozenset(get_args(KnownModelName.__value__))
WITHOUT_A_REAL_MODEL: Final = {
    *("assembly_budget", "assembly_first", "testing", "turn_first", "turn_lionagi", "turn_store"),
}
"""A unit test, programs that call no model, and one whose models have names of their own."""
DATABASE: Final = {"DATABASE_URL": os.environ["KEDI_POSTGRES"]} if "KEDI_POSTGRES" in os.environ else {}
"""Where the workers' conversation is kept: on PostgreSQL if the tests have a server."""

RUN: Final = """
import runpy, sys, warnings
from kedi_compile import HistoryPrefixWarning
warnings.filterwarnings("ignore", category=HistoryPrefixWarning)
runpy.run_path(sys.argv[1], run_name="__main__")
"""
"""Runs a program with every warning an error but this one. An option `-W` is read before there are site-packages."""


def output_of(example: Path) -> str:
    """Run a program with every warning an error but the one about cached prefixes, and return what it prints."""
    path = os.pathsep.join([str(ROOT), str(ROOT / "adapters")])
    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", RUN, str(example)],
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={
            **{name: value for name, value in os.environ.items() if name != "FORCE_COLOR"},
            **DATABASE,
            "PYTHONPATH": path,
            "PYTHONIOENCODING": "utf-8",
            "COLUMNS": "80",
        },
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def shown_output(example: Path) -> str:
    """Return what the program's docstring, or the README for the first one, says it prints."""
    source = example.read_text(encoding="utf-8")
    if example.stem.endswith("first"):
        return readme.shown(README)[f"{example.stem} output"]
    docstring = ast.get_docstring(ast.parse(source), clean=False)
    assert docstring is not None
    return textwrap.dedent(docstring.partition("Prints on stdout:\n\n")[2])


def test_the_examples_are_these() -> None:
    """None is lost, and none is added without a place in the README."""
    names = [example.name for example in EXAMPLES]

    assert names == [
        "archive.py",
        "assembly_budget.py",
        "assembly_first.py",
        "assembly_langchain.py",
        "assembly_pydantic_ai.py",
        "assembly_service.py",
        "conditional.py",
        "conversation_first.py",
        "conversation_handover.py",
        "conversation_langchain.py",
        "conversation_restart.py",
        "conversation_workers.py",
        "dump_first.py",
        "explain_history.py",
        "first.py",
        "inspect_origins.py",
        "langchain_chain.py",
        "langchain_first.py",
        "langchain_graph.py",
        "langchain_model.py",
        "langchain_summarizer.py",
        "reasoning_protection.py",
        "redaction.py",
        "summarizer.py",
        "testing.py",
        "turn_first.py",
        "turn_langchain.py",
        "turn_lionagi.py",
        "turn_pydantic_ai.py",
        "turn_store.py",
    ]
    assert [name for name in names if f"examples/{name}" not in README] == []


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.stem)
def test_an_example_prints_what_is_shown(example: Path) -> None:
    """The output on its page is its output."""
    expected = shown_output(example)

    assert expected.strip()
    assert output_of(example) == expected


@pytest.mark.parametrize(
    "example", [one for one in EXAMPLES if one.stem not in WITHOUT_A_REAL_MODEL], ids=lambda one: one.stem
)
def test_an_example_names_a_real_model_that_the_host_knows(example: Path) -> None:
    """One line is all that changes, and it works."""
    (comment,) = re.findall(r"# for a real .*", example.read_text(encoding="utf-8"), re.IGNORECASE)[:1]

    assert re.findall(r'"([a-z]+:[^"]+)"', comment)[0] in KNOWN_MODELS


@pytest.mark.parametrize("name", ["first.py", "langchain_first.py"])
def test_the_first_program_warns_about_cached_prefixes(name: str) -> None:
    """Run as it is, the program shows the one warning that the README speaks of."""
    done = subprocess.run(
        [sys.executable, str(ROOT / "examples" / name)],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), str(ROOT / "adapters")]), "PYTHONWARNINGS": ""},
        check=True,
    )

    assert done.stderr.count("Warning") == done.stderr.count("HistoryPrefixWarning") == 2
