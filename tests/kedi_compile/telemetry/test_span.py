"""The span around history processing: what it says, whose child it is, and who are its own."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from dataclasses import replace
from typing import Any

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF

from kedi_compile import HistoryProcessingError, HistoryProcessingValidationError
from kedi_compile.telemetry import span as span_module
from toy import INFO, NOW, Context, Message, session, talk, user

PROVIDER = TracerProvider()
TRACER = PROVIDER.get_tracer("host")
HISTORY = [*talk("a", "b", "secret"), user(NOW)]


@pytest.fixture
def exported(monkeypatch: pytest.MonkeyPatch) -> Generator[Callable[[], Sequence[ReadableSpan]]]:
    """Record the spans of one test, without a provider for the whole process."""
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    monkeypatch.setattr(span_module, "tracer", provider.get_tracer("kedi_compile"))
    yield exporter.get_finished_spans
    provider.shutdown()


def only(spans: Sequence[ReadableSpan]) -> ReadableSpan:
    """Return the only span."""
    (span,) = spans
    return span


def attributes(span: ReadableSpan) -> dict[str, Any]:
    """Return its attributes."""
    return dict(span.attributes or {})


def test_an_edit_is_one_span_with_its_numbers(exported: Callable[[], Sequence[ReadableSpan]]) -> None:
    """Sizes are there only where somebody asked for them."""
    session(lambda ctx: ctx.keep_recent_groups(1)).edit_sync(HISTORY, INFO)

    span = only(exported())
    assert span.name == "process history"
    assert attributes(span) == {
        "gen_ai.provider.name": "toy",
        "gen_ai.request.model": "small",
        "kedi.history.outcome": "edited",
        "kedi.history.entries_before": 7,
        "kedi.history.entries_after": 3,
        "kedi.history.groups_kept": 2,
        "kedi.history.groups_dropped": 2,
        "kedi.history.groups_replaced": 0,
        "kedi.history.first_change": 0,
        "kedi.history.generation": 1,
    }
    assert span.status.is_unset


async def test_an_asynchronous_path_has_the_same_span(exported: Callable[[], Sequence[ReadableSpan]]) -> None:
    """With the size, which the processor read."""

    async def edit(ctx: Context) -> Sequence[Message]:
        return ctx.messages if ctx.estimated_tokens else []

    await session(edit).edit(HISTORY, INFO)

    found = attributes(only(exported()))
    assert found["kedi.history.outcome"] == "unchanged"
    assert (found["kedi.history.tokens_before"], found["kedi.history.tokens_after"]) == (66, 66)
    assert "kedi.history.groups_kept" not in found


def test_a_skipped_request_has_a_span_too(exported: Callable[[], Sequence[ReadableSpan]]) -> None:
    """The condition's time is part of it."""
    session(lambda ctx: ctx.messages, lambda state: False).edit_sync(HISTORY, INFO)

    assert attributes(only(exported()))["kedi.history.outcome"] == "skipped"


def test_without_processor_and_archive_there_is_no_span(exported: Callable[[], Sequence[ReadableSpan]]) -> None:
    """Nothing is processed."""
    session().edit_sync(HISTORY, INFO)

    assert exported() == ()


def working(seen: list[ReadableSpan]) -> Callable[[Context], Sequence[Message]]:
    """Return a processor that does traced work of its own."""

    def edit(ctx: Context) -> Sequence[Message]:
        with TRACER.start_as_current_span("summarize") as own:
            assert isinstance(own, ReadableSpan)
            seen.append(own)
        return ctx.messages

    return edit


def check_family(seen: Sequence[ReadableSpan], processing: ReadableSpan, outer: trace.Span) -> None:
    """Check that the processing is the child of `outer`, and the processor's own span the child of the processing."""
    assert processing.context is not None
    assert processing.parent == outer.get_span_context()
    assert only(seen).parent == processing.context
    assert trace.get_current_span() is outer


def test_the_span_stands_between_the_hosts_and_the_processors(
    exported: Callable[[], Sequence[ReadableSpan]],
) -> None:
    """On a synchronous path the processor runs inline."""
    seen: list[ReadableSpan] = []
    with TRACER.start_as_current_span("chat") as outer:
        session(working(seen)).edit_sync(HISTORY, INFO)

        check_family(seen, only(exported()), outer)


async def test_the_span_reaches_a_worker_thread(exported: Callable[[], Sequence[ReadableSpan]]) -> None:
    """On an asynchronous path a synchronous processor runs there."""
    seen: list[ReadableSpan] = []
    with TRACER.start_as_current_span("chat") as outer:
        await session(working(seen)).edit(HISTORY, INFO)

        check_family(seen, only(exported()), outer)


