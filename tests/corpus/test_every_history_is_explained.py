"""`kedi-compile explain` on every recorded history, of both frameworks, as it lies on disk."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from kedi_compile.explain.command import explained, run
from kedi_compile.explain.explanation import Inquiry
from kedi_compile.explain.reading import SavedHistory, UnreadableHistory, parse, read
from recorded import FOLDER, WITHOUT

pytestmark = pytest.mark.skipif(FOLDER is None, reason=WITHOUT)

PATHS = sorted((Path(FOLDER) / "histories").glob("*/*.json")) if FOLDER else []
HISTORIES = [pytest.param(path, id=f"{path.parent.name}/{path.stem}") for path in PATHS] or [
    pytest.param(None, id="none")
]


def _read(path: Path) -> SavedHistory:
    if path.read_bytes().strip() == b"[]":
        with pytest.raises(UnreadableHistory, match="The history is empty"):
            read(str(path))
        pytest.skip("a history without messages, which is refused as one")
    return read(str(path))


@pytest.mark.parametrize("protection", ["always", "open_cycle"])
@pytest.mark.parametrize("path", HISTORIES)
def test_a_recorded_history_is_explained(path: Path, protection: str) -> None:
    """It is read as its framework's, its groups partition the entries, and it is drawn in 80 columns."""
    saved = _read(path)
    out = StringIO()

    explanation = explained(saved, Inquiry(0, reasoning_protection=protection))
    run(Console(file=out, width=80), saved, Inquiry(0), entries=True, as_json=False)

    assert saved.stack == path.parent.name.replace("_", "-")
    assert explanation.entries_read == len(json.loads(path.read_bytes()))
    bounds = [(group.start, group.end) for group in explanation.groups]
    assert [start for start, _ in bounds] == [0, *(end for _, end in bounds[:-1])]
    assert bounds[-1][1] == len(explanation.entries)
    assert max(map(len, out.getvalue().splitlines())) <= 80


@pytest.mark.parametrize("path", HISTORIES)
def test_an_explanation_can_be_stored(path: Path) -> None:
    """Its JSON is one object that says which version it is of."""
    assert json.loads(explained(parse(path.read_bytes()), Inquiry()).to_json())["version"] == 1
