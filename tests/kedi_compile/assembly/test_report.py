"""What a request says about its items."""

from __future__ import annotations

from assembling import compiled, contract, frame, source, steering
from kedi_compile.assembly import (
    Acknowledgement,
    Coverage,
    EvidenceLedger,
    Mutation,
    Recovery,
    Requirement,
    SelectedContract,
    Verification,
    Visibility,
)
from kedi_compile.assembly.report import RETIRED_TOLD, contracts_of
from kedi_compile.dump.schema import ContractDump, ItemDump, ProofDump, RetiredDump, SourceDump, SteeringDump


def test_a_contract_is_in_force_only_if_its_whole_body_was_sent() -> None:
    """Id, version, hash and reason are told either way."""
    one = contract("a", "Do this.\nAnd that.")
    selected = [SelectedContract(one, "named by x")]
    dumped = ContractDump(id="a", version="1", hash=one.hash, reason="named by x", in_force=True)

    assert contracts_of(selected, "# Contract a\n\nDo this.\nAnd that.") == (dumped,)
    assert contracts_of(selected, "# Contract a\n\nDo this.") == (dumped.model_copy(update={"in_force": False}),)


def test_a_source_is_told_with_what_became_of_it() -> None:
    """Identity, version, coverage, visibility, fidelity, decision, reason, sizes, and the way back."""
    request = compiled(source(coverage=Coverage.lines((2, 2)), visibility=Visibility.NOT_VISIBLE))

    assert request.dump.sources == (
        SourceDump(
            handle="a.py@v1#lines 2-2",
            identity="a.py",
            version="v1",
            coverage="lines 2-2",
            visibility="not_visible",
            fidelity="full",
            decision="omitted",
            reason="its record keeps it out",
            tokens=request.items[-1].tokens,
            bytes=6,
            recovery="read a.py again at version v1, lines 2-2",
        ),
    )


def test_an_item_is_told_with_its_place_and_reason() -> None:
    """Also one that is not shown."""
    assert compiled().dump.items[0] == ItemDump(
        place=1, kind="core", id="core", decision="included", reason="always on", tokens=19
    )


def test_proofs_are_told_as_what_they_say_now() -> None:
    """A stale one with the mutation that made it so."""
    live = frame()
    live.verify(Verification("tests pass", passed=True, paths=("a.py",)))
    live.verify(Verification("lint", passed=False, detail="2 errors", stale_by="m0"))
    live.mutate(Mutation("m1", "edit"))
    live.verify(Verification("docs build", passed=True, detail="in 3 s"))

    assert compiled(frame=live).dump.proofs == (
        ProofDump(claim="tests pass", state="stale", reason="stale by mutation m1"),
        ProofDump(claim="lint", state="failed", reason="2 errors"),
        ProofDump(claim="docs build", state="passed", reason="in 3 s"),
    )


def test_the_life_of_steering_is_told() -> None:
    """Superseded, acknowledged, and the active one last."""
    live = frame()
    live.steer(steering("s1"))
    live.steer(steering("s2"))
    live.acknowledge(Acknowledgement("s2", "call_7"))
    live.steer(steering("s3"))
    text = "Do not touch the tests."

    assert compiled(frame=live).dump.steering == (
        SteeringDump(id="s1", text=text, state="superseded", by="s2"),
        SteeringDump(id="s2", text=text, state="acknowledged", by="call_7"),
        SteeringDump(id="s3", text=text, state="active"),
    )


def test_what_is_no_longer_current_is_told_with_the_reason() -> None:
    """Whoever asks why the model does not see a record any more finds when it left; steering has its own account."""
    live, evidence = frame(), EvidenceLedger()
    evidence.record(source())
    evidence.retire("a.py@v1#whole", "changed by m1")
    live.require(Requirement("r1", "Keep the API."))
    live.resolve("R1", "kept")
    live.recover(Recovery("The disk was full."))
    live.recovered("freed")
    live.steer(steering())
    live.acknowledge(Acknowledgement("s1", "the tool"))

    assert compiled(frame=live, evidence=evidence).dump.retired == (
        RetiredDump(kind="requirement", id="r1", reason="kept"),
        RetiredDump(kind="recovery", id="recovery", reason="freed"),
        RetiredDump(kind="source", id="a.py@v1#whole", reason="changed by m1"),
    )


def test_of_many_retired_records_the_newest_are_told() -> None:
    """A task that goes on for days does not fill every line with its past."""
    live = frame()
    for number in range(RETIRED_TOLD + 5):
        live.require(Requirement(f"r{number}", f"Do {number}."))
        live.resolve(f"r{number}", "done")

    told = compiled(frame=live).dump.retired

    assert [one.id for one in told] == [f"r{number}" for number in range(5, RETIRED_TOLD + 5)]
