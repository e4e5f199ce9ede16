"""The numbers of the charts, for the sample run and for small ones."""

from __future__ import annotations

from dumps import build_run
from kedi_compile.dump.schema import HistoryDump, RequestDump
from kedi_compile.report.selection import Numbered, Selection
from kedi_compile.report.series import Band, Edit, Series, Steps, Strip, collect

BARE = RequestDump(request_id="r", at=0.0, request_index=1, adapter="langchain", model_id="m", outcome="answered")


def series_of(*dumps: RequestDump) -> Series:
    """Return the series of the dumps, numbered from 1."""
    return collect(Selection().choose(dumps))


def with_sources(dump: RequestDump, **tokens: int) -> RequestDump:
    """Return the dump with other tokens by source."""
    assert dump.assembly is not None
    budget = dump.assembly.budget.model_copy(update={"by_source": tokens})
    return dump.model_copy(update={"assembly": dump.assembly.model_copy(update={"budget": budget})})


def test_the_largest_seven_sources_have_a_band_each() -> None:
    """In the order they first appear, and all others are one band, the last."""
    context = series_of(*build_run()).context

    assert [band.name for band in context] == [
        "core",
        "contracts",
        "repository",
        "environment",
        "history",
        "evidence",
        "tools",
        "all others",
    ]
    assert context[4].amounts == (0, 640, 2_310, 4_020, 2_180, 3_900, 5_160, 6_420, 3_050, 4_240, 4_240, 5_010)
    assert context[7].amounts == (60, 60, *[200] * 10)


def test_a_source_that_is_not_there_takes_no_tokens() -> None:
    """The totals are those of the requests."""
    first, second = build_run()[:2]

    series = series_of(with_sources(first, core=5), with_sources(second, core=5, evidence=7))

    assert series.context == (Band("core", (5, 5)), Band("evidence", (0, 7)))
    assert series.totals == (5, 12)
    assert series.limits == (32_000, 32_000)


def test_without_a_request_compiler_the_history_is_the_context() -> None:
    """As far as it was estimated."""
    known = BARE.model_copy(update={"history": HistoryDump(outcome="unchanged", tokens_before=9, tokens_after=9)})

    series = series_of(BARE, known)

    assert series.context == (Band("history (estimated)", (0, 9)),)
    assert series.limits == (None, None)


def test_an_edit_has_tokens_and_groups_before_and_after() -> None:
    """A refused edit is none."""
    assert series_of(*build_run()).edits == (Edit(5, 6_350, 2_180, 8, 5), Edit(9, 8_190, 3_050, 10, 6))


def test_the_generation_is_a_line_for_each_stretch_of_a_lane() -> None:
    """A conversation goes on across runs; another lane does not continue its line."""
    first, *_, last = build_run()
    aside = first.model_copy(update={"lane": "aside"})
    later = last.model_copy(update={"run_id": "run-b"})

    assert series_of(first, last, later, aside).generations == (Steps((1, 2, 3), (0, 2, 2)), Steps((4,), (0,)))


def test_protected_groups_are_counted_by_reason() -> None:
    """A request whose history was not looked at has none."""
    protected = series_of(*build_run()).protected

    assert [band.name for band in protected] == ["system", "signed_reasoning", "current_request"]
    assert protected[0].amounts == (1, 1, 1, 1, 1, 1, 1, 0, 1, 1, 1, 1)


def test_a_contract_is_a_strip_as_long_as_it_stands_the_same_way() -> None:
    """It ends where the contract leaves, or is no longer found in what is sent."""
    series = series_of(*build_run())

    assert series.contracts == ("core 3", "provenance 2", "implementation 5", "verification 1")
    assert [strip for strip in series.strips if strip.contract in {"core 3", "provenance 2"}] == [
        Strip("provenance 2", 1, 3, in_force=True),
        Strip("core 3", 1, 7, in_force=True),
        Strip("core 3", 8, 8, in_force=False),
        Strip("core 3", 9, 12, in_force=True),
    ]
    assert next(strip for strip in series.strips if strip.contract == "verification 1") == Strip(
        "verification 1", 4, 4, in_force=False
    )


def test_usage_is_as_reported() -> None:
    """None where nothing was."""
    series = series_of(*build_run())

    assert series.inputs[:3] == (4_400, 6_540, 9_710)
    assert series.cache_reads == (None, 4_905, 7_282, 9_540, 2_600, 10_125, 9_720, None, 2_600, None, 9_780, 10_732)
    assert series.outputs[7] is None


def test_runs_and_models_are_counted() -> None:
    """Each once, whatever the order."""
    dumps = [*build_run()[:2], *build_run("run-b")[:1], BARE]

    series = series_of(*dumps)

    assert series.runs == 2
    assert series.models == ("claude-opus-5", "m")


def test_the_numbers_are_those_of_the_file() -> None:
    """Whichever requests are drawn."""
    assert collect([Numbered(7, BARE)]).numbers == (7,)
