"""What may be asked about a history, and the form of the answer."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kedi_compile import HistoryConfigurationError
from kedi_compile.explain.command import explained
from kedi_compile.explain.explanation import Inquiry, alike
from kedi_compile.explain.reading import parse
from saved import PYDANTIC_AI


@pytest.mark.parametrize(
    ("inquiry", "said"),
    [
        (Inquiry(-1), "`--keep` is -1; it must not be negative"),
        (Inquiry(3, 2), "`--over` is 2; it must not be less than --keep 3"),
        (
            Inquiry(reasoning_protection="never"),
            "`--reasoning-protection` is 'never'; it must be one of always, open_cycle",
        ),
        (Inquiry(model=" "), "`--model` is empty; it must be provider:name"),
        (Inquiry(prompt=""), "`--prompt` is empty; it must be the text of a user message"),
    ],
)
def test_an_option_that_means_nothing_is_refused(inquiry: Inquiry, said: str) -> None:
    """The complaint names the option as it was written, and what it must be."""
    with pytest.raises(HistoryConfigurationError) as refused:
        inquiry.check()

    assert str(refused.value) == said


def test_the_name_of_a_model_stands_behind_its_provider() -> None:
    """The table of binding models knows names; without a model there are none."""
    assert Inquiry(model="anthropic:claude-opus-5-5").model_names == ("claude-opus-5-5",)
    assert Inquiry(model="claude-opus-5-5").model_names == ("claude-opus-5-5",)
    assert Inquiry().model_names == ()


def test_json_is_one_object_with_a_version_in_ascii() -> None:
    """A reader can tell the form, and a terminal finds nothing in it to obey."""
    explanation = explained(parse(json.dumps(PYDANTIC_AI).encode()), Inquiry(1, prompt="\x9b31m \u202e \ud800"))

    written = explanation.to_json()

    assert written.isascii()
    assert list(json.loads(written)) == [
        "version",
        "stack",
        "entries_read",
        "tokens",
        "ending",
        "prompt",
        "open_calls",
        "orphan_results",
        "groups",
        "entries",
        "edit",
    ]
    assert json.loads(written)["version"] == 1
    assert json.loads(written)["prompt"] == "\x9b31m \u202e \ud800"


def test_groups_of_one_fate_are_put_together() -> None:
    """Groups with the same decision for the same reason stand together, in the order of the first of each."""
    one = explained(parse(json.dumps(PYDANTIC_AI).encode()), Inquiry(1)).groups[0]
    groups = [replace(one, id=name, why=name[0]) for name in ("a1", "b1", "a2", "c1", "b2")]

    found = [(why, [group.id for group in same]) for _, why, same in alike(groups)]

    assert found == [("a", ["a1", "a2"]), ("b", ["b1", "b2"]), ("c", ["c1"])]
