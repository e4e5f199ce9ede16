"""The inputs of the request compiler: explicitly typed, and no others.

Prose of past controllers, duplicate recaps, retired failures, raw audit entries and free tool text have no door in; a
source gets in only through the evidence ledger. Source: Assembly specification, Inputs to the compiler.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from enum import StrEnum
from types import MappingProxyType, UnionType
from typing import Any, Final

import orjson

from kedi_compile.assembly.contracts import SelectedContract
from kedi_compile.assembly.evidence import EvidenceLedger
from kedi_compile.assembly.frame import path_parts
from kedi_compile.assembly.live_frame import LiveFrame
from kedi_compile.assembly.sources import Provenance
from kedi_compile.assembly.typed import typed
from kedi_compile.assembly.wording import check_text, digest_of
from kedi_compile.errors import AssemblyError, UnknownInputError


class ModelTier(StrEnum):
    """How much a model can be left to decide; stated by the operator, never guessed from its name."""

    SMALL = "small"
    STANDARD = "standard"
    FRONTIER = "frontier"


class ExperimentalFlag(StrEnum):
    """Experimental policies; none is on unless it is given."""

    FIXED_CONTRACTS = "fixed_contracts"
    """Keep the contracts of a run's first request for the whole run, whatever phase is observed later."""


@dataclass(frozen=True, slots=True)
class StableCore:
    """The always-on core: identity, order of authority, and no fabrication.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
    """

    text: str
    id: str = "core"
    version: str = "1"

    def __post_init__(self) -> None:
        check_text(self.text, "The text of the stable core")
        check_text(self.id, "The id of the stable core")
        check_text(self.version, "The version of the stable core")


@dataclass(frozen=True, slots=True)
class RepositoryInstructions:
    """Instructions of a repository, such as an AGENTS.md, and the folder below which they apply.

    They are policy, so they must come from a path: what a tool returned is evidence.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
    """

    text: str
    root: str
    provenance: Provenance

    def __post_init__(self) -> None:
        check_text(self.text, f"The repository instructions for {self.root!r}")
        check_text(self.root, "The root of repository instructions")
        typed(self.provenance, Provenance, f"`provenance` of the repository instructions for {self.root!r}")

    def applies_to(self, working_root: str) -> bool:
        """Whether the working root is the root, or below it."""
        mine, theirs = path_parts(self.root), path_parts(working_root)
        below = theirs[len(mine) :]
        is_above = bool(below) and below[0] in ("..", "/")  # below `.` there is no `..`, and nothing absolute
        return theirs[: len(mine)] == mine and not is_above


def _json(value: object, what: str) -> str:
    try:
        return orjson.dumps(value, default=_plain, option=orjson.OPT_SORT_KEYS).decode()
    except TypeError as error:
        return _any_json(value, f"{what} is no JSON: {error}")


