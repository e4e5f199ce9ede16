"""The demo's data is what the emulator says to the demo's agent."""

from __future__ import annotations

from importlib.resources import files

import pytest

from demo_recording import as_text, record


@pytest.fixture(scope="module")
def recorded() -> dict[str, object]:
    """The conversation, spoken once more."""
    return record()


@pytest.mark.parametrize("name", ["conversation.json", "exchange.json", "desk.json"])
def test_the_shipped_data_is_what_a_new_recording_gives(recorded: dict[str, object], name: str) -> None:
    """A recording made now equals the shipped one, byte for byte; if not, `make record` is due."""
    shipped = files("kedi_compile.demo").joinpath(name).read_text(encoding="utf-8")

    assert as_text(recorded[name]) == shipped
