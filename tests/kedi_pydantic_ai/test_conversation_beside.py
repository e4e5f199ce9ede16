"""Turns beside other capabilities and toolsets, which raise, answer for the model, or never let a run start."""

from __future__ import annotations

import asyncio
from typing import Any, Self

import pytest
from pydantic_ai import RunContext
from pydantic_ai.capabilities import AbstractCapability, ProcessHistory
from pydantic_ai.exceptions import SkipModelRequest
from pydantic_ai.toolsets import AbstractToolset, FunctionToolset

from agents import ENTRY_POINTS, Script, adapter, keep, run_through, says
from kedi_compile import HistoryConfigurationError
from kedi_compile.conversation import ConversationState, history_scope
from talks import AnyAgent, begun, held, is_as_before, is_free, soon, talk, talking

EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)


class Failing(AbstractCapability[Any]):
    """A capability that raises in one of the host's hooks."""

    def __init__(self, hook: str) -> None:
        self.hook = hook

    def _reach(self, hook: str) -> None:
        if hook == self.hook:
            raise LookupError(hook)

    async def for_run(self, ctx: RunContext[Any]) -> Failing:
        self._reach("for_run")
        return self

    async def before_run(self, ctx: RunContext[Any]) -> None:
        self._reach("before_run")

    async def after_run(self, ctx: RunContext[Any], *, result: Any) -> Any:
        self._reach("after_run")
        return result

    async def before_node_run(self, ctx: RunContext[Any], *, node: Any) -> Any:
        self._reach("before_node_run")
        return node

    async def after_model_request(self, ctx: RunContext[Any], *, request_context: Any, response: Any) -> Any:
        self._reach("after_model_request")
        return response


HOOKS = ("for_run", "before_run", "after_run", "before_node_run", "after_model_request")


@EACH
@pytest.mark.parametrize("first", [True, False])
@pytest.mark.parametrize("hook", HOOKS)
def test_a_turn_in_which_another_capability_raises_keeps_nothing(entry: str, hook: str, first: bool) -> None:
    """Wherever it stands, and also where the run then never starts."""
    state = begun()
    capabilities: list[AbstractCapability[Any]] = [Failing(hook), adapter()]
    agent = talking(Script("two"), *(capabilities if first else capabilities[::-1]))

    with pytest.raises(LookupError, match=hook):
        talk(agent, state, "second", entry=entry)

    assert is_as_before(state)


class FailingToolset(FunctionToolset[Any]):
    """A toolset that raises where the host asks it first."""

    def __init__(self, method: str) -> None:
        super().__init__()
        self.method = method

    async def for_run(self, ctx: RunContext[Any]) -> AbstractToolset[Any]:
        if self.method == "for_run":
            raise LookupError(self.method)
        return self

    async def __aenter__(self) -> Self:
        if self.method == "enter":
            raise LookupError(self.method)
        return self

    async def get_tools(self, ctx: RunContext[Any]) -> Any:
        raise LookupError(self.method)


def beside_third(agent: AnyAgent, state: ConversationState) -> tuple[Any, Any]:
    """Run an agent's second turn and another's third at once, and return what became of them."""

    async def main() -> tuple[Any, Any]:
        with history_scope(True, state):
            return await asyncio.gather(
                agent.run("second"), talking(Script("three")).run("third"), return_exceptions=True
            )

    outcomes: tuple[Any, Any] = asyncio.run(soon(main()))
    return outcomes


@pytest.mark.parametrize("method", ["for_run", "enter", "get_tools"])
def test_a_run_that_never_starts_blocks_nobody(method: str) -> None:
    """Its ticket is free for a call of another task, while its error is still held."""
    state = begun()
    failing = talking(Script("two"), toolsets=[FailingToolset(method)])

    failed, result = beside_third(failing, state)

    assert isinstance(failed, LookupError)
    assert result.output == "three"
    assert held(state) == ["< first", "> one", "< third", "> three"]
    assert is_free(state)


def test_a_run_whose_preparation_fails_blocks_nobody() -> None:
    """The same if another capability's preparation raises, after some time."""

    class Late(Failing):
        async def for_run(self, ctx: RunContext[Any]) -> Failing:
            for _ in range(5):
                await asyncio.sleep(0)
            raise LookupError

    state = begun()
    failing = talking(Script("two"), Late("for_run"), adapter())

    failed, result = beside_third(failing, state)

    assert isinstance(failed, LookupError)
    assert result.output == "three"
    assert is_free(state)


