"""How a stack is reached by its name, and what every stack offers."""

from __future__ import annotations

import subprocess
import sys

import pytest

from kedi_compile.explain.reading import SHAPES
from kedi_compile.explain.stacks import NEEDS, first_text, stack_named


def test_every_shape_has_a_stack() -> None:
    """What can be found out can be read."""
    assert NEEDS.keys() == SHAPES.keys()
    assert [stack_named(name).name for name in SHAPES] == list(SHAPES)


@pytest.mark.parametrize(("name", "other"), [("pydantic-ai", "langchain_core"), ("langchain", "pydantic_ai")])
def test_one_stack_needs_nothing_of_the_other(name: str, other: str) -> None:
    """A history of one framework is explained where the other is not installed."""
    program = f"import sys; sys.modules[{other!r}] = None\nfrom kedi_compile.explain.stacks import stack_named\n"

    subprocess.run([sys.executable, "-c", f"{program}stack_named({name!r})"], check=True)


def test_reading_loads_no_framework() -> None:
    """Which framework is needed is known before one is imported."""
    program = "import sys, kedi_compile.explain.reading, kedi_compile.explain.command; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", program], text=True).split()

    assert not {"pydantic_ai", "langchain_core", "langchain", "langgraph"} & set(loaded)


def test_the_first_text_has_words_in_it() -> None:
    """Blank texts and what is no text are passed over."""
    assert first_text([None, 3, " \n", "found", "later"]) == "found"
    assert first_text([]) == ""
