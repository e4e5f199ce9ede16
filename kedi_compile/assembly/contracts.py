"""Contracts: named, versioned texts that guide the model, and which of them a request carries.

The rule: beside the always-on core, a contract is selected because its phase was observed, or because the operator
named it; one that is `explicit_only` never by a phase, and nothing is ever guessed from words. Every selection carries
id, version, hash, and reason. How contracts are read from files is in `contract_files.py`. Source: Assembly
specification, Contract selection policy.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Final

from kedi_compile.assembly.phases import ObservedPhase, Phase
from kedi_compile.assembly.wording import check_text, digest_of, normalised
from kedi_compile.errors import AssemblyError

MODULES_VARIABLE: Final = "OMNIUS_REFERENCE_CONTRACT_MODULES"
"""The environment variable in which an operator names modules, separated by commas."""

EXPLICIT_KINDS: Final = frozenset({"security", "release", "research", "delegation", "hardware", "ui"})
"""Ids of contracts that are explicit-only whatever they say themselves."""


@dataclass(frozen=True)
class Contract:
    """One contract; `phases` are those that select it, and `explicit_only` keeps it for those who name it.

    The body is normalised; `hash` is the sha256 of that, in hexadecimal.

    Raises:
        AssemblyError: the id or version is no single word, the body is blank, or a phase is unknown.
    """

    id: str
    version: str
    body: str
    phases: frozenset[Phase] = frozenset()
    explicit_only: bool = False

    def __post_init__(self) -> None:
        for name in ("id", "version"):
            check_text(getattr(self, name), f"The {name} of contract {self.id!r}")
            if getattr(self, name).split() != [getattr(self, name)] or "," in getattr(self, name):
                msg = f"The {name} of contract {self.id!r} is {getattr(self, name)!r}; it must be one word without commas"
                raise AssemblyError(msg)
        check_text(self.body, f"The body of contract {self.id!r}")
        object.__setattr__(self, "body", normalised(self.body))
        object.__setattr__(self, "phases", frozenset(_phase(one, self.id) for one in self.phases))
        if self.explicit_only and self.phases:
            msg = f"Contract {self.id!r} is explicit-only and names phases; drop one of the two"
            raise AssemblyError(msg)
        object.__setattr__(self, "explicit_only", self.explicit_only or self.id in EXPLICIT_KINDS)

    @cached_property
    def hash(self) -> str:
        """The sha256 of the normalised body, in hexadecimal."""
        return digest_of(self.body)


def _phase(value: object, contract: str) -> Phase:
    try:
        return Phase(value)
    except ValueError:
        msg = f"Contract {contract!r} names the phase {value!r}; known are {', '.join(Phase)}"
        raise AssemblyError(msg) from None


@dataclass(frozen=True, slots=True)
class SelectedContract:
    """A contract and why it applies."""

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
        AssemblyError: two of them have one id.
    """

    def __init__(self, contracts: Iterable[Contract] = ()) -> None:
        self._contracts: dict[str, Contract] = {}
        for contract in contracts:
            if not isinstance(contract, Contract):
                msg = f"The registry was given {type(contract).__name__}; it holds Contract values"
                raise AssemblyError(msg)
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
        from kedi_compile.assembly.contract_files import read_folder  # noqa: PLC0415  # it makes contracts

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
        unknown = sorted({f"{module.id!r} (from {module.by})" for module in modules if module.id not in self._contracts})
        if unknown:
            known = ", ".join(sorted(self._contracts)) or "none at all"
            msg = f"There is no contract {', '.join(unknown)}; known are {known}"
            raise AssemblyError(msg)

    def select(self, observed: ObservedPhase, modules: Iterable[NamedModule] = ()) -> tuple[SelectedContract, ...]:
        """Return the contracts of a phase and those that were named, in the registry's order, each with its reason."""
        named = {module.id: module.by for module in reversed(list(modules))}
        found = ((contract, _reason(contract, observed, named)) for contract in self)
        return tuple(SelectedContract(contract, reason) for contract, reason in found if reason is not None)


def _reason(contract: Contract, observed: ObservedPhase, named: Mapping[str, str]) -> str | None:
    if contract.id in named:
        return f"named by {named[contract.id]}"
    if observed.phase in contract.phases and not contract.explicit_only:
        return f"phase {observed.phase}: {observed.reason}"
    return None


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
