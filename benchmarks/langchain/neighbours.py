"""The framework's own ways to shorten a history, on the same work."""

from __future__ import annotations

from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware
from langchain_core.messages import BaseMessage, trim_messages

from benchmarks.callbacks import NEVER
from benchmarks.langchain.cases import agent_case
from benchmarks.langchain.host import MODEL, FunctionRun, Middleware
from benchmarks.rows import Timed
from benchmarks.stacks import Case, Way
from benchmarks.table import FIRST, LATER

_TOKENS_OF_TWENTY = 5_500
"""What the approximate counter makes of about twenty messages."""


def _trim(max_tokens: int) -> Case:
    def trim(messages: list[BaseMessage]) -> list[BaseMessage]:
        return trim_messages(messages, max_tokens=max_tokens, token_counter="approximate", start_on="human")

    return Case(f"trim {max_tokens}", lambda history: FunctionRun(trim, history))


def _summary(_messages: object) -> str:
    return "What was said so far."


def _summarization(trigger: int) -> Middleware:
    return SummarizationMiddleware(MODEL, trigger=("tokens", trigger), keep=("messages", 20), summarizer=_summary)


def _editing(trigger: int) -> Middleware:
    return ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=trigger, keep=3)])


_CASES = (
    _trim(NEVER),
    _trim(_TOKENS_OF_TWENTY),
    agent_case("summarization trigger", lambda: _summarization(NEVER)),
    agent_case("summarization keep 20", lambda: _summarization(1), steps=1),
    agent_case("editing trigger", lambda: _editing(NEVER)),
    agent_case("editing keep 3", lambda: _editing(1)),
)

_ROWS = (
    Timed("trim_messages, nothing to drop, first request", f"trim {NEVER}", FIRST),
    Timed("trim_messages, nothing to drop, later requests", f"trim {NEVER}", LATER),
    Timed("trim_messages to about 20 messages, first request", f"trim {_TOKENS_OF_TWENTY}", FIRST),
    Timed("trim_messages to about 20 messages, later requests", f"trim {_TOKENS_OF_TWENTY}", LATER),
    Timed("SummarizationMiddleware trigger is false, first request", "summarization trigger", FIRST),
    Timed("SummarizationMiddleware trigger is false, later requests", "summarization trigger", LATER),
    Timed("SummarizationMiddleware keep-last-20, summary for free, first request", "summarization keep 20", FIRST),
    Timed("ContextEditingMiddleware trigger is false, first request", "editing trigger", FIRST),
    Timed("ContextEditingMiddleware trigger is false, later requests", "editing trigger", LATER),
    Timed("ContextEditingMiddleware keeps 3 tool results, first request", "editing keep 3", FIRST),
    Timed("ContextEditingMiddleware keeps 3 tool results, later requests", "editing keep 3", LATER),
)

NEIGHBOURS = Way("LangChain, its own ways", _CASES, _ROWS)
