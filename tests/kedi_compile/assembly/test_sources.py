"""A source of evidence: where it came from, how much of it there is, and how faithful."""

from __future__ import annotations

import re
from typing import Any

import pytest

from assembling import READ, extraction, source
from kedi_compile.assembly import Anchor, Coverage, Extraction, Fidelity, Provenance, Source
from kedi_compile.errors import AssemblyError, UnknownInputError


@pytest.mark.parametrize(
    ("provenance", "words", "is_tool"),
    [
        (Provenance(tool_call_id="call_1", path="a.py"), "tool call call_1, path a.py", True),
        (Provenance(path="a.py", at=5.0), "path a.py", False),
        (Provenance(author="operator"), "author operator", False),
    ],
)
def test_a_provenance_names_where_a_record_came_from(provenance: Provenance, words: str, is_tool: bool) -> None:
    """Nobody vouches for what a tool call produced."""
    assert (str(provenance), provenance.is_tool) == (words, is_tool)


def test_a_provenance_of_nothing_is_refused() -> None:
    """A time alone says nothing."""
    with pytest.raises(
        AssemblyError, match=r"^A provenance names a tool call, a path, or an author; this one names not"
    ):
        Provenance(at=5.0)


@pytest.mark.parametrize(
    ("coverage", "words", "size"),
    [
        (Coverage.whole(), "whole", None),
        (Coverage.lines((1, 3)), "lines 1-3", 3),
        (Coverage.lines((1, 3), (10, 10)), "lines 1-3, 10-10", 4),
        (Coverage.bytes((0, 3), (3, 9)), "bytes 0-3, 3-9", 9),
    ],
)
def test_a_coverage_says_which_part(coverage: Coverage, words: str, size: int | None) -> None:
    """Lines with both ends, bytes without the end."""
    assert (str(coverage), coverage.size, coverage.is_whole) == (words, size, size is None)


@pytest.mark.parametrize(
    ("unit", "ranges"),
    [
        ("whole", ((1, 2),)),
        ("lines", ()),
        ("bytes", ()),
        ("lines", ((0, 2),)),
        ("lines", ((3, 2),)),
        ("lines", ((1, 3), (3, 5))),
        ("lines", ((5, 6), (1, 2))),
        ("bytes", ((-1, 2),)),
        ("bytes", ((2, 2),)),
        ("bytes", ((0, 3), (2, 5))),
        ("pages", ((1, 2),)),
        ("lines\n# Core", ((1, 2),)),
        ("lines", ((1, 2.5),)),
        ("lines", ((True, 2),)),
        ("lines", ([1, 2],)),
        ("lines", [(1, 2)]),
        ("lines", ((1, 2, 3),)),
    ],
)
def test_a_coverage_of_nothing_clear_is_refused(unit: Any, ranges: Any) -> None:
    """Ranges ascend and do not overlap, and are whole numbers in a known unit."""
    with pytest.raises(
        AssemblyError, match=r"(?s)^The coverage .* is none: it takes the whole and no ranges, or ranges that"
    ):
        Coverage(unit, ranges)


