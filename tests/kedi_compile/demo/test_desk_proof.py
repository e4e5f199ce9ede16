"""The proof of the demo of dumps fails when what it proves is not so."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from pydantic_ai.messages import ModelRequest, UserPromptPart

from kedi_compile.demo.desk_agent import PHONE, DeskPerformance, perform
from kedi_compile.demo.desk_proof import check_desk
from kedi_compile.demo.replay import load_recording

APPENDED = "within a run each request begins with the bytes of the one before"
IN_FORCE = "every contract in force stands whole in the system text that was sent"
LOG = "the log was sent as one line of it, and whole in request 8 alone"
LATE = "the late texts are in what was sent, and not in what the agent keeps"
PHONE_HIDDEN = "the telephone number was sent, and is not in the dump"
REFUSED = "the careless request is in the dump, and was not sent"
RECORDED = "all requests are the ones the recorded answers were given to"


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Where the runs are dumped to."""
    return tmp_path / "run.jsonl"


@pytest.fixture
def runs(dump: Path) -> DeskPerformance:
    """The runs."""
    return perform(load_recording("desk.json"), dump)


def failing(runs: DeskPerformance, dump: Path) -> list[str]:
    """Return the claims that do not hold."""
    return [check.claim for check in check_desk(load_recording("desk.json"), runs, dump) if not check.holds]


def test_every_claim_holds(runs: DeskPerformance, dump: Path) -> None:
    """The demo makes seven claims, and each is true of its runs."""
    checks = check_desk(load_recording("desk.json"), runs, dump)

    assert [(check.claim, check.holds) for check in checks] == [
        (claim, True) for claim in (APPENDED, IN_FORCE, LOG, LATE, PHONE_HIDDEN, REFUSED, RECORDED)
    ]


def with_another_start(bodies: list[bytes]) -> None:
    """Change an early message in a later request of a run, as one does who rewrites late texts."""
    bodies[5] = bodies[5].replace(b"# Task epoch", b"# Task Epoch")


def without_a_contract(bodies: list[bytes]) -> None:
    """Leave the words of a contract out of the system text."""
    bodies[3] = bodies[3].replace(b"Change one booking at a time.", b"")


def with_the_log_twice(bodies: list[bytes]) -> None:
    """Send what a later request sent in an earlier place."""
    bodies[6] = bodies[7]


@pytest.mark.parametrize(
    ("change", "claims"),
    [
        (with_another_start, [APPENDED, RECORDED]),
        (without_a_contract, [IN_FORCE, RECORDED]),
        (with_the_log_twice, [LOG, RECORDED]),
    ],
)
def test_other_requests_fail_the_proof(
    runs: DeskPerformance, dump: Path, change: Callable[[list[bytes]], None], claims: list[str]
) -> None:
    """A request that is not what the dump says is noticed."""
    bodies = list(runs.sent)
    change(bodies)

    found = failing(replace(runs, sent=bodies), dump)

    assert set(claims) <= set(found)


def test_a_late_part_that_is_kept_fails_the_proof(runs: DeskPerformance, dump: Path) -> None:
    """An agent that stores the task epoch in its messages is noticed."""
    history = [*runs.history, ModelRequest([UserPromptPart('# Task epoch "question-1"')])]

    assert failing(replace(runs, history=history), dump) == [LATE]


def test_a_secret_in_the_dump_fails_the_proof(runs: DeskPerformance, dump: Path) -> None:
    """A dump that holds the number is noticed."""
    text = dump.read_text(encoding="utf-8")
    dump.write_text(text.replace("[redacted: telephone]", PHONE), encoding="utf-8")

    assert failing(runs, dump) == [PHONE_HIDDEN]


def test_an_accepted_slice_fails_the_proof(runs: DeskPerformance, dump: Path) -> None:
    """A careless slice that nothing refused is noticed."""
    assert failing(replace(runs, refusal=None), dump) == [REFUSED]