def _any_json(value: object, fault: str) -> str:
    """Write what is beyond orjson, and JSON all the same: integers of more than 64 bits, and deep nesting."""
    try:
        text = json.dumps(value, default=_plain, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
        text.encode()
    except (TypeError, ValueError, RecursionError) as error:
        raise AssemblyError(fault) from error
    return text


def _plain(value: object) -> object:
    if isinstance(value, Mapping):
        return dict(value)
    raise TypeError(type(value).__name__)


@dataclass(frozen=True)
class ToolSchema:
    """A tool as the model is told about it; the schema is JSON.

    Raises:
        AssemblyError: the name is blank, or the schema is no JSON.
    """

    name: str
    description: str = ""
    parameters: Mapping[str, Any] = field(default_factory=dict)
    digest: str = field(init=False)
    """The sha256 of the description and the schema with its keys sorted, in hexadecimal."""
    text: str = field(init=False, repr=False)

    def __post_init__(self) -> None:
        check_text(self.name, "The name of a tool")
        schema = {"description": self.description, "parameters": self.parameters}
        text = _json(schema, f"The schema of tool {self.name!r}")
        object.__setattr__(self, "text", text)
        object.__setattr__(self, "digest", digest_of(text))


@dataclass(frozen=True, slots=True)
class RuntimeEnvironment:
    """Where the agent runs: the working root, facts in a few words each, and its tools.

    `tools` is None where the adapter fills in the tools of the agent.

    Raises:
        AssemblyError: a text is blank or no UTF-8.
        UnknownInputError: a tool is no ToolSchema.
    """

    working_root: str = "/"
    facts: Mapping[str, str] = field(default_factory=dict)
    tools: tuple[ToolSchema, ...] | None = None

    def __post_init__(self) -> None:
        check_text(self.working_root, "The working root")
        facts: Any = self.facts
        if not isinstance(facts, Mapping):
            raise _unknown("`RuntimeEnvironment.facts`", facts, Mapping)
        for name, fact in self.facts.items():
            check_text(name, "The name of a fact")
            check_text(fact, f"The fact {name!r}")
        for tool in typed(() if self.tools is None else self.tools, tuple, "`RuntimeEnvironment.tools`"):
            typed(tool, ToolSchema, "`RuntimeEnvironment.tools`")


@dataclass(frozen=True, slots=True)
class ContextBudget:
    """The model's limit and what else is in the request, all in tokens; None knows no limit.

    - `reserved_output`: what is kept for the answer.
    - `history`: what the history takes, and `carried` what earlier tails of the run do.
    - `sent`: bodies that earlier tails show, as handle -> digest: they are not shown again.
    - `overwhelming`: a body of more tokens is extracted where there is a callback; None means half the limit.

    Raises:
        AssemblyError: a number is negative, or nothing is left for the request.
    """

    limit: int | None = None
    reserved_output: int = 0
    history: int = 0
    carried: int = 0
    sent: Mapping[str, str] = field(default_factory=dict)
    overwhelming: int | None = None

    def __post_init__(self) -> None:
        for name in ("limit", "reserved_output", "history", "carried", "overwhelming"):
            value = getattr(self, name)
            if value is not None and (type(value) is not int or value < 0):
                msg = f"`ContextBudget.{name}` is {value!r}; it is a number of tokens, 0 or more"
                raise AssemblyError(msg)
        if self.limit is not None and self.limit <= self.reserved_output:
            msg = (
                f"`ContextBudget.reserved_output` is {self.reserved_output}, and the limit is {self.limit}; it must be "
                "less, and leave room"
            )
            raise AssemblyError(msg)

    @property
    def room(self) -> int | None:
        """Tokens there are for the whole request; None for any number."""
        return None if self.limit is None else self.limit - self.reserved_output

    @property
    def most_at_once(self) -> int | None:
        """Tokens above which one body is overwhelming; None for never."""
        if self.overwhelming is not None or self.limit is None:
            return self.overwhelming
        return self.limit // 2


@dataclass(frozen=True, slots=True)
class RequestInputs:
    """Everything one request is compiled from.

    - `frame`: the task epoch and objective, active steering, mutations, checks, requirements and work items.
    - `calls`: names of the tools called in the task epoch so far, in order; None where the adapter observes them.
    - `selection`: the contracts, where they are decided already; None where the compiler selects them.
    - `current_message`: the user's message; None where it is the framework's own and stands in the history.
    - `response_format`: the JSON schema of the answer; None for text, or where it is the framework's own.

    Raises:
        UnknownInputError: a value is of another type; nothing is converted.
        AssemblyError: two tools, or two instructions of one root, have one name.
    """

    core: StableCore
    frame: LiveFrame
    evidence: EvidenceLedger = field(default_factory=EvidenceLedger)
    repository: tuple[RepositoryInstructions, ...] = ()
    environment: RuntimeEnvironment = RuntimeEnvironment()
    budget: ContextBudget = ContextBudget()
    tier: ModelTier = ModelTier.STANDARD
    flags: frozenset[ExperimentalFlag] = frozenset()
    calls: tuple[str, ...] | None = None
    selection: tuple[SelectedContract, ...] | None = None
    current_message: str | None = None
    response_format: Mapping[str, Any] | None = None

    @property
    def response_text(self) -> str:
        """The response format as JSON; empty without one."""
        return "" if self.response_format is None else _json(self.response_format, "The response format")

    def __post_init__(self) -> None:
        for one in fields(self):
            kinds = _KINDS[one.name]
            if not isinstance(value := getattr(self, one.name), kinds):
                raise _unknown(f"`RequestInputs.{one.name}`", value, kinds)
        for name, kind in _ITEMS.items():
            for place, value in enumerate(getattr(self, name) or ()):
                if not isinstance(value, kind):
                    raise _unknown(f"`RequestInputs.{name}[{place}]`", value, kind)
        _refuse_twins("tool", [tool.name for tool in self.environment.tools or ()])
        _refuse_twins("repository instruction", [one.root for one in self.repository])
        if self.current_message is not None:
            check_text(self.current_message, "The current message")
        if self.response_format is not None:
            _json(self.response_format, "The response format")


_KINDS: Final[Mapping[str, type | UnionType]] = MappingProxyType(
    {
        "core": StableCore,
        "frame": LiveFrame,
        "evidence": EvidenceLedger,
        "repository": tuple,
        "environment": RuntimeEnvironment,
        "budget": ContextBudget,
        "tier": ModelTier,
        "flags": frozenset,
        "calls": tuple | None,
        "selection": tuple | None,
        "current_message": str | None,
        "response_format": Mapping | None,
    }
)
"""Input -> what it must be."""

_ITEMS: Final[Mapping[str, type]] = MappingProxyType(
    {
        "repository": RepositoryInstructions,
        "flags": ExperimentalFlag,
        "calls": str,
        "selection": SelectedContract,
    }
)
"""Input that holds several -> what each of them must be."""


def _unknown(where: str, value: object, kinds: type | UnionType) -> UnknownInputError:
    right = kinds.__name__ if isinstance(kinds, type) else str(kinds)
    return UnknownInputError(f"{where} is {type(value).__name__}, and must be {right}; nothing is converted")


def _refuse_twins(what: str, names: Sequence[str]) -> None:
    if twins := sorted({name for name in names if names.count(name) > 1}):
        msg = f"There is more than one {what} {', '.join(map(repr, twins))}; each is given once"
        raise AssemblyError(msg)
