"""Contracts: named, versioned texts that guide the model.

How they are read from files is in `contract_files.py`, which of them a request carries in `contracts.py`. Source:
Assembly specification, Contract selection policy.
"""

from __future__ import annotations

from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from kedi_compile.assembly.phases import Phase
from kedi_compile.assembly.wording import check_text, digest_of, normalised
from kedi_compile.errors import AssemblyError

EXPLICIT_KINDS: Final = frozenset({"security", "release", "research", "delegation", "hardware", "ui"})
"""Ids of contracts, in any case of letters, that are explicit-only whatever they say themselves."""


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
    phases: AbstractSet[Phase | str] = frozenset()
    explicit_only: bool = False

    def __post_init__(self) -> None:
        for name in ("id", "version"):
            check_text(getattr(self, name), f"The {name} of contract {self.id!r}")
            if getattr(self, name).split() != [getattr(self, name)] or "," in getattr(self, name):
                msg = (
                    f"The {name} of contract {self.id!r} is {getattr(self, name)!r}; it must be one word without commas"
                )
                raise AssemblyError(msg)
        check_text(self.body, f"The body of contract {self.id!r}")
        object.__setattr__(self, "body", normalised(self.body))
        phases: object = self.phases
        if isinstance(phases, str):
            msg = f"`phases` of contract {self.id!r} is the str {phases!r}; give a set of phases"
            raise AssemblyError(msg)
        object.__setattr__(self, "phases", frozenset(_phase(one, self.id) for one in self.phases))
        if self.explicit_only and self.phases:
            msg = f"Contract {self.id!r} is explicit-only and names phases; drop one of the two"
            raise AssemblyError(msg)
        object.__setattr__(self, "explicit_only", self.explicit_only or self.id.casefold() in EXPLICIT_KINDS)

    @cached_property
    def hash(self) -> str:
        """The sha256 of the normalised body, in hexadecimal."""
        return digest_of(self.body)


def _phase(value: str, contract: str) -> Phase:
    try:
        return Phase(value)
    except ValueError:
        msg = f"Contract {contract!r} names the phase {value!r}; known are {', '.join(Phase)}"
        raise AssemblyError(msg) from None
