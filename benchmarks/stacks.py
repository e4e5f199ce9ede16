"""What a framework brings to the benchmark: messages, runs reduced to their hooks, cases, and the rows read off them.

Each framework's folder has one `Stack` in its `stack.py`; everything beside those folders knows no framework.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Protocol

from benchmarks.rows import Readable

NAMES = ("pydantic-ai", "langchain")

Seconds = dict[str, float]


class Run(Protocol):
    """One run of a host in a tool loop."""

    @property
    def messages(self) -> list[Any]:
        """Its history now."""
        ...

    async def step(self) -> Seconds:
        """Make one model request, append the answer and a tool result, and return the seconds by account."""
        ...


@dataclass(frozen=True, slots=True)
class Case:
    """A configuration, made anew for each run over the given history, and how many requests a sample makes."""

    name: str
    start: Callable[[list[Any]], Run]
    steps: int = 4


@dataclass(frozen=True, slots=True)
class Way:
    """A way into the framework: what is configured there, and the rows read off it."""

    title: str
    cases: Sequence[Case]
    rows: Sequence[Readable]


@dataclass(frozen=True, slots=True)
class Stack:
    """One framework. `loop` and `asking` are the cases of the tool loop and of the memory rows."""

    name: str
    packages: Sequence[str]
    history: Callable[[int], list[Any]]
    plain: Callable[[list[Any]], Any]
    """The history in its plain JSON form."""
    parse: Callable[[bytes], list[Any]]
    """The history from that form as JSON text."""
    ways: Sequence[Way]
    neighbours: Way
    loop: Case
    asking: Case

    def versions(self) -> Mapping[str, str | None]:
        """Return the version of each package, or None where it is not installed."""
        return {package: installed(package) for package in self.packages}


def load(name: str) -> Stack:
    """Return the stack of one of `NAMES`; its framework is imported now."""
    stack: Stack = import_module(f"benchmarks.{name.replace('-', '_')}.stack").STACK
    return stack


def installed(package: str) -> str | None:
    """Return a package's version, or None where it is not installed."""
    try:
        return version(package)
    except PackageNotFoundError:
        return None
