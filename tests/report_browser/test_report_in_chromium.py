"""The page in a real browser: every chart draws, nothing is asked for, and no script fails. `make test-report` runs it.

It is no part of `make test`, because not every machine has a Chromium. What the browser says comes from three places:
the document after the scripts ran, a screenshot, and its own log of the network and of the scripts' errors.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Final, Literal

import pytest
from PIL import Image

from dumps import HOSTILE, build_run, grow, poison
from kedi_compile.report.page import render

MARKS: Final = {"context": 12 * 8, "edits": 4, "generations": 1, "protected": 11 * 3, "contracts": 2, "cache": 8}
"""Chart -> how many marks it has at least: pieces of bars and lines."""
SCHEMES: Final = {"light": "1", "dark": "0"}
PAPER: Final = {"light": (255, 255, 255), "dark": (21, 24, 28)}
PALETTE: Final = ((43, 123, 186), (224, 142, 11), (14, 159, 126), (213, 94, 0), (204, 121, 167))
"""Five colours of the charts, of which none is of the page itself."""

Scheme = Literal["light", "dark"]


@dataclass(frozen=True, slots=True)
class Looked:
    """What became of a page in the browser."""

    document: str
    console: tuple[str, ...]
    asked: tuple[str, ...]


class Charts(HTMLParser):
    """The drawn shapes of each chart: paths that are bars or lines, by the chart's id."""

    def __init__(self, document: str) -> None:
        super().__init__()
        self.marks: dict[str, int] = {}
        self.failed: list[str] = []
        self._chart = ""
        self._layers: list[str] = []
        self.feed(document)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        named = {name: value or "" for name, value in attrs}
        classes = named.get("class", "").split()
        if "drawing" in classes:
            self._chart = named["id"]
            self.marks[self._chart] = 0
            self.failed += [self._chart] if "failed" in classes else []
        if tag == "g":
            self._layers.append(" ".join(classes))
        if tag == "path" and self._is_mark(classes) and len(named.get("d", "")) > len("M0,0Z"):
            self.marks[self._chart] += 1

    def handle_endtag(self, tag: str) -> None:
        if tag == "g" and self._layers:
            self._layers.pop()

    def _is_mark(self, classes: list[str]) -> bool:
        inside = set(" ".join(self._layers).split())
        return "legend" not in inside and ("js-line" in classes or bool(inside & {"point", "points"}))


def chromium(page: Path, *arguments: str, scheme: Scheme = "light") -> subprocess.CompletedProcess[str]:
    """Open the page from the disk, with no way to the network and a profile of its own."""
    program = shutil.which("chromium")
    assert program, "There is no chromium on this machine; install it, for example with: apt-get install chromium"
    return subprocess.run(
        [
            program,
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
            "--hide-scrollbars",
            "--host-resolver-rules=MAP * ~NOTFOUND",
            "--virtual-time-budget=5000",
            "--enable-logging=stderr",
            f"--user-data-dir={page.parent / 'profile'}",
            f"--blink-settings=preferredColorScheme={SCHEMES[scheme]}",
            *arguments,
            page.as_uri(),
        ],
        capture_output=True,
        text=True,
        timeout=60,
        check=True,
    )


def look(page: Path, scheme: Scheme = "light") -> Looked:
    """Let the browser run the page and say what became of it."""
    log = page.with_suffix(".netlog")
    done = chromium(page, "--dump-dom", f"--log-net-log={log}", scheme=scheme)
    said = tuple(line for line in done.stderr.splitlines() if "CONSOLE" in line)
    return Looked(done.stdout, said, tuple(asked_for(log.read_text())))


def asked_for(log: str) -> list[str]:
    """Return the addresses that a document asked for; the browser's own requests have no document behind them."""
    # The log is one event a line, and not closed if the browser is.
    started = re.findall(r'"initiator":"([^"]*)".*?"url":"([^"]*)"', log)
    return [url for initiator, url in started if initiator != "not an origin" and url.startswith(("http", "ws"))]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the sample run's page on the disk."""
    path = tmp_path_factory.mktemp("report") / "report.html"
    path.write_text(render("run.jsonl", build_run()), encoding="utf-8")
    return path


@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_chart_draws_and_no_script_fails(page: Path, scheme: Scheme) -> None:
    """With as many marks as the run has numbers, nothing asked for, and nothing said on the console."""
    looked = look(page, scheme)

    charts = Charts(looked.document)
    assert charts.failed == []
    assert {name: charts.marks.get(name, 0) >= least for name, least in MARKS.items()} == dict.fromkeys(MARKS, True), (
        charts.marks
    )
    assert looked.console == ()
    assert looked.asked == ()


@pytest.mark.parametrize("width", [1_400, 500])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_the_charts_are_seen(page: Path, scheme: Scheme, width: int) -> None:
    """On the paper of the scheme, in colours of which each covers more than a few pixels."""
    picture = page.with_suffix(f".{scheme}.{width}.png")
    chromium(page, f"--window-size={width},2600", f"--screenshot={picture}", scheme=scheme)

    with Image.open(picture) as image:
        pixels = image.convert("RGB")
        seen = {colour: count for count, colour in pixels.getcolors(1 << 24) or []}
        assert pixels.getpixel((2, 2)) == PAPER[scheme]
    assert {colour: seen.get(colour, 0) > 500 for colour in PALETTE} == dict.fromkeys(PALETTE, True)


def test_five_thousand_requests_draw(page: Path) -> None:
    """A long run's page opens, and each of its charts draws."""
    long = page.with_name("long.html")
    long.write_text(render("long.jsonl", grow(5_000)), encoding="utf-8")

    looked = look(long)

    marks = Charts(looked.document).marks
    assert all(marks[name] for name in MARKS), marks
    assert looked.console == ()
    assert looked.document.count("<details ") == 500


def test_hostile_texts_are_shown_and_do_nothing(page: Path) -> None:
    """Neither the page nor plotly makes anything of them: the policy has nothing to stop."""
    hostile = page.with_name("hostile.html")
    hostile.write_text(render(HOSTILE, [poison(dump) for dump in build_run()]), encoding="utf-8")

    looked = look(hostile)

    charts = Charts(looked.document)
    assert charts.failed == []
    assert all(charts.marks[name] for name in MARKS), charts.marks
    assert looked.console == ()
    assert looked.asked == ()


def test_what_this_test_looks_for_would_be_found(page: Path) -> None:
    """A page that asks for a picture, fails, and has an empty chart shows in all three places."""
    bad = page.with_name("bad.html")
    bad.write_text(
        '<div class="drawing" id="context"></div><img src="http://example.invalid/a.png">'
        "<script>throw new Error('on purpose')</script>"
    )

    looked = look(bad)

    assert looked.asked == ("http://example.invalid/a.png",)
    assert any("on purpose" in line for line in looked.console)
    assert Charts(looked.document).marks == {"context": 0}


def test_the_policy_stops_what_a_text_could_bring_in(page: Path) -> None:
    """Were the escaping to fail, a foreign script would not run and a picture would not be fetched."""
    broken = page.with_name("broken.html")
    broken.write_text(
        page.read_text(encoding="utf-8").replace(
            "<main>", '<main><script>document.title = "ran"</script><img src="http://example.invalid/a.png">'
        ),
        encoding="utf-8",
    )

    looked = look(broken)

    assert "<title>run.jsonl - kedi-compile report</title>" in looked.document
    assert looked.asked == ()
    assert json.dumps(looked.console).count("Content Security Policy") >= 2
