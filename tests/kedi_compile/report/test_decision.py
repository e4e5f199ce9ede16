"""What is said of one request, block by block."""

from __future__ import annotations

import pytest

from dumps import build_run
from kedi_compile.dump.schema import RequestDump, RetiredDump, UnselectedDump
from kedi_compile.report.decision import Block, explain, place_name

BARE = RequestDump(request_id="r", at=0.0, request_index=1, adapter="langchain", model_id="m", outcome="answered")


def block_of(title: str, index: int) -> Block:
    """Return a block of a request of the sample run."""
    return next(block for block in explain(build_run()[index - 1]) if block.title == title)


def test_everything_that_is_known_has_a_block() -> None:
    """In this order."""
    assert [block.title for block in explain(build_run()[8])] == [
        "Request",
        "Task",
        "What went in, and why",
        "Contracts",
        "Steering",
        "Proofs",
        "Budget",
        "Sections as sent",
        "Tails, the late texts of this run",
        "History",
        "Usage as the provider reported it",
    ]


def test_what_is_not_known_has_none() -> None:
    """A request of which only the outcome is known is short."""
    request, history = explain(BARE)

    assert request.facts[0] == ("id", "r")
    assert history.facts == (("outcome", "not processed"), ("generation", "0 -> 0"))


def test_items_and_sources_stand_by_place_with_their_reasons() -> None:
    """A source tells what it covers, whether the model saw it, and how to have it again."""
    rows = block_of("What went in, and why", 9).rows

    assert [row[0] for row in rows] == [
        "1 core",
        "3 repository",
        "4 environment",
        "5 task",
        *["6 evidence"] * 5,
        "7 frame",
        "9 tools",
    ]
    assert rows[7] == (
        "6 evidence",
        "S4 CHANGELOG.md, version 06572a96, whole",
        "omitted",
        "1,240",
        "no requirement needs it (full, not visible; for the exact text: read_file CHANGELOG.md)",
    )
    assert rows[8][2:] == ("rehydrated", "612", "the failing claim names it (full, visible)")


def test_a_contract_says_whether_it_is_in_force() -> None:
    """And the change is a fact of its own."""
    block = block_of("Contracts", 4)

    assert block.facts == (("changed", "yes, since the request before"),)
    assert [(row[0], row[3], row[4]) for row in block.rows] == [
        ("core", "yes", "always on"),
        ("implementation", "yes", "phase implement"),
        ("verification", "no", "an edit"),
    ]


def test_a_contract_that_does_not_apply_says_what_would_select_it() -> None:
    """Below those that do; it has no hash, because its body is nowhere."""
    dump = build_run()[3]
    assert dump.assembly is not None
    unselected = (UnselectedDump(id="release", version="3", reason="only who names it selects it"),)
    assembly = dump.assembly.model_copy(update={"unselected": unselected})

    blocks = {block.title: block for block in explain(dump.model_copy(update={"assembly": assembly}))}

    assert blocks["Contracts"].rows[-1] == ("release", "3", "", "not selected", "only who names it selects it")
    assert len(blocks["Contracts"].rows) == len(dump.assembly.contracts) + 1


def test_steering_says_what_acknowledged_it() -> None:
    """An active one has nothing there."""
    assert [row[:3] for row in block_of("Steering", 5).rows] == [("steer-1", "active", "-")]
    assert [row[:3] for row in block_of("Steering", 6).rows] == [("steer-1", "acknowledged", "run-7f3a-06")]


def test_the_budget_says_what_is_left() -> None:
    """After the answer's share, by source."""
    block = block_of("Budget", 9)

    assert block.facts == (
        ("total", "11,619"),
        ("limit", "32,000"),
        ("kept for the answer", "4,000"),
        ("left", "16,381"),
    )
    assert block.rows[6] == ("evidence", "4,899", "42%")


def test_the_history_is_told_group_by_group() -> None:
    """With what became of each, why, and what protects it."""
    block = block_of("History", 9)

    assert block.facts == (
        ("outcome", "edited"),
        ("groups", "10 -> 6"),
        ("tokens", "8,190 -> 3,050"),
        ("first changed entry", "1"),
        ("generation", "1 -> 2"),
    )
    assert block.rows[2] == ("g2", "4:6", "470", "closed", "dropped", "", "older than the last 4 groups")
    assert block.rows[8] == ("g8", "16:18", "1,250", "closed", "kept", "signed reasoning", "")
    assert block.texts == (
        ("added", "Earlier: three files were read; see archive a-1."),
        ("server-side state", "previous_response_id is dropped: the history before it changed"),
        ("keep_recent_groups", "keep_recent_groups(4) kept 4 of 7 groups"),
    )


