"""Every way to set a conversation, a processor and a condition in two scopes, a profile and an adapter, as tables."""

from __future__ import annotations

from typing import Any

import pytest

from kedi_compile import HistoryConfigurationError
from kedi_compile.conversation import AgentProfile, ConversationState, HistoryProcessingSettings, history_scope
from kedi_compile.conversation.scope import current_scope
from kedi_compile.history.policy import HistoryPolicy
from scopes import A, I, O, a, i, letters, o
from toy import Message

quiet = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryPrefixWarning")


OWN: dict[str, tuple[Any, Any]] = {"nothing": (None, None), "processor": (A, None), "both": (A, a)}
OUTER: dict[str, dict[str, Any]] = {
    "nothing": {},
    "processor": {"processor": O},
    "both": {"processor": O, "processor_condition": o},
    "condition": {"processor_condition": o},
    "none": {"processor": None},
}
INNER: dict[str, dict[str, Any]] = {
    "omitted": {},
    "none": {"processor": None},
    "new": {"processor": I},
    "both": {"processor": I, "processor_condition": i},
    "condition": {"processor_condition": i},
    "no condition": {"processor_condition": None},
}
PROFILES: dict[str, AgentProfile | None] = {
    "no profile": None,
    "says nothing": AgentProfile(),
    "inherits": AgentProfile(HistoryProcessingSettings(inherit_processor=True)),
    "inherits none": AgentProfile(HistoryProcessingSettings(inherit_processor=False)),
}

INHERITED = """
outer     | omitted  | none  | new   | both     | condition | no condition
nothing   | - A Aa   | - - - | I I I | Ii Ii Ii | ! Ai Ai   | - A A
processor | O O O    | - - - | I I I | Ii Ii Ii | Oi Oi Oi  | O O O
both      | Oo Oo Oo | - - - | I I I | Ii Ii Ii | Oi Oi Oi  | O O O
condition | ! Ao Ao  | - - - | I I I | Ii Ii Ii | ! Ai Ai   | - A A
none      | - - -    | - - - | I I I | Ii Ii Ii | ! ! !     | - - -
"""
"""What holds inside: the processor's letter and the condition's, - for nothing, ! for refused; in each cell for an
adapter with nothing, with a processor, with both."""

CUT_OFF = """
outer     | omitted  | none  | new   | both     | condition | no condition
nothing   | - - -    | - - - | I I I | Ii Ii Ii | ! ! !     | - - -
processor | - - -    | - - - | I I I | Ii Ii Ii | ! ! !     | - - -
both      | - - -    | - - - | I I I | Ii Ii Ii | ! ! !     | - - -
condition | - - -    | - - - | I I I | Ii Ii Ii | ! ! !     | - - -
none      | - - -    | - - - | I I I | Ii Ii Ii | ! ! !     | - - -
"""
"""The same where the inner scope has a profile that inherits no processor."""


def cells(table: str) -> list[tuple[str, str, str, str]]:
    """Read a table: the outer scope, the inner one, the adapter, and what holds."""
    head, *rows = [[cell.strip() for cell in row.split("|")] for row in table.strip().splitlines()]
    return [
        (row[0], inner, own, expected)
        for row in rows
        for inner, cell in zip(head[1:], row[1:], strict=True)
        for own, expected in zip(OWN, cell.split(), strict=True)
    ]


MATRIX = [
    (profile, *cell)
    for profile in PROFILES
    for cell in cells(CUT_OFF if profile == "inherits none" else INHERITED)
]  # fmt: skip


@quiet
@pytest.mark.parametrize(("profile", "outer", "inner", "own", "expected"), MATRIX)
def test_what_is_left_out_is_inherited_and_none_clears(
    profile: str, outer: str, inner: str, own: str, expected: str
) -> None:
    """Every way to set a processor and a condition, in two scopes, a profile, and the adapter itself."""
    policy: HistoryPolicy[Message] = HistoryPolicy(*OWN[own])

    assert effective(policy, OUTER[outer], {**INNER[inner], "profile": PROFILES[profile]}) == expected


def effective(policy: HistoryPolicy[Message], outer: dict[str, Any], inner: dict[str, Any]) -> str:
    """Write what holds in a scope inside another."""
    try:
        with history_scope(**outer), history_scope(**inner):
            return letters(policy)
    except HistoryConfigurationError:
        return "!"


ENABLED: dict[str, bool | None] = {"inherit": None, "on": True, "off": False}
STATES = """
outer      | inherit | inherit I | on   | on I | off   | off I
inherit    | off -   | off I     | on N | on I | off - | off I
inherit O  | off O   | off I     | on O | on I | off O | off I
on         | on N    | on I      | on N | on I | off N | off I
on O       | on O    | on I      | on O | on I | off O | off I
off        | off -   | off I     | on N | on I | off - | off I
off O      | off O   | off I     | on O | on I | off O | off I
"""
"""Whether the conversation is continued inside, and which: O and I were given, N is new, - is none."""


@pytest.mark.parametrize(
    ("outer", "inner", "expected"),
    [
        (row.split("|")[0].strip(), inner.strip(), cell.strip())
        for row in STATES.strip().splitlines()[1:]
        for inner, cell in zip(STATES.strip().splitlines()[0].split("|")[1:], row.split("|")[1:], strict=True)
    ],
)
def test_enabled_and_state_are_inherited_each_on_its_own(outer: str, inner: str, expected: str) -> None:
    """A conversation is found outside, or made where one is enabled and there is none."""
    given = {"O": ConversationState("O"), "I": ConversationState("I"), "": None}

    def arguments(cell: str) -> tuple[bool | None, ConversationState | None]:
        enabled, _, letter = cell.partition(" ")
        return ENABLED[enabled], given[letter]

    with history_scope(*arguments(outer)), history_scope(*arguments(inner)) as state:
        scope = current_scope()

    assert state is scope.state
    known = "-" if state is None else (state.session_id or "N")
    assert f"{'on' if scope.enabled else 'off'} {known}" == expected