def test_two_adapters_on_one_agent_are_refused_in_a_conversation() -> None:
    """Each would begin the same turn; nothing is sent, and no ticket is held."""
    script, state = Script("two"), begun()
    agent = talking(script, adapter(), adapter())

    async def main() -> list[Any]:
        with history_scope(True, state):
            return list(await asyncio.gather(agent.run("a"), agent.run("b"), return_exceptions=True))

    outcomes = asyncio.run(soon(main()))

    assert [str(one) for one in outcomes] == [
        "2 `PydanticAdapter`s stand on one agent in a conversation; keep one, or each would begin the same turn"
    ] * 2
    assert {type(one) for one in outcomes} == {HistoryConfigurationError}
    assert script.requests == []
    assert is_as_before(state)


def test_two_adapters_on_one_agent_are_fine_without_a_conversation() -> None:
    """If only one has a processor."""
    agent = talking(Script("done"), adapter(), adapter(keep(1)))

    assert run_through("run", agent, "now").output == "done"


def test_a_processor_of_the_scope_beside_another_history_capability_is_refused() -> None:
    """It is seen when the run begins; its ticket is free at once, also for another task."""
    script, state = Script("two"), begun()
    agent = talking(script, ProcessHistory(lambda messages: messages), adapter())

    async def main() -> list[Any]:
        with history_scope(True, state, processor=keep(1)):
            refused = agent.run("second")
            fine = talking(Script("three")).run("third")
            return list(await asyncio.gather(refused, fine, return_exceptions=True))

    with pytest.warns(UserWarning, match="prefix cache"):
        refused, fine = asyncio.run(soon(main()))

    assert isinstance(refused, HistoryConfigurationError)
    assert fine.output == "three"
    assert script.requests == []
    assert is_free(state)


class Skipping(AbstractCapability[Any]):
    """A capability that answers in place of the model."""

    async def before_model_request(self, ctx: RunContext[Any], request_context: Any) -> Any:
        raise SkipModelRequest(says("skipped"))


@EACH
def test_a_turn_whose_answer_another_capability_gives_is_kept(entry: str) -> None:
    """It is a turn of the lane its request would have had, also as the first of its conversation."""
    script, state = Script("one", "two"), ConversationState()
    skipping = talking(script, Skipping(), adapter())

    talk(skipping, state, "first", "second", entry=entry)
    talk(talking(script), state, "third", entry=entry)

    assert script.sent == [["< first", "> skipped", "< second", "> skipped", "< third"]]
    assert (state.turns, len(state.lanes)) == (3, 1)


class Answering(AbstractCapability[Any]):
    """A capability that lets no request come to the adapter at all."""

    async def wrap_model_request(self, ctx: RunContext[Any], *, request_context: Any, handler: Any) -> Any:
        return says("remembered")


@EACH
def test_a_turn_without_any_request_goes_on_in_the_lane_before_it(entry: str) -> None:
    """No request tells the lane, so it is the one whose history stood in front; an empty conversation has none."""
    state = ConversationState()
    answering = talking(Script("one"), Answering(), adapter())

    talk(answering, state, "lost", entry=entry)
    assert (state.turns, is_free(state)) == (0, True)

    talk(talking(Script("one")), state, "first", entry=entry)
    talk(answering, state, "second", entry=entry)
    assert held(state) == ["< first", "> one", "< second", "> remembered"]


class Asking(AbstractCapability[Any]):
    """A capability that runs another agent in one of the host's hooks, before the run itself."""

    def __init__(self, hook: str, helper: Any) -> None:
        self.hook = hook
        self.helper = helper

    async def for_run(self, ctx: RunContext[Any]) -> Asking:
        if self.hook == "for_run":
            await self.helper.run("inside")
        return self

    async def wrap_run(self, ctx: RunContext[Any], *, handler: Any) -> Any:
        if self.hook == "wrap_run":
            await self.helper.run("inside")
        return await handler()


@EACH
@pytest.mark.parametrize("hook", ["for_run", "wrap_run"])
def test_a_run_of_another_capability_before_the_turn_begins_is_inside_of_it(entry: str, hook: str) -> None:
    """It would wait for the very turn that waits for it."""
    helped, script, state = Script("help"), Script("one", "two"), ConversationState()
    agent = talking(script, Asking(hook, talking(helped)), adapter())

    talk(agent, state, "first", "second", entry=entry)

    assert helped.sent == [["< inside"], ["< inside"]]
    assert held(state) == ["< first", "> one", "< second", "> two"]
