"""The ledger of sources: one current record of each, and what is to be shown of it."""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import replace

import pytest

from assembling import extraction, ledger, source
from kedi_compile.assembly import Anchor, Coverage, EvidenceLedger, Extraction, Fidelity, Visibility
from kedi_compile.assembly.records import Retired
from kedi_compile.errors import AssemblyError, UnknownInputError


def test_a_record_of_the_same_path_version_and_coverage_replaces_the_older_one() -> None:
    """Which is kept as retired, with the reason; the others stay."""
    old, new = source(body="x = 1\n"), source(body="x = 2\n")
    part, other = source(body="x\n", coverage=Coverage.lines((1, 1))), source(version="v2")

    evidence = ledger(old, part, other, new).snapshot()

    assert evidence.sources == (part, other, new)
    why = "superseded by a newer record of the same path, version and coverage"
    assert evidence.retired == (Retired(replace(old, body=None), why),)


def test_a_source_that_is_recorded_again_stays_where_it_is() -> None:
    """With what was extracted from it and whether it is rehydrated: it is not asked for twice."""
    held = ledger(source(), source("b.py"))
    held.extracted("a.py@v1#whole", extraction())
    held.rehydrate("a.py@v1#whole")
    before = held.snapshot()
    held.record(source())

    assert held.snapshot() == before


def test_another_body_of_a_source_forgets_what_was_extracted() -> None:
    """The extraction speaks of the old one."""
    held = ledger(source())
    held.extracted("a.py@v1#whole", extraction())
    held.rehydrate("a.py@v1#whole")
    held.record(source(body="x = 2\n"))

    evidence = held.snapshot()

    assert (evidence.extractions, evidence.rehydrated) == ({}, frozenset())


def test_another_handle_of_a_source_forgets_what_the_old_one_named() -> None:
    """A later source that takes the handle inherits nothing."""
    held = ledger(source(durable_handle="h"))
    held.extracted("h", extraction())
    held.record(source(durable_handle="g"))
    held.record(source("b.py", durable_handle="h"))

    assert held.snapshot().extractions == {}


def test_a_retired_source_is_not_current() -> None:
    """The reason is kept."""
    held = ledger(source())
    held.retire("a.py@v1#whole", "the file was deleted")

    assert held.snapshot().sources == ()
    assert held.snapshot().retired == (Retired(source(body=None), "the file was deleted"),)


def test_nothing_but_the_identity_of_a_retired_source_is_kept() -> None:
    """Its text may be long, and a task may read a file many times."""
    held = ledger(source(body="x = 1\n"))
    held.record(source(body="x = 2\n"))

    assert [one.record.body for one in held.snapshot().retired] == [None]


def test_a_superseding_source_retires_the_other_versions_of_its_path() -> None:
    """Whatever they cover; other paths and the same version stay, and so does what another version alone can say."""
    held = ledger(source(), source(body="x\n", coverage=Coverage.lines((1, 1))), source("b.py"))
    held.extracted("a.py@v1#whole", extraction())

    held.supersede(source(version="v2"))

    evidence = held.snapshot()
    assert [one.handle for one in evidence.sources] == ["b.py@v1#whole", "a.py@v2#whole"]
    assert [(one.record.handle, one.reason) for one in evidence.retired] == [
        ("a.py@v1#whole", "superseded by version v2 of the same path"),
        ("a.py@v1#lines 1-1", "superseded by version v2 of the same path"),
    ]
    assert evidence.extractions == {}


def test_a_handle_that_is_not_there_is_refused() -> None:
    """The newest that are there are named."""
    with pytest.raises(AssemblyError, match=r"^No current source has the handle 'x'; the newest are 'a.py@v1#whole'$"):
        ledger(source()).retire("x", "")
    with pytest.raises(AssemblyError, match=r"the newest are none at all$"):
        ledger().rehydrate("x")
    with pytest.raises(AssemblyError, match=r"^No current source has the handle 'x'"):
        ledger().extracted("x", extraction())


