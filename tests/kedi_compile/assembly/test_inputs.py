"""The inputs: explicitly typed, and no others."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import fields
from types import MappingProxyType
from typing import Any

import pytest

from assembling import FILE, TOOL, contract, everything, inputs
from kedi_compile.assembly import (
    ContextBudget,
    ExperimentalFlag,
    RepositoryInstructions,
    RequestInputs,
    RuntimeEnvironment,
    SelectedContract,
    StableCore,
    ToolSchema,
)
from kedi_compile.errors import AssemblyError, UnknownInputError


def given(value: Any) -> Any:
    """Return a value of a type that is not allowed."""
    return value


WRONG: dict[str, tuple[object, str]] = {
    "core": ("You are careful.", "StableCore"),
    "frame": ("Recap: all is well.", "LiveFrame"),
    "evidence": (["x = 1"], "EvidenceLedger"),
    "repository": ("Use tabs.", "tuple"),
    "environment": ({"os": "linux"}, "RuntimeEnvironment"),
    "budget": (1000, "ContextBudget"),
    "tier": ("small", "ModelTier"),
    "flags": ({"fixed_contracts"}, "frozenset"),
    "calls": (["read"], "tuple | None"),
    "selection": ([], "tuple | None"),
    "current_message": (b"Go on.", "str | None"),
    "response_format": ("{}", "collections.abc.Mapping | None"),
}
"""Field -> a value of another type, and what it must be."""


def test_the_inputs_are_the_specifications() -> None:
    """Each kind has a field; history, recaps and audit entries have none."""
    assert [one.name for one in fields(RequestInputs)] == list(WRONG)


@pytest.mark.parametrize("name", WRONG)
def test_an_unknown_input_is_a_type_error(name: str) -> None:
    """Nothing is converted: each field takes its type and no other."""
    value, right = WRONG[name]

    with pytest.raises(UnknownInputError) as raised:
        inputs(**{name: value})

    assert str(raised.value) == (
        f"`RequestInputs.{name}` is {type(value).__name__}, and must be {right}; nothing is converted"
    )
    assert isinstance(raised.value, TypeError)


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        ({"repository": ("Use tabs.",)}, "`RequestInputs.repository[0]` is str, and must be RepositoryInstructions"),
        ({"flags": frozenset({"x"})}, "`RequestInputs.flags[0]` is str, and must be ExperimentalFlag"),
        ({"calls": ("read", 5)}, "`RequestInputs.calls[1]` is int, and must be str"),
        ({"selection": (contract("a"),)}, "`RequestInputs.selection[0]` is Contract, and must be SelectedContract"),
    ],
)
def test_an_unknown_item_of_an_input_is_a_type_error(options: dict[str, Any], fault: str) -> None:
    """With its place."""
    with pytest.raises(UnknownInputError, match=f"^{re.escape(fault)}; nothing is converted$"):
        inputs(**options)


def test_an_input_that_nobody_knows_is_a_type_error() -> None:
    """The history of a controller cannot be given at all."""
    with pytest.raises(TypeError, match=r"controller_summaries"):
        inputs(controller_summaries=("Recap.",))


@pytest.mark.parametrize(
    ("options", "fault"),
    [
        (
            {"environment": RuntimeEnvironment(tools=(TOOL, ToolSchema("read")))},
            "There is more than one tool 'read'; each is given once",
        ),
        (
            {"repository": (RepositoryInstructions("a", "/r", FILE), RepositoryInstructions("b", "/r", FILE))},
            "There is more than one repository instruction '/r'; each is given once",
        ),
        ({"current_message": " "}, "The current message is blank"),
        ({"current_message": "\ud800"}, "The current message cannot be written as UTF-8"),
        ({"response_format": {"x": object()}}, "The response format is no JSON"),
    ],
)
def test_inputs_that_cannot_be_sent_are_refused(options: dict[str, Any], fault: str) -> None:
    """Duplicate keys, blanks, broken text and what is no JSON."""
    with pytest.raises(AssemblyError, match=f"^{re.escape(fault)}"):
        inputs(**options)


@pytest.mark.parametrize(
    ("make", "fault"),
    [
        (lambda: StableCore(""), "The text of the stable core is blank"),
        (lambda: StableCore("x", id=""), "The id of the stable core is blank"),
        (lambda: RepositoryInstructions("", "/r", FILE), "The repository instructions for '/r' is blank"),
        (lambda: RepositoryInstructions("x", "", FILE), "The root of repository instructions is blank"),
        (lambda: ToolSchema(""), "The name of a tool is blank"),
        (lambda: ToolSchema("t", "\ud800"), "The schema of tool 't' is no JSON"),
        (lambda: ToolSchema("t", "", {"x": {1, 2}}), "The schema of tool 't' is no JSON"),
        (lambda: RuntimeEnvironment("\ud800"), "The working root cannot be written as UTF-8"),
        (lambda: RuntimeEnvironment("/", given({"os": 5})), "The fact 'os' is int, and must be str"),
        (lambda: RuntimeEnvironment("/", {"": "x"}), "The name of a fact is blank"),
        (
            lambda: RepositoryInstructions("x", "/r", given("AGENTS.md")),
            "`provenance` of the repository instructions for '/r'",
        ),
        (
            lambda: RuntimeEnvironment("/", {}, given([TOOL])),
            "`RuntimeEnvironment.tools` was given list; it takes tuple",
        ),
        (
            lambda: RuntimeEnvironment("/", {}, given(("read",))),
            "`RuntimeEnvironment.tools` was given str; it takes ToolSchema",
        ),
        (lambda: RuntimeEnvironment("/", given(["x"])), "`RuntimeEnvironment.facts` is list, and must be Mapping"),
        (lambda: ContextBudget(-1), "`ContextBudget.limit` is -1; it is a number of tokens, 0 or more"),
        (lambda: ContextBudget(True), "`ContextBudget.limit` is True; it is a number of tokens, 0 or more"),
        (lambda: ContextBudget(5, history=given(1.5)), "`ContextBudget.history` is 1.5; it is a number of tokens"),
        (
            lambda: ContextBudget(5, 5),
            "`ContextBudget.reserved_output` is 5, and the limit is 5; it must be less, and leave room",
        ),
    ],
)
def test_what_can_never_work_is_refused(make: Callable[[], object], fault: str) -> None:
    """At construction, with the value."""
    with pytest.raises(AssemblyError, match=f"^{re.escape(fault)}"):
        make()


@pytest.mark.parametrize(
    ("root", "working_root", "applies"),
    [
        ("/repo", "/repo", True),
        ("/repo/", "/repo/sub", True),
        ("/", "/repo", True),
        ("/repo", "/repository", False),
        ("/repo/sub", "/repo", False),
        ("/repo", "/repo/../other", False),
        ("/repo/.", "/repo/a/../sub", True),
        ("C:\\repo", "C:\\repo\\sub", True),
        ("C:\\repo", "C:/repo/..", False),
        (".", "sub", True),
        (".", "/sub", False),
        (".", "../sub", False),
        ("..", "../sub", True),
    ],
)
def test_repository_instructions_apply_below_their_root(root: str, working_root: str, applies: bool) -> None:
    """A folder whose name begins alike is another one, and so is one that a path leads out to."""
    assert RepositoryInstructions("x", root, FILE).applies_to(working_root) is applies


def test_the_digest_of_a_tool_does_not_depend_on_the_order_of_keys() -> None:
    """It is of the description and the schema; the kind of mapping makes no difference."""
    one = ToolSchema("t", "d", {"a": 1, "b": {"c": 2}})

    assert one.digest == ToolSchema("t", "d", MappingProxyType({"b": MappingProxyType({"c": 2}), "a": 1})).digest
    assert one.digest != ToolSchema("t", "e", {"a": 1, "b": {"c": 2}}).digest
    assert one.text == '{"description":"d","parameters":{"a":1,"b":{"c":2}}}'


def test_numbers_of_any_size_are_json() -> None:
    """A schema may bound a whole number beyond 64 bits."""
    tool = ToolSchema("t", "d\u00e9", {"maximum": 2**64, "a": MappingProxyType({"b": 1})})

    assert tool.text == '{"description":"d\u00e9","parameters":{"a":{"b":1},"maximum":18446744073709551616}}'
    assert inputs(response_format={"maximum": 2**64}).response_text == '{"maximum":18446744073709551616}'


def test_schemas_of_any_depth_are_json() -> None:
    """A deep one is sent by its framework, so it has a digest."""
    schema: dict[str, Any] = {}
    for _ in range(300):
        schema = {"items": schema}

    assert ToolSchema("t", "", schema).text.count('"items"') == 300


@pytest.mark.parametrize(
    ("budget", "room", "most"),
    [
        (ContextBudget(), None, None),
        (ContextBudget(100, 20), 80, 50),
        (ContextBudget(100, overwhelming=10), 100, 10),
        (ContextBudget(overwhelming=10), None, 10),
    ],
)
def test_the_room_is_the_limit_without_the_answer(budget: ContextBudget, room: int | None, most: int | None) -> None:
    """One body is overwhelming above half of the limit, unless it is said."""
    assert (budget.room, budget.most_at_once) == (room, most)


def test_flags_are_an_explicit_enum() -> None:
    """None is on unless it is given."""
    assert list(ExperimentalFlag) == ["fixed_contracts"]
    assert everything().flags == frozenset()
    assert everything().response_text == '{"type":"object"}'
    assert SelectedContract(contract("a"), "x").reason == "x"
