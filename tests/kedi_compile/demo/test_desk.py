"""What the desk of the demo writes down when its tools are called."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest
from pydantic_ai.exceptions import ModelRetry

from kedi_compile.assembly import ExtractionRequest, Provenance, Source
from kedi_compile.demo.desk import Desk, extract, kitchen_log

CALL = cast("Any", SimpleNamespace(tool_call_id="call_1"))  # all that a tool reads of the host's context


@pytest.fixture
def desk() -> Desk:
    """A desk that was asked one question."""
    desk = Desk()
    desk.ask("Who comes on Sunday?")
    return desk


def proofs(desk: Desk) -> list[tuple[str, str]]:
    """Return each claim and its state."""
    return [(one.claim, one.state.value) for one in desk.frame.snapshot().verifications]


def handles(desk: Desk) -> list[str]:
    """Return the handles of the current sources."""
    return [source.handle for source in desk.evidence.snapshot().sources]


def test_a_question_begins_a_task_epoch(desk: Desk) -> None:
    """Each question has an epoch of its own, with the words of it."""
    epoch = desk.frame.snapshot().epoch

    assert (epoch.id, epoch.raw_objective) == ("question-1", "Who comes on Sunday?")


async def test_what_is_read_is_evidence_and_the_answer_its_handle(desk: Desk) -> None:
    """The body is in the ledger alone."""
    answer = await desk.read_book(CALL, "Sunday")

    (source,) = desk.evidence.snapshot().sources
    assert answer == "recorded as evidence: book/Sunday@1#whole"
    assert (source.body, source.provenance) == ("two sisters: 2 beds\n", Provenance(tool_call_id="call_1"))


async def test_an_empty_page_says_so(desk: Desk) -> None:
    """A page from which everybody was moved has nobody on it."""
    await desk.move("two sisters", "Sunday", "Saturday")

    await desk.read_book(CALL, "Sunday")

    assert [source.body for source in desk.evidence.snapshot().sources] == ["nobody\n"]


async def test_a_move_makes_the_count_stale_and_retires_the_pages(desk: Desk) -> None:
    """What was counted and read before the change holds no more; the next page has a new version."""
    await desk.read_book(CALL, "Sunday")
    await desk.count_beds("Sunday")
    before = proofs(desk)

    await desk.move("school class", "Saturday", "Sunday")

    assert before == [("Sunday is not overbooked", "passed")]
    assert proofs(desk) == [("Sunday is not overbooked", "stale")]
    assert handles(desk) == []
    assert await desk.read_book(CALL, "Sunday") == "recorded as evidence: book/Sunday@2#whole"


async def test_steering_ends_by_its_name_alone(desk: Desk) -> None:
    """An acknowledgement that names other steering ends nothing, and the model is told which there is."""
    with pytest.raises(ModelRetry, match="names steering 'door'"):
        await desk.acknowledge("door")

    await desk.acknowledge("roof")

    assert desk.frame.snapshot().steering is None


async def test_the_log_can_be_had_again(desk: Desk) -> None:
    """It is rehydrated by the handle that its reading answered with."""
    await desk.read_kitchen_log(CALL)

    await desk.read_again("log/kitchen@day 120#whole")

    assert desk.evidence.snapshot().rehydrated == {"log/kitchen@day 120#whole"}


def test_the_extraction_is_the_one_short_day() -> None:
    """The log has a line for each day, and one of them is about an empty pot."""
    source = Source("log/kitchen", "day 120", kitchen_log(), Provenance(tool_call_id="call_1"))

    extraction = extract(ExtractionRequest(source, "Was there too little?", (), "overwhelming", None))

    assert [anchor.where for anchor in extraction.anchors] == ["line 31"]
    assert extraction.summary == "120 days were read; on the others the soup was enough."