def test_a_refused_edit_names_the_broken_rule() -> None:
    """And the request says what became of it."""
    assert block_of("History", 8).texts[0][0] == "broken rule"
    assert dict(block_of("Request", 8).facts)["outcome"] == "refused"


@pytest.mark.parametrize(("place", "name"), [(6, "6 evidence"), (12, "12")])
def test_a_place_of_a_newer_writer_has_its_number_alone(place: int, name: str) -> None:
    """The nine have a word."""
    assert place_name(place) == name


def test_every_row_fills_its_columns() -> None:
    """Whoever draws a table can rely on it."""
    for dump in build_run():
        for block in explain(dump):
            assert {len(row) for row in block.rows} <= {len(block.columns)}


def test_a_handle_that_is_made_of_the_identity_is_not_said_twice() -> None:
    """Where the ledger named the source, its path, version and coverage say the same."""
    dump = build_run()[8]
    assert dump.assembly is not None
    source = dump.assembly.sources[0]
    named = source.model_copy(update={"handle": f"{source.identity}@{source.version}#{source.coverage}"})
    assembly = dump.assembly.model_copy(update={"sources": (named,), "items": ()})

    (block,) = (one for one in explain(dump.model_copy(update={"assembly": assembly})) if one.title.startswith("What"))

    assert block.rows[0][1] == f"{source.identity}, version {source.version}, {source.coverage}"


def test_what_was_observed_is_said_once() -> None:
    """Each contract of the phase has it as its reason, and the task says what it was observed from."""
    dump = build_run()[8]
    assert dump.assembly is not None
    reason = f"phase {dump.assembly.phase}, {dump.assembly.phase_reason}"
    contract = dump.assembly.contracts[0].model_copy(update={"reason": reason})
    assembly = dump.assembly.model_copy(update={"contracts": (contract,)})

    blocks = {block.title: block for block in explain(dump.model_copy(update={"assembly": assembly}))}

    assert dump.assembly.phase_reason
    assert blocks["Contracts"].rows[0][-1] == f"phase {dump.assembly.phase}"
    assert dump.assembly.phase_reason in dict(blocks["Task"].facts)["phase"]


def test_what_is_no_longer_current_has_a_table_of_its_own() -> None:
    """It answers why something that the model had seen is not in this request."""
    dump = build_run()[8]
    assert dump.assembly is not None
    retired = (
        RetiredDump(kind="source", id="a.py@1#whole", reason="changed by m1"),
        RetiredDump(kind="recovery", id="recovery", reason="done"),
    )
    assembly = dump.assembly.model_copy(update={"retired": retired})

    blocks = {block.title: block for block in explain(dump.model_copy(update={"assembly": assembly}))}

    assert blocks["No longer current, so not in this request"].rows == (
        ("source a.py@1#whole", "changed by m1"),
        ("recovery", "done"),
    )
    assert "No longer current, so not in this request" not in {block.title for block in explain(dump)}


def test_an_error_of_many_lines_goes_on_below_its_first() -> None:
    """A table of sizes is read as one; the rules that an edit broke are told with the history alone."""
    dump = build_run()[8].model_copy(update={"error": "BudgetExceeded: too much\n  core  5\n  tools  7"})
    refused = dump.model_copy(update={"history": dump.history.model_copy(update={"violations": ("split_group: x",)})})

    block = explain(dump)[0]

    assert ("error", "BudgetExceeded: too much") in block.facts
    assert block.texts == (("the error goes on", "  core  5\n  tools  7"),)
    assert explain(refused)[0].texts == ()


def test_the_way_to_a_text_is_told_where_it_is_not_seen() -> None:
    """Where the model sees the text, nobody needs to read it again."""
    dump = build_run()[8]
    assert dump.assembly is not None
    source = dump.assembly.sources[0]
    seen, out = (
        source.model_copy(update={"visibility": state, "fidelity": "full", "reason": "why", "recovery": "read it"})
        for state in ("visible", "not_visible")
    )
    assembly = dump.assembly.model_copy(update={"sources": (seen, out), "items": ()})

    blocks = {block.title: block for block in explain(dump.model_copy(update={"assembly": assembly}))}

    assert [row[-1] for row in blocks["What went in, and why"].rows] == [
        "why (full, visible)",
        "why (full, not visible; for the exact text: read it)",
    ]
