"""The frameworks whose saved histories can be explained, and how each is reached when it is asked for.

A `Stack` is all that `facts.py` knows of a framework. What makes one is in a module of its own, which imports the
framework and its adapter; it is loaded by name, so that a history of one needs nothing of the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Final, NamedTuple, cast

from pydantic import ValidationError

from kedi_compile.dialect import Dialect


@dataclass(frozen=True, slots=True)
class Stack:
    """One framework's messages: how they are read from JSON, described, built, and their words found.

    `load` takes a message's index and its JSON object; it raises `UnreadableHistory`.
    """

    name: str
    dialect: Dialect[Any]
    load: Callable[[int, Mapping[str, object]], Any]
    words: Callable[[Any], str]


class Need(NamedTuple):
    """What must be installed for a stack: the extra, and the modules that it brings."""

    extra: str
    modules: tuple[str, ...]


NEEDS: Final[Mapping[str, Need]] = {
    "pydantic-ai": Need("pydantic-ai", ("pydantic_ai",)),
    "langchain": Need("langchain", ("langchain", "langchain_core", "langgraph")),
}

_MODULES: Final[Mapping[str, str]] = {
    "pydantic-ai": "kedi_compile.explain.pydantic_ai_stack",
    "langchain": "kedi_compile.explain.langchain_stack",
}


def stack_named(name: str) -> Stack:
    """Import a framework and return how its histories are read; the caller has seen that `NEEDS` are met."""
    return cast(Stack, import_module(_MODULES[name]).STACK)


def first_text(values: Sequence[object]) -> str:
    """Return the first of the values that is a text with words in it, or nothing."""
    return next((value for value in values if isinstance(value, str) and value.strip()), "")


def first_error(error: ValidationError, outside: int = 0) -> str:
    """Return the first thing that pydantic found wrong, and where, without the `outside` first steps of the way.

    Its own text repeats the input, which may be of any size.
    """
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    place = ".".join(map(str, first["loc"][outside:]))
    return f"{first['msg']} at {place}" if place else first["msg"]
