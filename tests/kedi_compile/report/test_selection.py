"""Requests are chosen by their number in the file, id, run and outcome."""

from __future__ import annotations

import pytest

from dumps import build_run
from kedi_compile.report.selection import Counted, Selection


@pytest.mark.parametrize(
    ("selection", "numbers"),
    [
        (Selection(), list(range(1, 25))),
        (Selection(request="13"), [13]),
        (Selection(request="run-7f3a-08"), [8]),
        (Selection(run="run-b"), list(range(13, 25))),
        (Selection(failed=True), [8, 10, 20, 22]),
        (Selection(run="run-b", failed=True), [20, 22]),
        (Selection(request="8", run="run-b"), []),
        (Selection(request="25"), []),
    ],
)
def test_a_request_keeps_its_number_in_the_file(selection: Selection, numbers: list[int]) -> None:
    """Whatever is chosen, the number is that of the whole file."""
    chosen = selection.choose([*build_run(), *build_run("run-b")])

    assert [request.number for request in chosen] == numbers


def test_the_requests_of_one_conversation_are_found() -> None:
    """One user among many is found by what the host calls the conversation."""
    first, second = build_run()[:2]

    chosen = Selection(conversation="c-7").choose([first, second.model_copy(update={"conversation_id": "c-7"})])

    assert [request.number for request in chosen] == [2]


def test_a_number_that_is_also_an_id_means_both() -> None:
    """Nobody is told that a request is not there when its id is in the file."""
    first, second = build_run()[:2]

    chosen = Selection(request="1").choose([first, second.model_copy(update={"request_id": "1"})])

    assert [request.number for request in chosen] == [1, 2]


@pytest.mark.parametrize(
    ("selection", "words"),
    [
        (Selection(), "request"),
        (Selection("99"), "request '99'"),
        (Selection(run="r", failed=True), "failed or refused request of run 'r'"),
        (Selection(conversation="c"), "request of conversation 'c'"),
    ],
)
def test_a_selection_says_what_it_looks_for(selection: Selection, words: str) -> None:
    """In the words of the message that nothing was found."""
    assert str(selection) == words


def test_only_a_search_for_trouble_may_find_nothing() -> None:
    """A name that nothing has is a mistake; a run without trouble is none."""
    assert Selection(failed=True).may_be_empty
    assert not Selection().may_be_empty
    assert not Selection(run="r", failed=True).may_be_empty


def test_dumps_are_counted_as_they_go_by() -> None:
    """The count is how many were taken."""
    dumps = Counted(build_run())
    next(dumps)

    assert dumps.count == 1
    assert len(list(dumps)) == 11
    assert dumps.count == 12