async def test_the_span_reaches_a_coroutine(exported: Callable[[], Sequence[ReadableSpan]]) -> None:
    """As it does an asynchronous processor, in a running loop and on a synchronous path inside of one."""
    seen: list[ReadableSpan] = []

    async def edit(ctx: Context) -> Sequence[Message]:
        return working(seen)(ctx)

    with TRACER.start_as_current_span("chat") as outer:
        await session(edit).edit(HISTORY, INFO)
        check_family(seen, only(exported()), outer)
        session(edit).edit_sync(HISTORY, INFO)
        check_family(seen[1:], exported()[1], outer)


def test_a_refused_edit_is_an_error_with_its_violations(exported: Callable[[], Sequence[ReadableSpan]]) -> None:
    """They name groups and entries, and quote nothing."""
    with pytest.raises(HistoryProcessingValidationError) as caught:
        session(lambda ctx: ctx.messages[1:]).edit_sync(HISTORY, INFO)

    span = only(exported())
    event = only_event(span)
    assert attributes(span)["kedi.history.outcome"] == "refused"
    assert attributes(span)["error.type"] == "HistoryProcessingValidationError"
    assert (span.status.status_code, span.status.description) == (trace.StatusCode.ERROR, str(caught.value))
    assert event["exception.message"] == str(caught.value)
    assert event["exception.type"] == "kedi_compile.errors.HistoryProcessingValidationError"
    assert "secret" not in span.to_json()


def test_of_the_errors_behind_a_refusal_nothing_is_told(exported: Callable[[], Sequence[ReadableSpan]]) -> None:
    """A refused edit may come up while another error is handled, and that one may quote the conversation."""
    try:
        int("secret")
    except ValueError:
        with pytest.raises(HistoryProcessingValidationError):
            session(lambda _: []).edit_sync(HISTORY, INFO)

    span = only(exported())
    assert "secret" not in span.to_json()
    assert "empty_result: The callback returned an empty history" in only_event(span)["exception.stacktrace"]


def only_event(span: ReadableSpan) -> dict[str, Any]:
    """Return the attributes of its only event, the exception."""
    (event,) = span.events
    assert event.name == "exception"
    return dict(event.attributes or {})


async def test_of_what_a_callback_raised_only_the_type_is_told(exported: Callable[[], Sequence[ReadableSpan]]) -> None:
    """Its text may quote the conversation."""

    def fails(ctx: Context) -> Sequence[Message]:
        raise LookupError(ctx.messages[-2].text)

    with pytest.raises(HistoryProcessingError, match="It is secret"):
        await session(fails).edit(HISTORY, INFO)

    span = only(exported())
    assert attributes(span)["error.type"] == "LookupError"
    assert (span.status.status_code, span.status.description) == (trace.StatusCode.ERROR, "LookupError")
    assert only_event(span) == {"exception.type": "LookupError"}
    assert "secret" not in span.to_json()


def test_a_cancelled_request_is_no_error(exported: Callable[[], Sequence[ReadableSpan]]) -> None:
    """It was given up, and the span that was current before is current again."""

    def stop(ctx: Context) -> Sequence[Message]:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        session(stop).edit_sync(HISTORY, INFO)

    span = only(exported())
    assert attributes(span)["kedi.history.outcome"] == "cancelled"
    assert span.status.is_unset
    assert not trace.get_current_span().get_span_context().is_valid


@pytest.mark.parametrize(
    ("model_id", "provider", "model"),
    [
        ("bedrock:eu.anthropic.claude-v1:0", "aws.bedrock", "eu.anthropic.claude-v1:0"),
        ("azure:gpt-5", "azure.ai.openai", "gpt-5"),
        ("openai:gpt-5", "openai", "gpt-5"),
        ("google_genai:gemini-3", "gcp.gemini", "gemini-3"),
    ],
)
def test_providers_have_the_names_of_the_conventions(
    exported: Callable[[], Sequence[ReadableSpan]], model_id: str, provider: str, model: str
) -> None:
    """Where the framework has another, and whatever stands in the model's name."""
    session(lambda ctx: ctx.messages).edit_sync(HISTORY, replace(INFO, model_id=model_id))

    found = attributes(only(exported()))
    assert (found["gen_ai.provider.name"], found["gen_ai.request.model"]) == (provider, model)


def test_a_span_that_nobody_records_is_not_made_current(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nor is anything told to it."""
    monkeypatch.setattr(span_module, "tracer", TracerProvider(sampler=ALWAYS_OFF).get_tracer("kedi_compile"))
    current: list[trace.Span] = []

    def look(ctx: Context) -> Sequence[Message]:
        current.append(trace.get_current_span())
        return ctx.messages

    session(look).edit_sync(HISTORY, INFO)

    assert current == [trace.INVALID_SPAN]
    assert span_module.begin("toy:small") is None
