"""The stable text of one run's requests: contracts that follow the work or are held, and what was sent of them."""

from __future__ import annotations

from assembling import PHASES, Run, contract, inputs
from kedi_compile.assembly import ContractRegistry, ExperimentalFlag, RequestCompiler, RequestInputs, RuntimeEnvironment
from kedi_compile.assembly.run import AssembledStep

REGISTRY = ContractRegistry([contract("look", phases=["explore"]), contract("edit", phases=["mixed", "implement"])])


def run_of(given: RequestInputs) -> Run:
    """Return a run of these inputs."""
    return Run(RequestCompiler(REGISTRY, inputs=given, tool_phases=PHASES))


def contracts(step: AssembledStep) -> list[str]:
    """Return the contracts that a dump calls in force."""
    return [one.id for one in step.dump().contracts if one.in_force]


def test_contracts_follow_the_observed_phase() -> None:
    """The dump says that they changed, and why."""
    run = run_of(inputs())
    first, second, third = run.request(), run.request("read"), run.request("read", "edit")

    assert [contracts(step) for step in (first, second, third)] == [[], ["look"], ["look", "edit"]]
    assert [step.contracts_changed for step in (first, second, third)] == [False, True, True]
    assert third.notes == ("the stable text changed: contracts",)
    assert third.dump().contracts[0].reason == ("phase mixed, observed from calls of read (explore); edit (implement)")


def test_contracts_are_held_where_reasoning_is_bound_to_them() -> None:
    """So is all of the stable text; the dump says so."""
    run = run_of(inputs())
    first = run.request("read", bound=True)
    second = run.request("read", "edit", bound=True)

    assert second.system == first.system
    assert contracts(second) == ["look"]
    assert not second.contracts_changed
    assert second.notes == (
        (
            "contracts look, edit would apply now; those of the request before (look) stay, because reasoning of this "
            "run is bound to them"
        ),
    )


def test_contracts_are_held_with_the_flag() -> None:
    """For the whole run."""
    run = run_of(inputs(flags=frozenset({ExperimentalFlag.FIXED_CONTRACTS})))
    run.request()
    step = run.request("edit")

    assert contracts(step) == []
    assert step.notes == (
        (
            "contracts edit would apply now; those of the request before (none) stay, because the flag fixed_contracts "
            "says so"
        ),
    )


def test_the_stable_text_is_held_where_reasoning_is_bound_to_it() -> None:
    """And follows its inputs again once nothing is."""
    held = [inputs(environment=RuntimeEnvironment(facts={"branch": name})) for name in ("main", "topic", "topic")]
    run = Run(RequestCompiler(inputs=lambda live: held[live.request_index - 1]))
    first, second, third = run.request(), run.request(bound=True), run.request()

    assert second.system == first.system
    assert second.notes == ("the stable text stays, because reasoning of this run is bound to it: environment changed",)
    assert third.system == third.request.system != first.system
    assert third.notes == ("the stable text changed: environment",)


def test_a_contract_is_in_force_only_if_it_was_sent() -> None:
    """The adapter hands over the system text that went out."""
    step = run_of(inputs()).request("read")

    assert [one.in_force for one in step.dump().contracts] == [True]
    assert [one.in_force for one in step.dump("Something else.").contracts] == [False]
