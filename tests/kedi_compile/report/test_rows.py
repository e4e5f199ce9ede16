"""The cells of the list, for requests of which much, little or nothing is known."""

from __future__ import annotations

import pytest

from dumps import build_run
from kedi_compile.dump.schema import HistoryDump, RequestDump
from kedi_compile.report.rows import Row, describe, roughly, time_of, total_of
from kedi_compile.report.selection import Numbered

BARE = RequestDump(request_id="r", at=0.0, request_index=1, adapter="langchain", model_id="m", outcome="cancelled")


def test_an_edited_request_is_one_row() -> None:
    """Groups that were dropped or archived are gone, and contracts count where they were found."""
    assert describe(Numbered(9, build_run()[8])) == Row(
        number="9",
        date="2026-12-01",
        time="10:01:00",
        run="run-7f3a",
        index="9",
        adapter="pydantic-ai",
        model="claude-opus-5",
        outcome="answered",
        tokens="11,619",
        limit="32,000",
        size="11.6k/32k",
        history="10 -> 6",
        generation="2",
        contracts="3/3",
        sources="4/1",
        cache="2,600",
    )


def test_what_nobody_knows_is_a_dash() -> None:
    """A request of an adapter without a request compiler and with no usage."""
    row = describe(Numbered(1, BARE))

    assert (row.run, row.size, row.limit, row.history) == ("-", "-", "-", "-")
    assert (row.contracts, row.sources, row.cache, row.generation) == ("-", "-", "-", "0")


@pytest.mark.parametrize(
    ("history", "cell", "total"),
    [
        (HistoryDump(outcome="skipped"), "skipped", None),
        (HistoryDump(outcome="unchanged", tokens_before=70), "unchanged", 70),
        (HistoryDump(outcome="refused"), "refused", None),
        (HistoryDump(outcome="edited", tokens_before=70, tokens_after=30), "edited", 30),
    ],
)
def test_the_history_says_what_became_of_it(history: HistoryDump, cell: str, total: int | None) -> None:
    """And its tokens as sent stand for the request where nothing else was counted."""
    dump = BARE.model_copy(update={"history": history})

    assert describe(Numbered(1, dump)).history == cell
    assert total_of(dump) == total


@pytest.mark.parametrize(
    ("count", "shown"),
    [
        (None, "-"),
        (0, "0"),
        (9_999, "9,999"),
        (10_000, "10k"),
        (12_345, "12.3k"),
        (200_000, "200k"),
        (999_499, "999k"),
        (999_500, "1M"),
        (1_048_576, "1.05M"),
        (5_000_000_000, "5,000M"),
    ],
)
def test_a_count_is_rounded_to_three_digits(count: int | None, shown: str) -> None:
    """Below ten thousand it is exact."""
    assert roughly(count) == shown


@pytest.mark.parametrize("at", [1e300, float("nan"), float("inf"), -1e15])
def test_a_number_that_is_no_time_is_a_dash(at: float) -> None:
    """A damaged time must not hide the request."""
    assert time_of(at) == "-"


def test_a_source_of_which_a_part_is_shown_counts_as_not_seen() -> None:
    """Its body is not in the request, so what the model says of it rests on the part alone."""
    dump = build_run()[0]
    assert dump.assembly is not None
    source = dump.assembly.sources[0].model_copy(update={"decision": "compacted", "visibility": "not_visible"})
    assembly = dump.assembly.model_copy(update={"sources": (source,)})

    assert describe(Numbered(1, dump.model_copy(update={"assembly": assembly}))).sources == "0/1"
