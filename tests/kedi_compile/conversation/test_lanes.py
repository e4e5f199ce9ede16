"""Which inputs must agree for a history to go on, and what one more turn makes of a lane."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from typing import Any

import pytest

from kedi_compile.conversation import LaneKey
from kedi_compile.conversation.lanes import SAMPLING, TRANSPORT, Lane, lane_key
from kedi_compile.conversation.records import History
from kedi_compile.history.carried import Carried
from toy import ToyDialect, talk

TOOLS: list[object] = [["look", {"type": "object"}], ["find", {"type": "string"}]]


def key(**changes: Any) -> LaneKey:
    """Return a key with other inputs than usual."""
    inputs = {
        "adapter": "toy",
        "model": "toy:small",
        "settings": {"thinking": "high", "effort": 3},
        "servers": ["files", "mail"],
        "tools": TOOLS,
        "output": {"type": "object"},
    } | changes
    return lane_key(inputs.pop("adapter"), inputs.pop("model"), **inputs)


@pytest.mark.parametrize(
    ("changes", "differs"),
    [
        ({}, ()),
        ({"adapter": "other"}, ("adapter",)),
        ({"model": "toy:large"}, ("model",)),
        ({"settings": {"thinking": "low", "effort": 3}}, ("settings",)),
        ({"settings": {"thinking": "high"}}, ("settings",)),
        ({"settings": {"effort": 3, "thinking": "high"}}, ()),
        ({"settings": {"effort": 3, "thinking": "high", "temperature": 0.5, "timeout": 9}}, ()),
        ({"servers": ["files"]}, ("servers",)),
        ({"servers": ["mail", "files"]}, ()),
        ({"tools": TOOLS[:1]}, ("tools",)),
        ({"tools": TOOLS[::-1]}, ()),
        ({"tools": [["look", {"type": "array"}], TOOLS[1]]}, ("tools",)),
        ({"output": None}, ("output",)),
        ({"output": {"type": "array"}, "model": "toy:large"}, ("model", "output")),
    ],
)
def test_a_key_differs_where_an_incompatible_input_does(changes: dict[str, Any], differs: tuple[str, ...]) -> None:
    """The order of settings, servers and tools means nothing, and neither does what only samples or transports."""
    assert key().differences(key(**changes)) == differs
    assert (key() == key(**changes)) is (differs == ())


@pytest.mark.parametrize("name", sorted(SAMPLING | TRANSPORT))
def test_a_setting_that_samples_or_transports_keeps_the_lane(name: str) -> None:
    """Such a setting changes what is answered or how it travels, and nothing a model has read."""
    assert key(settings={"thinking": "high", "effort": 3, name: 1}) == key()


def test_no_setting_is_both_kinds() -> None:
    """Each stands in the list it belongs to."""
    assert set() == SAMPLING & TRANSPORT


def test_what_there_is_none_of_is_empty() -> None:
    """A plain model's key says so."""
    assert lane_key("toy", "toy:small", settings={"seed": 1}) == LaneKey("toy", "toy:small", "", "", "", "")


def test_a_key_is_the_same_in_every_process() -> None:
    """A stored lane is found again by another process."""
    program = (
        "from kedi_compile.conversation.lanes import lane_key;"
        "print(lane_key('toy', 'toy:small', settings={'b': [1, {'c': None}], 'a': 'x'}, tools=[['look', {'t': 1}]]))"
    )
    others = {
        subprocess.check_output([sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, text=True).strip()
        for seed in ("1", "2")
    }

    assert others == {
        str(lane_key("toy", "toy:small", settings={"a": "x", "b": [1, {"c": None}]}, tools=[["look", {"t": 1}]]))
    }


def test_a_turn_replaces_what_a_lane_holds() -> None:
    """The lane before stays what it was."""
    before: Lane[Any] = Lane(key(), History.empty())

    after = before.after_turn(History(talk("a"), ToyDialect()), Carried(generation=1))

    assert (after.key, after.turns, after.carried.generation, len(after.history)) == (key(), 1, 1, 2)
    assert (before.turns, before.carried.generation, len(before.history)) == (0, 0, 0)


def test_a_key_shows_no_setting_in_the_clear() -> None:
    """All but adapter and model are digests."""
    shown = key(settings={"instructions": "secret"}, servers=["secret"], tools=[["secret"]], output="secret")

    assert "secret" not in str(shown)
    assert [len(getattr(shown, one.name)) for one in fields(shown)[2:]] == [64, 64, 64, 64]
