"""Tracing is there by itself where the API and a provider are, and is not missed where they are not."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from kedi_compile.telemetry.tracing import begin_span

SUPPORT = Path(__file__).parents[2] / "support"

EDIT = f"""
import sys
sys.path.insert(0, {str(SUPPORT)!r})
from toy import INFO, session, two_talks
run = session(lambda ctx: ctx.keep_recent_groups(1), reports=True)
run.edit_sync(two_talks(), INFO)
print(run.report().outcome)
"""

BLOCKED = """
import sys
sys.modules["opentelemetry"] = None
"""

PROVIDED = """
from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
exporter, provider = InMemorySpanExporter(), TracerProvider()
provider.add_span_processor(SimpleSpanProcessor(exporter))
trace.set_tracer_provider(provider)
"""


def printed_by(program: str) -> list[str]:
    """Return the words that a program prints in a process of its own."""
    return subprocess.check_output([sys.executable, "-c", program], text=True).split()


def test_without_the_api_history_is_processed_all_the_same() -> None:
    """It is an optional package, and no part of it is loaded."""
    asks = "print([name for name in sys.modules if name.startswith('opentelemetry.')])"

    assert printed_by(BLOCKED + EDIT + asks) == ["edited", "[]"]


def test_a_provider_that_is_set_later_is_used() -> None:
    """As applications do: the package is imported first, and nothing is configured for it."""
    names = "print(*[span.name.replace(' ', '-') for span in exporter.get_finished_spans()])"

    assert printed_by("import kedi_compile.session" + PROVIDED + EDIT + names) == ["edited", "process-history"]


def test_without_a_provider_there_is_no_span() -> None:
    """The API alone records nothing."""
    assert begin_span("toy:small") is None
