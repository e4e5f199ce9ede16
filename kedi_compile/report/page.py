"""The page that draws a run: one file that needs no other and fetches nothing.

The charts come from `charts.py`, the decisions from `decision.py`. Every text is hostile: the template escapes it,
`spell_out` takes its control characters, data stands in JSON that cannot end its element, and the page's own policy
lets a browser run the page's two scripts and load nothing at all. Source: Assembly specification, Operational
observability.
"""

from __future__ import annotations

from base64 import b64encode
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final, get_args

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from kedi_compile.dump.schema import Outcome, RequestDump
from kedi_compile.report.charts import Chart, draw
from kedi_compile.report.decision import NUMERIC, Block, explain
from kedi_compile.report.plain import spell_out
from kedi_compile.report.rows import Row, describe
from kedi_compile.report.selection import Numbered, Selection
from kedi_compile.report.series import Series, collect

EXPANDED: Final = 500
"""How many requests, the last ones, the table holds: as much as a browser lays out without a pause."""
TEXT_CHARACTERS: Final = 2_000
"""How much of a text the page holds."""
_HERE: Final = Path(__file__).parent


@dataclass(frozen=True, slots=True)
class Entry:
    """A request in the table: its cells, and the whole decision below them."""

    row: Row
    blocks: tuple[Block, ...]


def render(name: str, dumps: Iterable[RequestDump]) -> str:
    """Return the page of the dumps read from the file `name`; memory is bounded by the requests in the table."""
    last: deque[Numbered] = deque(maxlen=EXPANDED)
    series = collect(_keep(Selection().choose(dumps), last))
    charts = draw(series)
    style, script, library = _own("page.css"), _own("page.js"), Markup(get_plotlyjs())  # noqa: S704  # our own files
    return _environment().get_template("template.html.j2").render(
        name=name,
        policy=_policy(library, script),
        style=style,
        script=script,
        library=library,
        figures=_figures(series),
        charts=charts,
        data=_data(charts),
        entries=[Entry(describe(request), explain(request.dump)) for request in last],
        numeric=NUMERIC,
        total=len(series.numbers),
        text_characters=TEXT_CHARACTERS,
    )  # fmt: skip


def _figures(series: Series) -> tuple[tuple[str, str], ...]:
    """The run in a few figures, each a number and the word for it; what nobody reported is left out."""
    outcomes = Counter(series.outcomes)
    counts: list[tuple[int | None, str]] = [
        (len(series.numbers), "requests"),
        *((outcomes[name] or None, name) for name in get_args(Outcome)),
        (series.runs or None, "runs"),
        (len(series.models), "models"),
        (len(series.edits), "edits"),
        (max(series.totals, default=0), "tokens at most"),
        (_sum(series.inputs), "tokens in"),
        (_sum(series.outputs), "tokens out"),
        (_sum(series.cache_reads), "read from cache"),
    ]
    return tuple((f"{count:,}", _word(count, word)) for count, word in counts if count is not None)


def _word(count: int, word: str) -> str:
    return word[:-1] if count == 1 and word in {"requests", "runs", "models", "edits"} else word


def _sum(counts: Iterable[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if known else None


def _keep(requests: Iterable[Numbered], last: deque[Numbered]) -> Iterator[Numbered]:
    for request in requests:
        last.append(request)
        yield request


def _own(name: str) -> Markup:
    return Markup((_HERE / name).read_text(encoding="utf-8"))  # noqa: S704  # a file of this package


def _data(charts: Iterable[Chart]) -> Mapping[str, Markup]:
    """Return the figures as JSON that holds no character a browser could take for the end of its element."""
    escapes = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
    return {chart.id: Markup(chart.figure.translate(escapes)) for chart in charts if chart.figure}  # noqa: S704


def _policy(*scripts: str) -> str:
    """Return a policy under which a browser loads nothing and runs only these scripts."""
    hashes = " ".join(f"'sha256-{b64encode(sha256(script.encode()).digest()).decode()}'" for script in scripts)
    nothing_else = "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'"
    return f"default-src 'none'; script-src {hashes}; {nothing_else}"


def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(_HERE),
        autoescape=True,
        trim_blocks=True,
        lstrip_blocks=True,
        undefined=StrictUndefined,
        finalize=_finalize,
    )
    environment.filters["excerpt"] = _excerpt
    return environment


def _finalize(value: object) -> object:
    return spell_out(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _excerpt(text: str) -> str:
    return text if len(text) <= TEXT_CHARACTERS else f"{text[:TEXT_CHARACTERS]}…"
