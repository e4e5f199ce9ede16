"""Which contracts a request carries, of those in a registry.

The rule: beside the always-on core, a contract is selected because its phase was observed, or because the operator
named it; one that is `explicit_only` never by a phase, and nothing is ever guessed from words. Every selection carries
id, version, hash, and reason. What a contract is, is in `contract.py`. Source: Assembly specification, Contract
selection policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from kedi_compile.assembly.contract import Contract
from kedi_compile.assembly.contract_files import read_folder
from kedi_compile.assembly.phases import ObservedPhase
from kedi_compile.assembly.typed import typed
from kedi_compile.errors import AssemblyError

MODULES_VARIABLE: Final = "OMNIUS_REFERENCE_CONTRACT_MODULES"
"""The environment variable in which an operator names modules, separated by commas."""


@dataclass(frozen=True, slots=True)
class SelectedContract:
    """A contract and why it applies."""

    contract: Contract
    reason: str


@dataclass(frozen=True, slots=True)
class UnselectedContract:
    """A contract that does not apply, and what would select it."""

    contract: Contract
    reason: str


@dataclass(frozen=True, slots=True)
class NamedModule:
    """A contract that somebody named: `by` says who, for the dump."""

    id: str
    by: str


class ContractRegistry:
    """The contracts at hand, in order; immutable.

    Raises:
        UnknownInputError: one of them is no Contract.
        AssemblyError: two of them have one id.
    """

    def __init__(self, contracts: Iterable[Contract] = ()) -> None:
        self._contracts: dict[str, Contract] = {}
        for contract in contracts:
            typed(contract, Contract, "The registry")
            if contract.id in self._contracts:
                msg = f"Two contracts have the id {contract.id!r}; ids name one contract each"
                raise AssemblyError(msg)
            self._contracts[contract.id] = contract

    @classmethod
    def from_folder(cls, folder: str | Path) -> ContractRegistry:
        """Read a folder of markdown files with YAML front matter, in the order of their names.

        Raises:
            AssemblyError: the folder or a file cannot be read as contracts; the message names the file and the field.
        """
        return cls(read_folder(Path(folder)))

    def __iter__(self) -> Iterator[Contract]:
        return iter(self._contracts.values())

    def __len__(self) -> int:
        return len(self._contracts)

    def __getitem__(self, contract_id: str) -> Contract:
        return self._contracts[contract_id]

    def check(self, modules: Iterable[NamedModule]) -> None:
        """Refuse names that are no contract's.

        Raises:
            AssemblyError: the message lists the unknown and the known names.
        """
        named = [module for module in modules if module.id not in self._contracts]
        unknown = sorted({f"{module.id!r} (from {module.by})" for module in named})
        if unknown:
            known = ", ".join(sorted(self._contracts))
            there = f"known are {known}" if known else "the registry is empty"
            commas = "; ids are separated by commas" if any(" " in module.id for module in named) else ""
            msg = f"There is no contract {', '.join(unknown)}; {there}{commas}"
            raise AssemblyError(msg)

    def select(self, observed: ObservedPhase, modules: Iterable[NamedModule] = ()) -> tuple[SelectedContract, ...]:
        """Return the contracts of a phase and those that were named, in the registry's order, each with its reason."""
        named = {module.id: module.by for module in reversed(list(modules))}
        found = ((contract, _reason(contract, observed, named)) for contract in self)
        return tuple(SelectedContract(contract, reason) for contract, reason in found if reason is not None)

    def unselected(self, selected: Iterable[SelectedContract]) -> tuple[UnselectedContract, ...]:
        """Return the contracts that are none of these, in the registry's order, each with what would select it."""
        ids = {one.contract.id for one in selected}
        return tuple(UnselectedContract(one, _absence(one)) for one in self if one.id not in ids)


def _reason(contract: Contract, observed: ObservedPhase, named: Mapping[str, str]) -> str | None:
    if contract.id in named:
        return f"named by {named[contract.id]}"
    if contract.phases & observed.phases and not contract.explicit_only:
        return f"phase {observed.phase}, {observed.reason}"
    return None


def _absence(contract: Contract) -> str:
    if contract.explicit_only or not contract.phases:
        return "only who names it selects it"
    return f"selected by the phase {' or '.join(sorted(contract.phases))}"


def operator_modules(environ: Mapping[str, str]) -> tuple[NamedModule, ...]:
    """Return the modules that `OMNIUS_REFERENCE_CONTRACT_MODULES` names in `environ`; none where it is not set."""
    names = (name.strip() for name in environ.get(MODULES_VARIABLE, "").split(","))
    return tuple(NamedModule(name, f"the operator ({MODULES_VARIABLE})") for name in names if name)


def configured_modules(names: Iterable[str]) -> tuple[NamedModule, ...]:
    """Return the modules that a configuration names, as `reference_contract_modules`.

    Raises:
        AssemblyError: it is one str and no sequence of them.
    """
    if isinstance(names, str):
        msg = f"`reference_contract_modules` is the str {names!r}; give a sequence of ids"
        raise AssemblyError(msg)
    return tuple(NamedModule(name, "reference_contract_modules") for name in names)
