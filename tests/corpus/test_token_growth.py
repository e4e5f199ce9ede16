"""The token estimate against what providers reported, on recorded traffic; `growth.py` makes the table.

An estimate that undercounts lets a request overflow, so it may fall short in one pair of twenty at most; one that
counts far too much makes conditions fire for nothing. Run with `-s` to see every pair.
"""

import statistics

import pytest

from growth import Pair, pairs, table
from recorded import FOLDER, WITHOUT

pytestmark = pytest.mark.skipif(FOLDER is None, reason=WITHOUT)


@pytest.fixture(scope="module")
def judged() -> list[Pair]:
    """The pairs whose two numbers speak of the same thing; the whole table is printed."""
    found = pairs()
    print("\n" + table(found))  # noqa: T201  # shown with -s, and when a test fails
    return [pair for pair in found if not pair.unjudged]


def test_most_of_the_corpus_is_judged(judged: list[Pair]) -> None:
    """The figures rest on pairs of every provider with reported usage."""
    providers = {pair.recording.partition("_")[0] for pair in judged}

    assert len(judged) >= 20
    assert providers == {"anthropic", "bedrock", "deepseek", "google", "openai"}


def test_the_estimate_rarely_grows_less_than_the_reported_input(judged: list[Pair]) -> None:
    """At most one pair in twenty grows by less than the provider reported."""
    below = [str(pair) for pair in judged if pair.ratio < 1]

    assert len(below) <= 0.05 * len(judged), below


def test_the_estimate_grows_at_most_by_six_tenths_more_in_the_median(judged: list[Pair]) -> None:
    """In the median the estimate grows at most 1.6 times as much as the reported input."""
    assert statistics.median(pair.ratio for pair in judged) <= 1.6
