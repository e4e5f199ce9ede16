"""Whatever a dump says, it can be shown: nothing fails, nothing commands a terminal, and rows fill their tables."""

from __future__ import annotations

import json
from io import StringIO
from typing import Final

from hypothesis import given, settings
from hypothesis import strategies as st
from rich.console import Console

from kedi_compile.dump.schema import RequestDump
from kedi_compile.report import expansion, listing
from kedi_compile.report.charts import BARS, draw
from kedi_compile.report.selection import Numbered, Selection
from kedi_compile.report.series import BANDS, collect

DUMPS: Final = st.from_type(RequestDump)
CONTROLS: Final = frozenset(map(chr, [*range(10), *range(11, 32), *range(127, 160)]))


@settings(max_examples=500)
@given(DUMPS)
def test_any_request_is_listed_and_expanded_without_a_control_character(dump: RequestDump) -> None:
    """At 80 columns, with numbers of any size and texts of any kind."""
    out = Console(file=StringIO(), width=80, highlight=False)

    assert listing.show(out, [Numbered(1, dump)]) == 1
    expansion.show(out, Numbered(1, dump))

    assert isinstance(out.file, StringIO)
    assert not CONTROLS & set(out.file.getvalue())


@settings(max_examples=100)
@given(st.lists(DUMPS, min_size=1, max_size=4))
def test_any_requests_can_be_drawn(dumps: list[RequestDump]) -> None:
    """Each chart is JSON or says why there is none, and every series has a value a request."""
    series = collect(Selection().choose(dumps))

    for chart in draw(series):
        assert chart.figure is None or set(json.loads(chart.figure)) == {"data", "layout"}
    assert len(series.context) <= BANDS + 1
    assert {len(band.amounts) for band in (*series.context, *series.protected)} <= {len(dumps)}
    assert len(series.numbers) <= BARS
