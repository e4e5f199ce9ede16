"""Making a request fit: what goes first, what is kept to the end, and what comes back."""

from __future__ import annotations

import time

from assembling import READ, candidate, compiled, extraction, frame, inputs, ledger, limited, source
from kedi_compile.assembly import (
    AssembledRequest,
    Mutation,
    RequestCompiler,
    Source,
    Verification,
    WorkItem,
    WorkState,
)
from kedi_compile.assembly.items import Form, Item
from kedi_compile.assembly.reduction import fit

LONG = "word " * 200
FULL = Form(LONG)
SMALL = Form("x", decision="compacted", reason="smaller")
GONE = Form("", decision="omitted", reason="left out")


def decisions(items: tuple[Item, ...]) -> dict[str, str]:
    """Return what became of each."""
    return {item.id: item.form.decision for item in items}


def test_what_fits_is_not_reduced() -> None:
    """To the last token: the words, and what parts an item from the next."""
    one = candidate("a", Form("abcd"), GONE)

    assert decisions(fit([one], len, 6)) == {"a": "included"}
    assert decisions(fit([one], len, 5)) == {"a": "omitted"}
    assert decisions(fit([one], len, None)) == {"a": "included"}


def test_narration_that_is_told_elsewhere_goes_first() -> None:
    """The first teller keeps it; evidence is not touched for it."""
    told = Form(f"a: {LONG}", narration=LONG)
    items = fit([candidate("a", told, SMALL), candidate("b", told, SMALL)], len, 1100)

    assert decisions(items) == {"a": "included", "b": "compacted"}
    assert items[1].form.reason == "smaller: told elsewhere, and there is no room"


def test_stale_frames_go_before_evidence() -> None:
    """A stale check's detail, a work item that is done, and mutations beyond the newest."""
    live = frame()
    for number in range(22):
        live.mutate(Mutation(f"m{number}", f"edit {number}", ("b.py",)))
    live.verify(Verification("tests pass", passed=True, detail=LONG, paths=("a.py",)))
    live.mutate(Mutation("last", "edit", ("a.py",)))
    live.work(WorkItem("w1", "Fix it", WorkState.DONE, "note " * 200))
    live.work(WorkItem("w2", "Ship it", WorkState.OPEN))
    whole = compiled(source(), frame=live)
    request = compiled(source(), frame=live, budget=limited(sum(whole.sizes.values()) - 710))

    assert {item.id: item.form.reason for item in request.items if item.form.decision != "included"} == {
        "m0": "older than the newest 20: stale, and there is no room",
        "m1": "older than the newest 20: stale, and there is no room",
        "m2": "older than the newest 20: stale, and there is no room",
        "tests pass": "its detail was left out: stale, and there is no room",
        "w1": "done: stale, and there is no room",
    }
    assert "x = 1" in request.late


def test_the_oldest_evidence_goes_first() -> None:
    """As a whole: to its identity with the way to the exact text."""
    old, new = source("old.py", LONG), source("new.py", LONG)
    whole = compiled(old, new)
    request = compiled(old, new, budget=limited(sum(whole.sizes.values()) - 10))

    assert [(one.identity, one.decision, one.reason) for one in request.dump.sources] == [
        ("old.py", "omitted", "there is no room"),
        ("new.py", "included", "current evidence"),
    ]
    assert "- for the exact text: read old.py again at version v1, all of it" in request.late


def test_a_bounded_full_read_that_was_asked_for_stays_while_it_fits() -> None:
    """Though it is older; it goes when nothing else is left."""
    asked, other = source("asked.py", LONG, requested=True), source("other.py", LONG)
    whole = sum(compiled(asked, other).sizes.values())

    kept = compiled(asked, other, budget=limited(whole - 10))
    gone = compiled(asked, other, budget=limited(whole - 400))

    assert [one.decision for one in kept.dump.sources] == ["included", "omitted"]
    assert [(one.decision, one.reason) for one in gone.dump.sources] == [
        ("omitted", "there is no room even for what was asked for"),
        ("omitted", "there is no room"),
    ]


def test_a_rehydrated_source_stays_like_one_that_was_asked_for() -> None:
    """It was."""
    held = ledger(source("asked.py", LONG), source("other.py", LONG))
    held.rehydrate("asked.py@v1#whole")
    whole = sum(RequestCompiler().compile(inputs(evidence=held)).sizes.values())
    request = RequestCompiler().compile(inputs(evidence=held, budget=limited(whole - 10)))

    assert [one.decision for one in request.dump.sources] == ["rehydrated", "omitted"]


def test_a_body_gives_way_to_its_extraction_before_its_identity() -> None:
    """One step at a time."""
    held = ledger(source(body=LONG))
    held.extracted("a.py@v1#whole", extraction())
    whole = sum(RequestCompiler().compile(inputs(evidence=held)).sizes.values())

    def reduced(by: int) -> AssembledRequest:
        return RequestCompiler().compile(inputs(evidence=held, budget=limited(whole - by, overwhelming=10_000)))

    assert reduced(0).dump.sources[0].decision == "included"
    assert (reduced(10).dump.sources[0].decision, reduced(10).dump.sources[0].reason) == (
        "compacted",
        "its body was extracted: there is no room",
    )
    assert reduced(305).dump.sources[0].decision == "omitted"


def test_the_rest_of_the_narration_goes_last() -> None:
    """Notes, details and summaries, when no evidence is left to reduce."""
    note = candidate("a", Form(LONG, narration="only here"), SMALL)
    items = fit([note], len, 10)

    assert items[0].form.reason == "smaller: there is no room"


def test_what_went_and_fits_after_all_comes_back() -> None:
    """Something big may have gone after something small."""
    small, big = (source(name, body).handle for name, body in (("s.py", "x" * 90), ("b.py", "x" * 30_000)))
    request = compiled(source("s.py", "x" * 90), source("b.py", "x" * 30_000), budget=limited(2_000))

    assert {one.handle: one.decision for one in request.dump.sources} == {small: "included", big: "omitted"}


def test_a_body_that_is_shorter_than_its_identity_stays() -> None:
    """Leaving it out would take more room."""
    short, long = source(), source("long.py", LONG)
    whole = sum(compiled(short, long).sizes.values())

    assert [one.decision for one in compiled(short, long, budget=limited(whole - 10)).dump.sources] == [
        "included",
        "omitted",
    ]


def test_fifty_megabytes_go_to_their_identity_at_once() -> None:
    """With the way to the exact text, and quickly; the body is nowhere in the request."""
    body = "x = 1  # \u00e9\n" * 4_500_000
    started = time.process_time()
    request = compiled(Source("big.log", "v1", body, READ), budget=limited(100_000))
    assert time.process_time() - started < 5

    (one,) = request.dump.sources
    assert one.bytes > 50_000_000
    assert (one.decision, one.visibility, one.recovery) == (
        *("omitted", "not_visible"),
        "read big.log again at version v1, all of it",
    )
    assert body[:100] not in request.late
    assert len(request.late) < 1_000
