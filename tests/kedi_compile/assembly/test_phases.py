"""The phase, from tool calls that were observed."""

import pytest

from kedi_compile.assembly.phases import Phase, observe_phase

TOOLS = {
    "read": Phase.EXPLORE,
    "grep": Phase.EXPLORE,
    "plan": Phase.PLAN,
    "edit": Phase.IMPLEMENT,
    "test": Phase.VERIFY,
}


def test_the_phases_are_the_specifications() -> None:
    """In its order and spelling."""
    assert list(Phase) == ["explore", "plan", "implement", "verify", "mixed"]


@pytest.mark.parametrize(
    ("calls", "phase", "reason"),
    [
        ((), None, "no tool with a phase was called"),
        (("chat",), None, "no tool with a phase was called"),
        (("read", "chat", "grep", "read"), "explore", "observed from calls of read, grep"),
        (("plan",), "plan", "observed from calls of plan"),
        (("edit",), "implement", "observed from calls of edit"),
        (("test",), "verify", "observed from calls of test"),
        (("read", "edit", "grep"), "mixed", "observed from calls of read, grep (explore); edit (implement)"),
    ],
)
def test_the_phase_is_that_of_all_calls(calls: tuple[str, ...], phase: str | None, reason: str) -> None:
    """Of several, `mixed`; of none, none; a tool that shows no phase does not count."""
    observed = observe_phase(calls, TOOLS)

    assert (observed.phase, observed.reason) == (None if phase is None else Phase(phase), reason)


def test_a_phase_never_flips_back() -> None:
    """What was mixed once stays mixed for the epoch."""
    assert observe_phase(("read", "edit", "edit", "edit"), TOOLS).phase is Phase.MIXED


def test_a_mixed_phase_stands_for_each_it_is_mixed_of() -> None:
    """What applied while one of them was alone goes on applying."""
    assert observe_phase(("read",), TOOLS).phases == {Phase.EXPLORE}
    assert observe_phase(("read", "edit"), TOOLS).phases == {Phase.EXPLORE, Phase.IMPLEMENT, Phase.MIXED}
    assert observe_phase((), TOOLS).phases == frozenset()
