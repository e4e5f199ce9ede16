"""LangChain as the benchmark sees it."""

from __future__ import annotations

from typing import Any

import orjson
from langchain_core.messages import BaseMessage, messages_from_dict, messages_to_dict

from benchmarks.langchain.cases import ASKING, LOOP, MIDDLEWARE, WRAPPED
from benchmarks.langchain.histories import LangChainAuthor
from benchmarks.langchain.neighbours import NEIGHBOURS
from benchmarks.stacks import Stack, Way
from benchmarks.table import Goals, request_rows, run_rows

_GOALS = Goals(estimate=1.6, estimate_later=0.55, keep=2.2, keep_later=0.8, version=1.4, inspect=0.45)


def _plain(messages: list[BaseMessage]) -> Any:
    return messages_to_dict(messages)


def _parse(text: bytes) -> list[BaseMessage]:
    return messages_from_dict(orjson.loads(text))


STACK = Stack(
    name="langchain",
    packages=("langchain", "langchain-core", "langgraph"),
    history=lambda count: LangChainAuthor().history(count),
    plain=_plain,
    parse=_parse,
    ways=(
        Way("LangChain, kedi-compile as middleware", MIDDLEWARE, run_rows(_GOALS)),
        Way("LangChain, kedi-compile around a chat model", WRAPPED, request_rows(_GOALS, "wrapped")),
    ),
    neighbours=NEIGHBOURS,
    loop=LOOP,
    asking=ASKING,
)
