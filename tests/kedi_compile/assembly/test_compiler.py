"""The request compiler: pure, deterministic, and strict at its door."""

from __future__ import annotations

import os
import re
from dataclasses import replace
from typing import Any

import pytest

from assembling import PHASES, compiled, contract, everything, extraction, frame, inputs, ledger, limited, source
from kedi_compile.assembly import (
    ContextBudget,
    ContractRegistry,
    RequestCompiler,
    RequestInputs,
    Requirement,
    Source,
    Visibility,
)
from kedi_compile.assembly.compiler import operated
from kedi_compile.errors import AssemblyError, BudgetExceeded, HistoryConfigurationError, UnknownInputError

BIG = "x = 1\n" * 1000
HANDLE = "a.py@v1#whole"


def wanted(*sources: Source, budget: ContextBudget, **options: Any) -> list[tuple[str, str]]:
    """Return the handle and reason of what is to be extracted."""
    compiler = RequestCompiler(extraction=lambda request: extraction())
    return [(one.source.handle, one.reason) for one in compiler.wanted(inputs(*sources, budget=budget, **options))]


def test_the_same_inputs_give_the_same_bytes() -> None:
    """By two compilers that are built alike; nothing is remembered."""
    one, other = RequestCompiler(), RequestCompiler()

    assert one.compile(everything()) == other.compile(everything())
    assert one.compile(everything()).dump == one.compile(everything()).dump


def test_the_default_selects_a_phase_and_named_modules() -> None:
    """The phase from the calls, the modules from the configuration."""
    registry = ContractRegistry([contract("look", phases=["explore"]), contract("release")])
    compiler = RequestCompiler(registry, tool_phases=PHASES, reference_contract_modules=["release"])
    observed, selected = compiler.select(inputs(calls=("read",)))

    assert observed.phase == "explore"
    assert [one.contract.id for one in selected] == ["look", "release"]
    assert compiler.compile(inputs(calls=("read",))).dump.phase_reason == "observed from calls of read"


def test_a_selection_that_is_decided_already_is_taken() -> None:
    """A run holds its contracts."""
    compiler = RequestCompiler(ContractRegistry([contract("a")]))

    assert compiler.compile(inputs(selection=())).contracts == ()


def test_with_modules_leaves_the_compiler_as_it_is() -> None:
    """It is shared by any number of runs."""
    compiler = RequestCompiler(ContractRegistry([contract("a"), contract("b")]), reference_contract_modules=["a"])
    added = operated(
        compiler := RequestCompiler(compiler.contracts, inputs=everything()), {"OMNIUS_REFERENCE_CONTRACT_MODULES": "b"}
    )

    assert added is not None
    assert [one.contract.id for one in added.select(inputs())[1]] == ["b"]
    assert compiler.select(inputs())[1] == ()
    assert operated(None, {}) is None


@pytest.mark.parametrize(
    ("compiler", "fault"),
    [
        (RequestCompiler(), "`request_compiler` has no `inputs`; give a RequestCompiler with `inputs=`, or None"),
        ("x", "`request_compiler` is str; give a RequestCompiler with `inputs=`, or None"),
    ],
)
def test_an_adapter_needs_a_compiler_with_inputs(compiler: Any, fault: str) -> None:
    """At construction."""
    with pytest.raises(HistoryConfigurationError, match=f"^{re.escape(fault)}$"):
        operated(compiler, {})


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"inputs": "x"}, "`inputs` is str; give RequestInputs, or a callback that returns them"),
        ({"extraction": "x"}, "`extraction` is 'x'; pass the function itself, or None"),
        (
            {"tool_phases": {"read": "deploy"}},
            "`tool_phases` gives 'read' the phase 'deploy'; a tool shows explore, plan, implement, or verify",
        ),
        (
            {"tool_phases": {"read": "mixed"}},
            "`tool_phases` gives 'read' the phase 'mixed'; a tool shows explore, plan, implement, or verify",
        ),
        ({"reference_contract_modules": "ui"}, "`reference_contract_modules` is the str 'ui'; give a sequence of ids"),
        ({"ui_tokens": "/go"}, "The command token '/' is none: it begins with `/`, ends in a letter, and is one word"),
    ],
)
def test_what_can_never_work_is_refused(options: dict[str, Any], fault: str) -> None:
    """When a compiler is made, with what would be right."""
    with pytest.raises(AssemblyError, match=f"^{re.escape(fault)}$"):
        RequestCompiler(**options)


@pytest.mark.parametrize("value", [None, "Fix it.", {"core": "x"}, ["recap"]])
def test_only_request_inputs_are_compiled(value: Any) -> None:
    """There is no other way in."""
    with pytest.raises(
        UnknownInputError, match=f"^The request compiler was given {type(value).__name__}; it takes Requ"
    ):
        RequestCompiler().compile(value)


