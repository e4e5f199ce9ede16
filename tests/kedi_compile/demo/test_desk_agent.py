"""The three runs of the demo of dumps, and what they leave in the dump."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedi_compile.demo.desk_agent import PHONE, DeskPerformance, desk_contracts, hide_phones, perform
from kedi_compile.demo.replay import load_recording
from kedi_compile.dump.reading import read_dumps
from kedi_compile.dump.schema import RequestDump


@pytest.fixture(scope="module")
def dump(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs are dumped to."""
    return tmp_path_factory.mktemp("desk") / "run.jsonl"


@pytest.fixture(scope="module")
def runs(dump: Path) -> DeskPerformance:
    """The runs, made once."""
    return perform(load_recording("desk.json"), dump)


@pytest.fixture(scope="module")
def dumps(runs: DeskPerformance, dump: Path) -> list[RequestDump]:
    """What was dumped of them."""
    assert runs.sent
    return list(read_dumps(dump))


def test_eight_requests_are_answered_and_one_is_refused(runs: DeskPerformance, dumps: list[RequestDump]) -> None:
    """The first question takes six requests, the second two, and the third is not sent."""
    assert [(one.request_index, one.outcome) for one in dumps] == [
        *((number, "answered") for number in range(1, 7)),
        (1, "answered"),
        (2, "answered"),
        (1, "refused"),
    ]
    assert len(runs.sent) == 8
    assert runs.refusal is not None


def test_the_contracts_follow_the_observed_phase(dumps: list[RequestDump]) -> None:
    """One was named, the others come with the calls that were made."""
    found = [[one.id for one in dump.assembly.contracts] for dump in dumps if dump.assembly]

    mixed = ["changing", "counting", "guests", "looking"]
    looking = ["guests", "looking"]
    assert found == [["guests"], looking, looking, mixed, mixed, mixed, ["guests"], looking]


def test_the_check_goes_stale_with_the_move(dumps: list[RequestDump]) -> None:
    """It passed, was stale after the change, and passed again."""
    states = [[proof.state for proof in dump.assembly.proofs] for dump in dumps if dump.assembly]

    assert states == [[], [], [], ["passed"], ["stale"], ["passed"], ["passed"], ["passed"]]


def test_the_steering_ends_with_its_acknowledgement(dumps: list[RequestDump]) -> None:
    """It stands until the call that names it."""
    states = [dump.assembly.steering[-1].state for dump in dumps if dump.assembly]

    assert states == ["active"] * 3 + ["acknowledged"] * 5


def test_the_log_is_extracted_and_then_rehydrated(dumps: list[RequestDump]) -> None:
    """It is overwhelming, and shown whole when it is asked for by its handle."""
    found = [
        next((source.decision for source in dump.assembly.sources if source.identity == "log/kitchen"), None)
        for dump in dumps
        if dump.assembly
    ]

    assert found == [None, None, *["compacted"] * 5, "rehydrated"]


def test_the_first_request_edits_the_history(dumps: list[RequestDump]) -> None:
    """Six of eleven groups go, and nothing more in the requests after it."""
    assert [dump.history.outcome for dump in dumps] == ["edited", *["unchanged"] * 7, "refused"]


def test_the_contracts_are_data_of_the_demo() -> None:
    """One of them is for those alone who name it."""
    assert [(one.id, one.explicit_only) for one in desk_contracts()] == [
        ("changing", False),
        ("counting", False),
        ("guests", True),
        ("looking", False),
    ]


def test_telephone_numbers_are_hidden() -> None:
    """A number goes, and the words around it stay."""
    assert hide_phones(f"on {PHONE}.") == "on [redacted: telephone]."


def test_the_pages_that_the_move_outdated_are_told_as_retired(dumps: list[RequestDump]) -> None:
    """Why the model does not see them any more is in the dump."""
    retired = [[(one.id, one.reason) for one in dump.assembly.retired] for dump in dumps if dump.assembly]

    assert ("book/Saturday@1#whole", "changed by move-1") not in retired[3]
    assert ("book/Saturday@1#whole", "changed by move-1") in retired[4]
