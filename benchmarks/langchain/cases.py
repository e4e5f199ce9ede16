"""What is measured on LangChain: our adapter's middleware, and the chat model it wraps, configured in several ways.

All callbacks are plain functions and run inline, as they do on synchronous paths.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware

from benchmarks import callbacks as c
from benchmarks.langchain.host import MODEL, AgentRun, Middleware, ModelRun
from benchmarks.stacks import Case
from kedi_compile import HistoryPrefixWarning, HistoryProcessorCondition
from kedi_langchain import LangChainAdapter

Plain = Callable[[c.Context], Sequence[Any]]


class Bare(AgentMiddleware[Any, Any, Any]):
    """A middleware without a single hook: what is timed here is this package."""


def adapter(processor: Plain | None = None, condition: HistoryProcessorCondition | None = None) -> LangChainAdapter:
    """Return a new adapter, without its warning that edits cost prefix-cache hits."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", HistoryPrefixWarning)
        return LangChainAdapter(processor, condition)


def agent_case(name: str, make: Callable[[], Middleware], steps: int = 4) -> Case:
    """Return a case whose runs have a middleware made anew."""
    return Case(name, lambda history: AgentRun(make(), history), steps)


def _middleware(
    name: str, processor: Plain, condition: HistoryProcessorCondition | None = None, steps: int = 4
) -> Case:
    return agent_case(name, lambda: adapter(processor, condition).middleware(), steps)


def _wrapped(name: str, processor: Plain | None = None, condition: HistoryProcessorCondition | None = None) -> Case:
    return Case(
        f"wrapped {name}", lambda history: ModelRun(adapter(processor, condition).wrap(MODEL), history), steps=2
    )


MIDDLEWARE: tuple[Case, ...] = (
    agent_case("bare", Bare),
    agent_case("none", lambda: adapter().middleware()),
    _middleware("index", c.inspect, c.by_index),
    _middleware("estimate", c.inspect, c.by_estimate),
    _middleware("measured", c.inspect, c.by_measured),
    _middleware("version", c.inspect, c.by_version),
    _middleware("keep", c.keep_four),
    _middleware("keep all", c.keep_all),
    _middleware("keep later", c.keep_four_later, steps=c.EDIT_STEP),
    _middleware("inspect", c.inspect),
)

WRAPPED: tuple[Case, ...] = (
    Case("wrapped bare", lambda history: ModelRun(MODEL, history), steps=2),
    _wrapped("none"),
    _wrapped("index", c.inspect, c.by_index),
    _wrapped("estimate", c.inspect, c.by_estimate),
    _wrapped("keep", c.keep_four),
    _wrapped("keep all", c.keep_all),
    _wrapped("inspect", c.inspect),
)

LOOP = _middleware("loop", c.keep_all, c.by_estimate_yes)
ASKING = _middleware("asking", c.keep_all, c.ask_everything)