def test_the_operators_setting_is_not_read_in_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """The caller passes it in."""
    monkeypatch.setenv("OMNIUS_REFERENCE_CONTRACT_MODULES", "nowhere")

    assert RequestCompiler().compile(inputs()).contracts == ()
    assert os.environ["OMNIUS_REFERENCE_CONTRACT_MODULES"] == "nowhere"


def test_what_does_not_fit_is_refused_with_the_table_of_sizes() -> None:
    """After everything that may be reduced was; nothing is sent."""
    with pytest.raises(BudgetExceeded) as raised:
        compiled(source(body=BIG), budget=limited(200, reserved_output=50, history=60))

    assert (
        str(raised.value)
        == """\
The request takes 222 tokens, and 150 are there (200 less 50 for the answer), after all that may be reduced was; \
nothing was sent. Shorten the history or the inputs:
  core                 19
  environment          20
  task_epoch           27
  evidence             68
  headings             28
  history              60"""
    )
    assert raised.value.sizes["history"] == 60
    assert (raised.value.limit, raised.value.reserved_output) == (200, 50)


def test_a_request_of_exactly_the_room_is_compiled() -> None:
    """To the token."""
    whole = sum(compiled().sizes.values())

    assert sum(compiled(budget=limited(whole)).sizes.values()) == whole
    with pytest.raises(BudgetExceeded):
        compiled(budget=limited(whole - 1))


def test_the_counter_is_the_callers() -> None:
    """Sizes are its own, of the text as it is sent."""
    request = RequestCompiler().compile(inputs(), count=len)

    assert request.sizes["core"] == len("# Core (core, version 1)\n\nYou are a careful engineer.\n\n")


def test_nothing_is_extracted_without_a_callback() -> None:
    """What does not fit is omitted."""
    assert RequestCompiler().wanted(inputs(source(extract=True))) == ()


def test_only_overwhelming_or_requested_material_is_extracted() -> None:
    """Overwhelming is more than one body may be, or what does not fit at all."""
    asked, big, small = source("asked.py", extract=True), source("big.py", BIG), source("small.py")

    assert wanted(asked, big, small, budget=ContextBudget(overwhelming=100)) == [
        ("asked.py@v1#whole", "requested"),
        ("big.py@v1#whole", "overwhelming"),
    ]
    assert wanted(big, small, budget=ContextBudget()) == []
    assert wanted(big, budget=limited(1_500, overwhelming=100_000)) == [("big.py@v1#whole", "overwhelming")]


@pytest.mark.parametrize(
    "one",
    [
        source(body=BIG, requested=True),
        source(body=BIG, visibility=Visibility.NOT_VISIBLE),
        source(body=None, extract=True),
        source(body=BIG, is_cached=True),
        source(body="x" * 300),
    ],
)
def test_a_source_that_needs_no_extraction_is_not_extracted(one: Source) -> None:
    """A full read that was asked for and fits, one that is kept out, one without its text, a bare result of a cache."""
    assert wanted(one, budget=ContextBudget(overwhelming=100)) == []


def test_a_source_is_not_extracted_twice() -> None:
    """Nor where it is rehydrated, or an earlier tail shows it."""
    budget = ContextBudget(overwhelming=100)
    held = ledger(source(body=BIG))

    assert wanted(budget=budget, evidence=held) == [(HANDLE, "overwhelming")]
    assert wanted(budget=replace(budget, sent={HANDLE: source(body=BIG).digest or ""}), evidence=held) == []

    held.extracted(HANDLE, extraction())

    assert wanted(budget=budget, evidence=held) == []

    again = ledger(source(body=BIG))
    again.rehydrate(HANDLE)

    assert wanted(budget=budget, evidence=again) == []


def test_an_extraction_is_told_the_objective_and_the_open_requirements() -> None:
    """And nothing of the conversation: it runs in a context of its own."""
    live = frame("Fix it.", objective="Find the bug.")
    live.require(Requirement("r1", "Where is x set?"))
    compiler = RequestCompiler(extraction=lambda request: extraction())
    (wish,) = compiler.wanted(inputs(source(extract=True), frame=live, budget=ContextBudget(overwhelming=70)))
    (unbounded,) = compiler.wanted(inputs(source(extract=True)))

    assert (wish.source, wish.objective, wish.requirements, wish.room) == (
        source(extract=True),
        "Find the bug.",
        ("Where is x set?",),
        70,
    )
    assert (unbounded.objective, unbounded.room) == ("Make it work.", None)


def test_the_inputs_do_not_change() -> None:
    """Compiling is pure."""
    given: RequestInputs = everything()
    before = given.frame.snapshot(), given.evidence.snapshot()
    RequestCompiler(extraction=lambda request: extraction()).wanted(given)
    RequestCompiler().compile(given)

    assert (given.frame.snapshot(), given.evidence.snapshot()) == before


def test_contracts_are_a_registry() -> None:
    """A list of contracts is refused at once, and not where one is first looked up."""
    with pytest.raises(UnknownInputError, match=r"^`contracts` of the request compiler was given list; it takes Contr"):
        RequestCompiler([contract("a")])  # type: ignore[arg-type]  # the mistake
