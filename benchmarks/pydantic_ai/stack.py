"""Pydantic AI as the benchmark sees it."""

from __future__ import annotations

from typing import Any

from pydantic_ai.messages import ModelMessage, ModelMessagesTypeAdapter

from benchmarks.pydantic_ai.cases import ASKING, CASES, LOOP
from benchmarks.pydantic_ai.histories import PydanticAuthor
from benchmarks.pydantic_ai.neighbours import HARNESS, NEIGHBOURS, SUMMARIZATION
from benchmarks.stacks import Stack, Way
from benchmarks.table import Goals, run_rows

_GOALS = Goals(estimate=1.2, estimate_later=0.45, keep=1.8, keep_later=0.6, version=1.1, inspect=0.4)


def _plain(messages: list[ModelMessage]) -> Any:
    return ModelMessagesTypeAdapter.dump_python(messages, mode="json")


STACK = Stack(
    name="pydantic-ai",
    packages=("pydantic-ai-slim", HARNESS, SUMMARIZATION),
    history=lambda count: PydanticAuthor().history(count),
    plain=_plain,
    parse=ModelMessagesTypeAdapter.validate_json,
    ways=(Way("Pydantic AI, kedi-compile", CASES, run_rows(_GOALS)),),
    neighbours=NEIGHBOURS,
    loop=LOOP,
    asking=ASKING,
)
