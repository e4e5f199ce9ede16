"""Requests that cannot be assembled, and runs that are cancelled meanwhile: nothing is sent and nothing is left."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from pydantic_ai import Agent, CancellationToken, capture_run_messages
from pydantic_ai.exceptions import ModelHTTPError

from agents import ENTRY_POINTS, Script, adapter, calls, keep, lines, run_async, run_through, turns
from assemblies import (
    EPOCH,
    Dumps,
    compiler,
    extracted,
    failing,
    failing_async,
    growing,
    leaks,
    untrusted,
    wishing,
)
from assembling import inputs, ledger, limited
from kedi_compile import AssemblyError, BudgetExceeded, InvariantViolation
from kedi_compile.assembly import RequestCompiler
from kedi_compile.conversation import ConversationState, history_scope
from talks import held, is_free, talk, talking

AnyAgent = Agent[Any, Any]
EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)
GONE = LookupError("gone")

COMPILERS: dict[str, tuple[Callable[[], RequestCompiler], type[AssemblyError], str]] = {
    "inputs raise": (lambda: compiler(failing(GONE)), AssemblyError, "`inputs` raised LookupError: gone"),
    "inputs raise, async": (lambda: compiler(failing_async(GONE)), AssemblyError, "`inputs` raised LookupError: gone"),
    "inputs are none": (lambda: compiler(lambda live: {"core": "x"}), AssemblyError, "from `inputs`, .*dict"),
    "extraction raises": (lambda: wishing(failing(GONE)), AssemblyError, "`extraction` raised LookupError: gone"),
    "extraction raises, async": (
        lambda: wishing(failing_async(GONE)),
        AssemblyError,
        "`extraction` raised LookupError: gone",
    ),
    "extraction is none": (lambda: wishing(lambda wish: "x"), AssemblyError, "from `extraction` for .*str"),
    "no room": (lambda: compiler(inputs(budget=limited(20))), BudgetExceeded, "The request takes"),
    "untrusted policy": (lambda: compiler(untrusted()), InvariantViolation, "no_policy_from_untrusted"),
}


@EACH
@pytest.mark.parametrize("name", COMPILERS)
def test_what_cannot_be_assembled_is_not_sent(entry: str, name: str) -> None:
    """The history is as it was, also where an edit was accepted before; the dump says what refused it."""
    make, kind, message = COMPILERS[name]
    script, dumps = Script("never"), Dumps()
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(keep(1), request_compiler=make(), dump=dumps)])

    with capture_run_messages() as captured, pytest.raises(kind, match=message) as caught:
        run_through(entry, agent, "now", message_history=turns(3))

    assert script.sent == []
    assert lines(captured)[:7] == [*lines(turns(3)), "< now"]
    assert (dumps.only.outcome, dumps.only.assembly) == ("refused", None)
    assert dumps.only.error == f"{type(caught.value).__name__}: {caught.value}"


@EACH
def test_the_run_after_a_refused_one_is_assembled_from_its_beginning(entry: str) -> None:
    """The same adapter serves it."""
    given: list[Any] = [GONE, inputs()]

    def give(live: Any) -> Any:
        if isinstance(one := given.pop(0), Exception):
            raise one
        return one

    script = Script("done")
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(request_compiler=compiler(give))])
    with pytest.raises(AssemblyError):
        run_through(entry, agent, "now")

    run_through(entry, agent, "now")

    assert script.sent == [[f"< {EPOCH} | now"]]


@EACH
def test_a_failing_provider_leaves_nothing_of_what_was_assembled(entry: str) -> None:
    """Neither in the lists nor in what the next run sends."""
    script = Script(ModelHTTPError(529, "scripted"), "done")
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(request_compiler=compiler())])

    with capture_run_messages() as captured, pytest.raises(ModelHTTPError):
        run_through(entry, agent, "now")
    run_through(entry, agent, "now")

    assert leaks(captured) == []
    assert script.sent == [[f"< {EPOCH} | now"], [f"< {EPOCH} | now"]]


@EACH
def test_a_later_request_that_cannot_be_assembled_keeps_the_finished_ones(entry: str) -> None:
    """As with any failure of a later step."""
    good, dumps = growing(ledger()), Dumps()

    def give(live: Any) -> Any:
        if live.request_index == 2:
            raise GONE
        return good(live)

    def peek() -> str:
        return "seen"

    script = Script(calls("c1"), "never")
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(request_compiler=compiler(give), dump=dumps)])
    agent.tool_plain(name="look")(peek)

    with capture_run_messages() as captured, pytest.raises(AssemblyError):
        run_through(entry, agent, "now")

    assert lines(captured)[:3] == ["< now", "> call c1", "< result c1"]
    assert leaks(captured) == []
    assert dumps.outcomes == ["answered", "refused"]


class Held:
    """A moment of a request at which its task is held: in one of the callbacks, or in the model."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.entered = asyncio.Event()

    async def wait(self) -> None:
        """Wait for good."""
        self.entered.set()
        await asyncio.Event().wait()

    def compiler(self) -> RequestCompiler:
        """Return a compiler that waits in its callback, if this is the moment for it."""

        async def give(live: Any) -> Any:
            if self.name == "inputs":
                await self.wait()
            return inputs()

        async def extract(wish: Any) -> Any:
            await self.wait()
            return extracted()

        return wishing(extract) if self.name == "extraction" else compiler(give)

    def script(self) -> Script:
        """Return a model that waits, if this is the moment for it."""
        return Script(self.wait) if self.name == "request" else Script("never")


