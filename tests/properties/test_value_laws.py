"""The laws of copies, comparison and digests, over random values: the three must agree on what is the same."""

from __future__ import annotations

import copy
import datetime as dt
from collections import OrderedDict, deque
from dataclasses import dataclass, field
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kedi_compile.canonical import digest
from kedi_compile.structure import clone, same


@dataclass
class Record:
    """A plain record."""

    x: Any = None
    tags: list[Any] = field(default_factory=list)


@dataclass(slots=True)
class Slotted:
    """A record without `__dict__`."""

    x: Any = None


leaves = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-2, 2),
    st.integers(2**63 - 1, 2**64 + 1),
    st.sampled_from([0.0, -0.0, 1.0, float("inf")]),
    st.sampled_from(["", "1", "a", "á", "\ud800"]),
    st.sampled_from([b"", b"a", dt.date(2026, 1, 1), dt.timedelta(1)]),
    st.decimals(allow_nan=False, places=2, min_value=0, max_value=1),
    st.just(bytearray(b"a")).map(copy.copy),
)
keys = st.one_of(st.sampled_from(["a", "b", "1"]), st.integers(0, 2), st.booleans(), st.just((1, "a")))
values = st.recursive(
    leaves,
    lambda inner: st.one_of(
        st.lists(inner, max_size=3),
        st.lists(inner, max_size=3).map(tuple),
        st.dictionaries(keys, inner, max_size=3),
        st.dictionaries(keys, inner, max_size=3).map(OrderedDict),
        st.lists(inner, max_size=3).map(deque),
        st.sets(st.integers(0, 3)),
        st.frozensets(st.sampled_from(["a", "b"])),
        st.builds(Record, inner, st.lists(inner, max_size=2)),
        st.builds(Slotted, inner),
    ),
    max_leaves=8,
)


@given(values)
def test_a_clone_is_the_same_and_has_the_same_digest(value: object) -> None:
    """A copy agrees with its original under both meanings of same."""
    copied = clone(value)

    assert same(value, copied)
    assert digest(value) == digest(copied)


@given(values)
def test_a_clone_is_what_a_deep_copy_is(value: object) -> None:
    """The fast copy and the general one agree."""
    assert same(clone(value), copy.deepcopy(value))


@given(values, values)
def test_comparison_and_digest_agree(one: object, other: object) -> None:
    """Two values are the same exactly if their digests are, and comparison goes both ways."""
    assert same(one, other) is same(other, one) is (digest(one) == digest(other))


@given(values, values, st.integers(0, 3))
def test_a_difference_shows_at_any_depth(one: object, other: object, depth: int) -> None:
    """What differs bare differs inside records and containers."""
    left, right = one, other
    for _ in range(depth):
        left, right = Record({"k": [left]}), Record({"k": [right]})

    assert same(left, right) is same(one, other)
    assert (digest(left) == digest(right)) is (digest(one) == digest(other))


@given(values)
def test_looking_changes_nothing(value: object) -> None:
    """Copying, comparing and digesting leave a value as it was."""
    before = repr(value)
    digest(value)
    same(value, clone(value))

    assert repr(value) == before
