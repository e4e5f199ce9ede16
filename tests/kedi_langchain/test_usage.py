"""The provider's count for an answer as one number, and where a wrapped model has none."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage

from chats import Chat, Transport, adapter, asked, noting
from kedi_compile.dump.schema import UsageDump
from kedi_langchain.usage import reported_tokens, reported_usage


def billed(**usage: Any) -> AIMessage:
    """Return an answer with this usage, as a model or a cache left it."""
    message = AIMessage("yes")
    message.usage_metadata = usage  # type: ignore[assignment]  # caches leave other shapes than the type says
    return message


@pytest.mark.parametrize(
    ("message", "tokens"),
    [
        (billed(input_tokens=60, output_tokens=40, total_tokens=100), 100),
        (billed(input_tokens=60, output_tokens=40, total_tokens=7), 100),
        (billed(input_tokens=60, output_tokens=0, total_tokens=60), 60),
        (AIMessageChunk(content="yes", usage_metadata={"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}), 3),
    ],
    ids=["both", "total does not count", "no output", "chunk"],
)
def test_input_and_output_are_added(message: BaseMessage, tokens: int) -> None:
    """What the provider reports for the next request's prefix is what went in and what came out."""
    assert reported_tokens(message) == tokens


@pytest.mark.parametrize(
    "message",
    [
        AIMessage("yes"),
        HumanMessage("now"),
        billed(input_tokens=0, output_tokens=0, total_tokens=0),
        billed(total_cost=0),
        billed(),
    ],
    ids=["not reported", "no answer", "zero", "a cached answer", "empty"],
)
def test_a_usage_without_numbers_is_none(message: BaseMessage) -> None:
    """A provider that counts nothing reports nothing; a cache hit has a cost and no tokens."""
    assert reported_tokens(message) is None


def test_a_wrapped_model_measures_nothing() -> None:
    """Each of its requests is a run of its own, so there is no earlier answer to measure from; the estimate stands."""
    seen: list[tuple[int | None, bool]] = []
    processor = noting(seen, lambda ctx: (ctx.measured_tokens, ctx.estimated_tokens > 0))
    transport = Transport([billed(input_tokens=60, output_tokens=40, total_tokens=100)])
    model = adapter(processor).wrap(Chat(transport=transport))

    reply = model.invoke(asked())
    model.invoke([*asked(), reply, HumanMessage("and now")])

    assert seen == [(None, True), (None, True)]


@pytest.mark.parametrize(
    ("message", "told"),
    [
        (
            billed(
                input_tokens=60,
                output_tokens=40,
                total_tokens=100,
                input_token_details={"cache_read": 30, "cache_creation": 20},
            ),
            UsageDump(input=60, output=40, cache_read=30, cache_write=20),
        ),
        (billed(input_tokens=60, output_tokens=0, total_tokens=60), UsageDump(input=60, output=0)),
        (
            billed(input_tokens=60, output_tokens=1, total_tokens=61, input_token_details={"audio": 1}),
            UsageDump(input=60, output=1),
        ),
        (billed(total_cost=0), UsageDump()),
        (billed(), UsageDump()),
        (AIMessage("yes"), UsageDump()),
        (HumanMessage("now"), UsageDump()),
        (None, UsageDump()),
    ],
)
def test_a_dump_tells_the_providers_counts(message: BaseMessage | None, told: UsageDump) -> None:
    """What it left out is not told."""
    assert reported_usage(message) == told