@pytest.mark.parametrize("moment", ["inputs", "extraction", "request"])
@pytest.mark.parametrize("entry", [entry for entry in ENTRY_POINTS if entry != "run_sync"])
async def test_a_cancelled_request_leaves_nothing(entry: str, moment: str) -> None:
    """Cancellation is itself, nothing is kept, and the dump says so."""
    held_at, dumps = Held(moment), Dumps()
    script = held_at.script()
    agent: AnyAgent = Agent(
        script.model, capabilities=[adapter(keep(1), request_compiler=held_at.compiler(), dump=dumps)]
    )
    with capture_run_messages() as captured:
        task = asyncio.create_task(run_async(entry, agent, "now", message_history=turns(3)))
        await held_at.entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert len(script.sent) == (moment == "request")
    assert lines(captured)[:7] == [*lines(turns(3)), "< now"]
    assert leaks(captured) == []
    assert dumps.outcomes == ["cancelled"]
    assert (dumps.only.assembly is None) is (moment != "request")


@pytest.mark.parametrize("moment", ["inputs", "extraction", "request"])
async def test_the_hosts_cancellation_token_leaves_nothing(moment: str) -> None:
    """It cancels the run from inside, and that is no failure either."""
    held_at, dumps, token = Held(moment), Dumps(), CancellationToken()
    agent: AnyAgent = Agent(
        held_at.script().model, capabilities=[adapter(request_compiler=held_at.compiler(), dump=dumps)]
    )
    with capture_run_messages() as captured:
        task = asyncio.create_task(agent.run("now", cancellation_token=token))
        await held_at.entered.wait()
        token.cancel()
        await asyncio.wait([task])
        assert task.cancelled() or task.exception() is not None

    assert leaks(captured) == []
    assert dumps.outcomes == ["cancelled"]


@pytest.mark.parametrize("moment", ["inputs", "request"])
async def test_a_cancelled_turn_is_no_turn(moment: str) -> None:
    """The conversation is free and holds what it held."""
    held_at, state = Held(moment), ConversationState()
    agent = talking(held_at.script(), adapter(request_compiler=held_at.compiler()))

    with history_scope(True, state):
        task = asyncio.create_task(agent.run("now"))
        await held_at.entered.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    assert (state.turns, held(state), is_free(state)) == (0, [], True)


def test_a_conversation_keeps_nothing_of_what_was_assembled() -> None:
    """Nor does a checkpoint of it."""
    script, state = Script("one", "two"), ConversationState()

    talk(talking(script, adapter(request_compiler=compiler(growing(ledger())))), state, "first", "second")

    assert script.sent[1] == ["< first", "> one", f"< {EPOCH} | second"]
    assert held(state) == ["< first", "> one", "< second", "> two"]
    assert leaks(state.checkpoint().to_json()) == []
