"""The page's charts as plotly figures, out of the numbers of `series.py`.

A chart says in its own words what is drawn, or why nothing is. Colours of paper and ink are left to the page, which
knows whether it is light or dark; those here are told apart by colour-blind readers and stand out from both. Of a long
run each bar stands for as many neighbours as needed and shows the largest of them, a real request and no average.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any, Final

from plotly import graph_objects as go

from kedi_compile.report.plain import shorten
from kedi_compile.report.series import OTHERS, Band, Series, Strip

BARS: Final = 150
"""How many bars a chart has at most."""
_PAIRS: Final = 50
_CONTRACT_ROWS: Final = 30
_NAME_WIDTH: Final = 28
_TICKS: Final = 10

_PALETTE: Final = ("#2b7bba", "#e08e0b", "#0e9f7e", "#7cc0ea", "#d55e00", "#cc79a7", "#b8a100")
"""After Okabe and Ito, each moved so far that it is seen on white and on near-black."""
_UNTROUBLED: Final = frozenset({"answered", "sent"})
"""Outcomes of a request that brought an answer, or may have: nobody saw what came back of one that was `sent`."""
ACCENT, QUIET, WARNING = "#2b7bba", "#8f959c", "#d55e00"


@dataclass(frozen=True, slots=True)
class Chart:
    """One chart: `figure` is the JSON that plotly draws, None where there is nothing to draw and `text` says why."""

    id: str
    title: str
    text: str
    figure: str | None = None


@dataclass(frozen=True, slots=True)
class Picked:
    """Which of many values are drawn: the index of the largest of every `size` neighbours."""

    size: int
    indices: tuple[int, ...]

    @property
    def text(self) -> str:
        """The sentence to say under a chart that does not draw all; empty where it does."""
        return f" Each bar is the largest of {self.size:,} neighbouring requests." if self.size > 1 else ""

    def split(self, values: Sequence[str]) -> Iterator[Sequence[str]]:
        """Yield the values of the neighbours that each picked one stands for."""
        return (values[start : start + self.size] for start in range(0, len(values), self.size))


def pick(values: Sequence[int], most: int) -> Picked:
    """Pick at most `most` of the values, the first of the largest among equally many neighbours."""
    size = max(1, -(-len(values) // most))
    starts = range(0, len(values), size)
    chosen = (max(range(start, min(start + size, len(values))), key=values.__getitem__) for start in starts)
    return Picked(size, tuple(chosen))


def draw(series: Series) -> tuple[Chart, ...]:
    """Return every chart of the page, in order."""
    return tuple(chart(series) for chart in (_context, _edits, _generations, _protected, _contracts, _cache))


def label(text: str) -> str:
    """Return a name as plotly shows it word for word: plotly reads tags, entities and line breaks in a text."""
    return escape(shorten(text, _NAME_WIDTH), quote=False)


def _context(series: Series) -> Chart:
    title = "Context by source"
    if not any(series.totals):
        return Chart("context", title, "No request says what its tokens are made of.")
    picked = pick(series.totals, BARS)
    x = [series.numbers[index] for index in picked.indices]
    figure = _figure("tokens", picked)
    _add_bands(figure, x, series.context, picked)
    limits = [limit for limit in series.limits if limit is not None]
    text = f"Tokens of each request, by what they are spent on.{picked.text}"
    if limits and max(limits) <= 2 * max(series.totals):
        y = [series.limits[index] for index in picked.indices]
        figure.add_scatter(x=x, y=y, name="limit", mode="lines", line={"dash": "dash", "color": QUIET})
    elif limits:
        text += f" The limit, {_range(limits)}, is far above."
    _add_trouble(figure, series, picked)
    return _chart("context", title, text, figure)


def _range(values: Sequence[int]) -> str:
    low, high = min(values), max(values)
    return f"{low:,}" if low == high else f"{low:,} to {high:,}"


def _add_trouble(figure: go.Figure, series: Series, picked: Picked) -> None:
    """Mark the bars of which a request brought no answer."""
    marked = [
        (index, trouble[0])
        for index, outcomes in zip(picked.indices, picked.split(series.outcomes), strict=True)
        if (trouble := [outcome for outcome in outcomes if outcome not in _UNTROUBLED])
    ]
    if marked:
        figure.add_scatter(
            x=[series.numbers[index] for index, _ in marked],
            y=[series.totals[index] for index, _ in marked],
            text=[outcome for _, outcome in marked],
            name="no answer",
            mode="markers",
            marker={"symbol": "x", "size": 9 if picked.size == 1 else 5, "color": WARNING},
            hovertemplate="%{text}",
        )


def _edits(series: Series) -> Chart:
    title = "Edits of the history"
    if not series.edits:
        return Chart("edits", title, "No request's history was edited.")
    picked = pick([edit.tokens_before - edit.tokens_after for edit in series.edits], _PAIRS)
    edits = [series.edits[index] for index in picked.indices]
    figure = _figure("tokens", picked)
    for name, colour in (("before", QUIET), ("after", ACCENT)):
        figure.add_bar(
            x=[edit.number for edit in edits],
            y=[edit.tokens_before if name == "before" else edit.tokens_after for edit in edits],
            name=name,
            text=[f"{edit.groups_before if name == 'before' else edit.groups_after} groups" for edit in edits],
            textposition="none",
            hovertemplate="%{y:,} in %{text}",
            marker={"color": colour},
        )
    figure.update_layout(barmode="group", xaxis={"type": "category", "tickangle": 0, "nticks": 12}, bargap=0.15)
    text = "Estimated tokens of the history before and after each edit."
    return _chart("edits", title, text + picked.text.replace("requests", "edits"), figure)


def _generations(series: Series) -> Chart:
    title = "Generation"
    if not any(generation for steps in series.generations for generation in steps.generations):
        return Chart("generations", title, "The history stayed in its first generation, 0.")
    figure = _figure("generation")
    one = len(series.numbers) <= BARS
    figure.add_scatter(
        x=_joined([steps.numbers for steps in series.generations]),
        y=_joined([steps.generations for steps in series.generations]),
        name="generation",
        mode="lines+markers" if one else "lines",
        line={"shape": "hv", "color": ACCENT, "width": 2},
        connectgaps=False,
    )
    figure.update_layout(showlegend=False, yaxis=_whole(max(max(steps.generations) for steps in series.generations)))
    return _chart("generations", title, "It rises with each edit; another lane begins a line of its own.", figure)


def _whole(most: int) -> dict[str, int | str | None]:
    """Return an axis of whole numbers; left alone, plotly halves the steps of the small ones."""
    return {"dtick": 1 if most <= _TICKS else None, "tickformat": ",d"}


def _protected(series: Series) -> Chart:
    title = "Protected groups"
    if not series.protected:
        return Chart("protected", title, "No group of any history was protected, or none was looked at.")
    totals = [sum(amounts) for amounts in zip(*(band.amounts for band in series.protected), strict=True)]
    picked = pick(totals, BARS)
    figure = _figure("groups", picked)
    _add_bands(figure, [series.numbers[index] for index in picked.indices], series.protected, picked)
    figure.update_layout(yaxis=_whole(max(totals)))
    text = "Groups of the history that had to stay as they are, by reason; one with two reasons counts in both."
    return _chart("protected", title, text + picked.text, figure)


def _contracts(series: Series) -> Chart:
    title = "Contracts"
    if not series.contracts:
        return Chart("contracts", title, "No request selected a contract.")
    shown = series.contracts[:_CONTRACT_ROWS]
    figure = _figure(None)
    states = ((True, "in force", ACCENT), (False, "selected, not found in what was sent", WARNING))
    for in_force, name, colour in states:
        strips = [strip for strip in series.strips if strip.in_force is in_force and strip.contract in shown]
        if strips:
            _add_strips(figure, strips, shown, name, colour)
    rows = {"tickvals": list(range(len(shown))), "ticktext": list(map(label, shown)), "autorange": "reversed"}
    figure.update_layout(yaxis=rows, height=120 + 30 * len(shown), hovermode="closest")
    more = len(series.contracts) - len(shown)
    text = "A contract is in force where its whole body was found in what was sent."
    return _chart("contracts", title, text + (f" {more:,} more are not drawn." if more else ""), figure)


def _add_strips(figure: go.Figure, strips: Sequence[Strip], shown: Sequence[str], name: str, colour: str) -> None:
    row = {contract: index for index, contract in enumerate(shown)}
    said = [f"{label(strip.contract)}, requests {strip.first:,} to {strip.last:,}" for strip in strips]
    figure.add_scatter(
        x=_joined([(strip.first - 0.45, strip.last + 0.45) for strip in strips]),
        y=_joined([(row[strip.contract],) * 2 for strip in strips]),
        text=_joined([(words, words) for words in said]),
        name=name,
        mode="lines",
        line={"width": 12, "color": colour, "simplify": False},  # a short strip of a long run would be left out
        hoverinfo="text+name",
        connectgaps=False,
    )


def _cache(series: Series) -> Chart:
    title = "Cache reads"
    if not any(count is not None for count in series.cache_reads):
        return Chart("cache", title, "No request reported cache reads.")
    picked = pick([count or 0 for count in series.inputs], BARS)
    x = [series.numbers[index] for index in picked.indices]
    reads, inputs = ([counts[index] for index in picked.indices] for counts in (series.cache_reads, series.inputs))
    figure = _figure("tokens", picked)
    figure.add_bar(x=x, y=reads, name="read from the cache", marker={"color": ACCENT})
    line = {"color": WARNING, "width": 2}
    figure.add_scatter(x=x, y=inputs, name="input", mode="lines+markers", line=line, marker={"size": 5})
    text = "As the provider reported them; a request without a report has no bar."
    return _chart("cache", title, text + picked.text, figure)


def _figure(unit: str | None, picked: Picked | None = None) -> go.Figure:
    thinned = picked is not None and picked.size > 1
    return go.Figure(
        layout={
            "template": None,
            "barmode": "stack",
            "bargap": 0 if thinned else 0.15,
            "height": 340,
            "hovermode": "x unified",
            "margin": {"l": 8, "r": 8, "t": 8, "b": 8},
            "legend": {"orientation": "h", "x": 0, "y": 1.02, "yanchor": "bottom", "traceorder": "normal"},
            "showlegend": True,
            "hoverlabel": {"namelength": -1},
            "xaxis": _places(picked) if picked is not None and thinned else {"tickformat": ",d"} | _REQUESTS,
            "yaxis": {"title": {"text": unit}, "automargin": True, "tickformat": ",", "zeroline": False},
        }
    )


_REQUESTS: Final = {"title": {"text": "request"}, "automargin": True, "showgrid": False}


def _places(picked: Picked) -> dict[str, Any]:
    """Return an axis with a place for each that was picked, and no hole for its neighbours; numbers stand below."""
    return {"type": "category", "range": [-0.5, len(picked.indices) - 0.5], "nticks": 6, "tickangle": 0} | _REQUESTS


def _add_bands(figure: go.Figure, x: Sequence[int], bands: Sequence[Band], picked: Picked) -> None:
    for place, band in enumerate(bands):
        colour = QUIET if band.name == OTHERS else _PALETTE[place % len(_PALETTE)]
        y = [band.amounts[index] for index in picked.indices]
        figure.add_bar(x=x, y=y, name=label(band.name), marker={"color": colour})


def _joined(parts: Sequence[Sequence[Any]]) -> list[Any]:
    """Return the parts one after the other with a gap between them, which plotly draws nothing over."""
    return list(_with_gaps(parts))


def _with_gaps(parts: Sequence[Sequence[Any]]) -> Iterator[Any]:
    for index, part in enumerate(parts):
        if index:
            yield None
        yield from part


def _chart(identity: str, title: str, text: str, figure: go.Figure) -> Chart:
    return Chart(identity, title, text, figure.to_json(engine="json"))