def test_rehydration_brings_the_exact_text() -> None:
    """From the ledger, or from who has it where the ledger holds the identity alone."""
    held = ledger(source(visibility=Visibility.NOT_VISIBLE), source("b.py", body=None))

    assert held.rehydrate("a.py@v1#whole").body == "x = 1\n"
    assert held.rehydrate("b.py@v1#whole", "y = 2\n").body == "y = 2\n"
    assert held.snapshot().rehydrated == {"a.py@v1#whole", "b.py@v1#whole"}
    assert [one.body for one in held.snapshot().sources] == ["x = 1\n", "y = 2\n"]


def test_rehydration_without_a_text_is_refused() -> None:
    """The message says how the text can be had."""
    with pytest.raises(
        AssemblyError,
        match=r"^The text of 'a.py@v1#whole' is not at hand; read a.py again at version v1, all of it, and give it",
    ):
        ledger(source(body=None)).rehydrate("a.py@v1#whole")


def test_rehydration_with_another_text_is_refused() -> None:
    """Another text is another version."""
    with pytest.raises(AssemblyError, match=r"is not the one it was recorded with; record it as another version$"):
        ledger(source()).rehydrate("a.py@v1#whole", "x = 2\n")


def test_two_sources_of_one_handle_are_refused() -> None:
    """Nothing is recorded then."""
    held = ledger(source(durable_handle="h"))

    with pytest.raises(AssemblyError, match=r"^Two sources have the handle 'h'"):
        held.record(source("b.py", durable_handle="h"))

    assert [one.path for one in held.snapshot().sources] == ["a.py"]


def test_circular_handles_are_refused() -> None:
    """Of one record, and over several."""
    held = ledger(source(durable_handle="a", derived_from="b"))

    with pytest.raises(
        AssemblyError, match=r"^The handles are circular: b -> a -> b; a source is derived from another"
    ):
        held.record(source("b.py", durable_handle="b", derived_from="a"))
    with pytest.raises(AssemblyError, match=r"^The handles are circular: c -> c;"):
        held.record(source("c.py", durable_handle="c", derived_from="c"))


def test_a_ledger_takes_sources_and_extractions_only() -> None:
    """Free tool text has no door in."""
    held = ledger(source())

    with pytest.raises(
        UnknownInputError, match=r"^The evidence ledger was given str; it takes Source, and nothing else$"
    ):
        held.record("x = 1")  # type: ignore[arg-type]  # the type is what is tested
    with pytest.raises(
        UnknownInputError, match=r"^The evidence ledger, as the extraction of 'a.py@v1#whole', was given s"
    ):
        held.extracted("a.py@v1#whole", "It sets x.")  # type: ignore[arg-type]  # the type is what is tested


def test_a_snapshot_does_not_change() -> None:
    """A request is compiled from one moment."""
    held = ledger(source())
    before = held.snapshot()
    held.extracted("a.py@v1#whole", extraction())
    held.retire("a.py@v1#whole", "")

    assert (before.sources, before.extractions) == ((source(),), {})


def test_of_two_versions_that_supersede_at_once_one_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever another thread does when it gets its turn, a path that was read is never without a source."""
    held = EvidenceLedger()
    others = iter([source(version="v2")])

    class Turns(AbstractContextManager[None]):
        def __exit__(self, *_: object) -> None:
            for other in others:
                held.supersede(other)

    monkeypatch.setattr(held, "_lock", Turns())
    held.supersede(source(version="v1"))

    assert [one.version for one in held.snapshot().sources] == ["v2"]


@pytest.mark.parametrize(
    ("text", "fidelity"),
    [("x = 1", Fidelity.EXTRACTED), ("x is 1", Fidelity.SUMMARISED), ("X = 1", Fidelity.SUMMARISED)],
)
def test_anchors_in_other_words_make_a_summary(text: str, fidelity: Fidelity) -> None:
    """A quotation that is none is not called one, whoever made it."""
    held = ledger(source(body="x = 1\n"))
    held.extracted("a.py@v1#whole", Extraction((Anchor("line 1", text),)))

    assert held.snapshot().extractions["a.py@v1#whole"].fidelity is fidelity


def test_the_handle_of_a_retired_source_is_free() -> None:
    """It names one source, as long as that is current."""
    held = ledger(source(durable_handle="h"))
    other = source("b.py", durable_handle="h")

    with pytest.raises(
        AssemblyError, match=r"^Two sources have the handle 'h': 'a.py' and 'b.py'; handles are unique$"
    ):
        held.record(other)
    held.retire("h", "gone")

    assert held.record(other) == other
