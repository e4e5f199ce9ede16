"""Which contracts a request carries: by an observed phase or by name, never by words."""

from __future__ import annotations

import pytest

from assembling import CALLS, CONTRACT_SETS, PHASES, compiled, contract, frame, inputs, table_registry
from kedi_compile.assembly import ContractRegistry, Phase, RequestCompiler
from kedi_compile.assembly.contracts import NamedModule, configured_modules, operator_modules
from kedi_compile.assembly.phases import ObservedPhase
from kedi_compile.errors import AssemblyError, UnknownInputError

REGISTRY = ContractRegistry(
    [contract("edit", phases=["implement"]), contract("release", phases=["implement"]), contract("check")]
)
IMPLEMENT = ObservedPhase(Phase.IMPLEMENT, "observed from calls of edit")


@pytest.mark.parametrize("row", CONTRACT_SETS)
def test_the_specifications_example_table(row: str) -> None:
    """Each row selects its set beside the core, and nothing else: by tool calls, or by explicit modules."""
    named = () if row in CALLS else CONTRACT_SETS[row]
    compiler = RequestCompiler(table_registry(row), tool_phases=PHASES, reference_contract_modules=named)

    request = compiler.compile(inputs(calls=CALLS.get(row, ("read",))))

    assert {one.contract.id for one in request.contracts} == set(CONTRACT_SETS[row])
    assert [item.id for item in request.items if item.kind == "core"] == ["core"]
    assert all(one.in_force and one.hash and one.reason for one in request.dump.contracts)


def test_the_core_is_always_on() -> None:
    """Without a registry, a phase or a module it is all there is."""
    request = compiled()

    assert request.contracts == ()
    assert request.system.startswith("# Core (core, version 1)\n\nYou are a careful engineer.")


def test_a_phase_selects_what_names_it() -> None:
    """An explicit-only contract is not selected by a phase, though it names one."""
    selected = REGISTRY.select(IMPLEMENT)

    assert [(one.contract.id, one.reason) for one in selected] == [
        ("edit", "phase implement, observed from calls of edit")
    ]


def test_a_mixed_phase_selects_what_each_of_its_phases_does() -> None:
    """A contract does not leave because the work goes on with something else."""
    registry = ContractRegistry([contract("look", phases=["explore"]), contract("edit", phases=["implement"])])
    compiler = RequestCompiler(registry, tool_phases={"read": "explore", "change": "implement"})

    sets = [
        [one.contract.id for one in compiler.compile(inputs(calls=calls)).contracts]
        for calls in (("read",), ("read", "change"), ("read", "change", "read"))
    ]

    assert sets == [["look"], ["look", "edit"], ["look", "edit"]]


def test_the_dump_names_the_contracts_that_do_not_apply() -> None:
    """With what would select them: whoever asks what was left out finds contracts too."""
    registry = ContractRegistry(
        [contract("look", phases=["explore"]), contract("edit", phases=["implement", "plan"]), contract("release")]
    )

    dump = RequestCompiler(registry, tool_phases={"read": "explore"}).compile(inputs(calls=("read",))).dump

    assert [one.id for one in dump.contracts] == ["look"]
    assert [(one.id, one.reason) for one in dump.unselected] == [
        ("edit", "selected by the phase implement or plan"),
        ("release", "only who names it selects it"),
    ]


def test_a_module_is_selected_by_name() -> None:
    """Whatever the phase; the reason says who named it first, and the order is the registry's."""
    modules = (
        NamedModule("check", "reference_contract_modules"),
        NamedModule("release", "x"),
        NamedModule("check", "y"),
    )

    selected = REGISTRY.select(ObservedPhase(None, ""), modules)

    assert [(one.contract.id, one.reason) for one in selected] == [
        ("release", "named by x"),
        ("check", "named by reference_contract_modules"),
    ]


def test_words_of_a_user_select_nothing() -> None:
    """A message about a release does not load the release contract."""
    words = "Please do the security release, research it and delegate: implement, deploy, verify."
    compiler = RequestCompiler(table_registry("Change code"), tool_phases=PHASES)

    request = compiler.compile(inputs(frame=frame(words), current_message=words))

    assert request.contracts == ()


def test_an_unknown_module_is_an_error_that_lists_the_known_ones() -> None:
    """From a configuration and from the operator alike."""
    with pytest.raises(AssemblyError) as raised:
        RequestCompiler(REGISTRY, reference_contract_modules=["relese"])
    with pytest.raises(AssemblyError) as by_operator:
        RequestCompiler().with_modules(operator_modules({"OMNIUS_REFERENCE_CONTRACT_MODULES": "ui"}))

    assert str(raised.value) == (
        "There is no contract 'relese' (from reference_contract_modules); known are check, edit, release"
    )
    assert str(by_operator.value) == (
        "There is no contract 'ui' (from the operator (OMNIUS_REFERENCE_CONTRACT_MODULES)); the registry is empty"
    )


@pytest.mark.parametrize(
    ("environ", "names"),
    [
        ({}, []),
        ({"OMNIUS_REFERENCE_CONTRACT_MODULES": ""}, []),
        ({"OMNIUS_REFERENCE_CONTRACT_MODULES": " release , check,,"}, ["release", "check"]),
    ],
)
def test_the_operator_names_modules_separated_by_commas(environ: dict[str, str], names: list[str]) -> None:
    """The variable is the caller's to read; blanks and empty names count for nothing."""
    modules = operator_modules(environ)

    assert [one.id for one in modules] == names
    assert all(one.by == "the operator (OMNIUS_REFERENCE_CONTRACT_MODULES)" for one in modules)


def test_one_str_is_no_sequence_of_modules() -> None:
    """Its letters would be taken for ids."""
    with pytest.raises(
        AssemblyError, match=r"^`reference_contract_modules` is the str 'release'; give a sequence of ids$"
    ):
        configured_modules("release")


def test_two_contracts_of_one_id_are_refused() -> None:
    """An id names one contract."""
    with pytest.raises(AssemblyError, match=r"^Two contracts have the id 'a'; ids name one contract each$"):
        ContractRegistry([contract("a"), contract("a", "Others.")])


def test_a_registry_holds_contracts_only() -> None:
    """Text is none: it could not be audited."""
    with pytest.raises(UnknownInputError, match=r"^The registry was given str; it takes Contract, and nothing else$"):
        ContractRegistry(["Be careful."])  # type: ignore[list-item]  # the type is what is tested


def test_a_registry_is_read_by_id_and_in_order() -> None:
    """It never changes."""
    assert [one.id for one in REGISTRY] == ["edit", "release", "check"]
    assert len(REGISTRY) == 3
    assert REGISTRY["edit"].body == "Rules of edit."