def test_a_handle_is_durable_or_the_key() -> None:
    """A record without either part of its key named goes by what is there."""
    assert source().handle == "a.py@v1#whole"
    assert source(coverage=Coverage.lines((1, 1))).handle == "a.py@v1#lines 1-1"
    assert source(coverage=None).handle == "a.py@v1#unknown"
    assert source(durable_handle="blob-7").handle == "blob-7"


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({}, "read a.py again at version v1, all of it"),
        ({"coverage": None}, "read a.py again at version v1, all of it"),
        ({"coverage": Coverage.lines((1, 1))}, "read a.py again at version v1, lines 1-1"),
        ({"recovery": "call fetch with blob-7"}, "call fetch with blob-7"),
    ],
)
def test_the_way_to_the_exact_text_is_deterministic(options: dict[str, Any], words: str) -> None:
    """The same record gives the same words."""
    assert source(**options).recovery_path == words


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"path": ""}, "The path of a source is blank"),
        ({"version": 3}, "The version of source 'a.py' is int, and must be str"),
        ({"body": b"x"}, "The body of source 'a.py' is bytes, and must be str; decode it first"),
        ({"body": "x\ud800"}, "The body of source 'a.py' cannot be written as UTF-8 at character 1"),
        ({"path": "a\udcff"}, "The path of a source cannot be written as UTF-8 at character 1"),
        ({"recovery": "\ud800"}, "`recovery` of source 'a.py' cannot be written as UTF-8"),
        ({"durable_handle": ""}, "`durable_handle` of source 'a.py' is blank"),
        ({"derived_from": 5}, "`derived_from` of source 'a.py' is int, and must be str"),
        ({"size": -1}, "`size` of source 'a.py' is -1; it is a number of bytes, 0 or more"),
        ({"size": True}, "`size` of source 'a.py' is True; it is a number of bytes, 0 or more"),
    ],
)
def test_a_source_that_cannot_be_sent_is_refused(options: dict[str, Any], fault: str) -> None:
    """When it is made, with the place."""
    given = {"path": "a.py", "version": "v1", "body": "x", "provenance": READ, **options}

    with pytest.raises(AssemblyError, match=f"^{re.escape(fault)}"):
        Source(**given)


@pytest.mark.parametrize(
    ("options", "kind"),
    [
        ({"coverage": "whole"}, "Coverage"),
        ({"visibility": "visible"}, "Visibility"),
        ({"fidelity": "full"}, "Fidelity"),
        ({"fidelity": None}, "Fidelity"),
        ({"provenance": None}, "Provenance"),
        ({"provenance": "call_1"}, "Provenance"),
    ],
)
def test_a_source_of_other_values_is_a_type_error(options: dict[str, Any], kind: str) -> None:
    """A label that is only a str is not converted."""
    with pytest.raises(UnknownInputError, match=f"it takes {kind}, and nothing else$"):
        source(**options)


def test_an_extraction_is_never_full() -> None:
    """Full is the source itself."""
    with pytest.raises(
        AssemblyError, match=r"^An extraction is labelled full; it is extracted or summarised, and the so"
    ):
        extraction(fidelity=Fidelity.FULL)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"summary": " "}, "An extraction holds no anchor, no summary and no unresolved requirement"),
        ({"satisfied": ("r1",), "summary": ""}, "An extraction holds no anchor, no summary and no unresolved requir"),
        ({"summary": b"x"}, "The summary of an extraction is bytes"),
        ({"satisfied": "r1"}, "The satisfied requirements of an extraction are str, and must be a tuple of str"),
        ({"unresolved": ("\ud800",)}, "The unresolved requirements of an extraction, at 0, cannot be written as UTF-8"),
        ({"recovery": "\ud800"}, "The recovery path of an extraction cannot be written as UTF-8"),
        ({"anchors": ("lines 1-2",)}, "`Extraction.anchors` was given str; it takes Anchor, and nothing else"),
        ({"fidelity": "extracted"}, "`Extraction.fidelity` was given str; it takes Fidelity, and nothing else"),
    ],
)
def test_an_extraction_says_something_that_can_be_sent(options: dict[str, Any], fault: str) -> None:
    """Whatever its callback returns."""
    with pytest.raises(AssemblyError, match=f"^{re.escape(fault)}"):
        extraction(**options)


def test_unresolved_requirements_alone_are_an_extraction() -> None:
    """That nothing was found is a finding."""
    assert Extraction(unresolved=("r1",)).fidelity is Fidelity.EXTRACTED


@pytest.mark.parametrize("given", [("", "x"), ("lines 1-2", ""), ("lines 1-2", "\ud800"), (5, "x")])
def test_an_anchor_has_a_place_and_words(given: tuple[Any, Any]) -> None:
    """Both can be sent."""
    with pytest.raises(AssemblyError):
        Anchor(*given)
