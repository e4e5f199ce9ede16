"""Assembled runs that end in the middle of a tool loop, on the wire of a model that binds thinking to its prefix.

A graph's state keeps nothing that was assembled. The process that paused a run still has it; another one refuses what
the provider would refuse. Pydantic AI resumes in a run of its own, and each call of a wrapped model is one.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain_core.messages import BaseMessage, HumanMessage, ToolMessage, message_chunk_to_message
from langchain_core.tools import StructuredTool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt
from pydantic_ai import Agent
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import DeferredToolRequests, DeferredToolResults

from emulator import Answer
from kedi_compile import HistoryProcessingValidationError
from kedi_compile.assembly import Mutation
from kedi_compile.dump.schema import RequestDump
from kedi_langchain import LangChainAdapter
from kedi_pydantic_ai import PydanticAdapter
from recording import Lane
from recording_langchain import ChatProvider
from teams import BINDING_MODEL, OBJECTIVE, Sent, Task, appended, compiler, lanes, loop

THREAD: Any = {"configurable": {"thread_id": "pump"}}
GO_ON: Any = {"messages": [HumanMessage("Go on.")]}
YES: Any = Command(resume="yes")


@pytest.fixture
async def provider(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[ChatProvider]:
    """The emulator, whatever keys are in the environment; it fails a test in which it refused anything."""
    for name in ("ANTHROPIC_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    lane: Lane = request.param
    async with ChatProvider(lane, recording=True) as provider:
        yield provider


class Paused:
    """An agent whose tool asks a person in front of request 4; its frame changes at requests 2 and 5."""

    def __init__(self, provider: ChatProvider, model: Any) -> None:
        changes: dict[int, Callable[[Task], object]] = {
            2: lambda task: task.frame.mutate(Mutation("m1", "Turned the valve.")),
            4: lambda _task: interrupt("May I?"),
            5: lambda task: task.steer("s1"),
        }
        self.task = Task(changes)
        self.dumped: list[RequestDump] = []
        self._provider, self._model, self._saver = provider, model, InMemorySaver()

    def process(self, **options: Any) -> Any:
        """Return the agent as another process builds it over the same checkpointer."""
        adapter = LangChainAdapter(request_compiler=compiler(self.task), dump=self.dumped.append, **options)
        return create_agent(
            self._model,
            tools=[StructuredTool.from_function(self.task.look)],
            middleware=[adapter.middleware()],
            checkpointer=self._saver,
        )

    async def run(self, agent: Any, given: Any) -> None:
        """Run until it pauses or ends."""
        async for _ in agent.astream(
            given, THREAD, stream_mode="messages" if self._provider.lane.streams else "values"
        ):
            pass

    @property
    def sent(self) -> list[Sent]:
        """What was sent so far."""
        return [Sent(body) for body in self._provider.bodies]


def down(_body: object) -> Answer:
    """Be out of order."""
    raise ConnectionError


@lanes("anthropic")
async def test_a_run_goes_on_with_the_tails_it_sent_before_the_pause(provider: ChatProvider) -> None:
    """In the process that paused it: each request is a prefix of the next, over the pause too."""
    paused = Paused(provider, provider.chat(BINDING_MODEL))
    provider.script(*loop(6))
    agent = paused.process()

    await paused.run(agent, GO_ON)
    assert len(paused.sent) == 3
    await paused.run(agent, YES)

    assert appended(paused.sent) == [True] * 5
    assert [len(one.tails) for one in paused.sent] == [1, 2, 2, 2, 3, 3]
    assert [dump.request_index for dump in paused.dumped] == [1, 2, 3, 4, 5, 6]
    assert OBJECTIVE not in repr(await agent.aget_state(THREAD))


@lanes("anthropic")
async def test_a_run_goes_on_behind_a_request_that_failed(provider: ChatProvider) -> None:
    """From its checkpoint, with the same bytes."""
    paused = Paused(provider, provider.chat(BINDING_MODEL))
    first, second, *_ = loop(6)
    provider.script(first, second, down, "Done.")
    agent = paused.process()

    with pytest.raises(Exception, match="The script of the emulator failed"):
        await paused.run(agent, GO_ON)
    await paused.run(agent, None)

    assert appended(paused.sent) == [True] * 3
    assert paused.sent[2].messages == paused.sent[3].messages
    assert [len(one.tails) for one in paused.sent] == [1, 2, 2, 2]


@lanes("anthropic")
@pytest.mark.parametrize("setting", [None, "strip"])
async def test_another_process_refuses_what_the_provider_would(provider: ChatProvider, setting: Any) -> None:
    """Nothing is sent: the running loop's thoughts are wanted back, and the tails before them are not there."""
    paused = Paused(provider, provider.chat(BINDING_MODEL))
    provider.script(*loop(6))
    await paused.run(paused.process(), GO_ON)

    with pytest.raises(HistoryProcessingValidationError, match="what was assembled around it"):
        await paused.run(paused.process(bound_reasoning=setting), YES)

    assert len(paused.sent) == 3
    assert paused.dumped[-1].outcome == "refused"


@lanes()
async def test_another_process_begins_anew_where_nothing_is_bound(provider: ChatProvider) -> None:
    """With one tail at the place of the pause, which stays there for the rest of the run."""
    paused = Paused(provider, provider.chat())
    provider.script(*loop(6, thinks=False))
    await paused.run(paused.process(), GO_ON)

    await paused.run(paused.process(), YES)

    assert appended(paused.sent) == [True, True, False, True, True]
    assert [len(one.tails) for one in paused.sent] == [1, 2, 2, 1, 2, 2]
    assert paused.sent[3].user[:2] == ["Go on.", "<result>"]


@lanes("anthropic", streams=False)
@pytest.mark.parametrize("setting", [None, "strip"])
async def test_a_deferred_tool_of_pydantic_ai_is_another_run(provider: ChatProvider, setting: Any) -> None:
    """Its results begin a run, which sends no earlier tails; thoughts of the loop are refused before they are sent."""
    adapter: PydanticAdapter[Any] = PydanticAdapter(request_compiler=compiler(Task()), bound_reasoning=setting)
    agent: Agent[None, Any] = Agent(
        provider.model(BINDING_MODEL),
        output_type=[str, DeferredToolRequests],
        model_settings=ModelSettings(max_tokens=2048),
        capabilities=[adapter],
    )

    @agent.tool_plain(requires_approval=True)
    def look(ahead: int) -> str:
        return f"seen {ahead}"

    provider.script(*loop(2))
    done = await agent.run("Go on.")
    assert isinstance(done.output, DeferredToolRequests)
    (call,) = done.output.approvals

    with pytest.raises(HistoryProcessingValidationError, match="what was assembled around it"):
        await agent.run(
            message_history=done.all_messages(),
            deferred_tool_results=DeferredToolResults(approvals={call.tool_call_id: True}),
        )

    assert len(provider.sent) == 1


class ByHand:
    """A loop by hand around a wrapped model."""

    def __init__(self, provider: ChatProvider, model: Any, **options: Any) -> None:
        adapter = LangChainAdapter(request_compiler=compiler(Task()), **options)
        self._streams = provider.lane.streams
        self._model: Any = adapter.wrap(model).bind_tools([StructuredTool.from_function(Task().look)])
        self.history: list[BaseMessage] = [HumanMessage("Go on.")]

    async def ask(self) -> None:
        """Ask the model, and answer what it calls."""
        if self._streams:
            chunks = [chunk async for chunk in self._model.astream(self.history)]
            answer: Any = message_chunk_to_message(sum(chunks[1:], chunks[0]))
        else:
            answer = await self._model.ainvoke(self.history)
        results = [ToolMessage("seen", tool_call_id=call["id"]) for call in answer.tool_calls]
        self.history += [answer, *results]


@lanes("anthropic")
@pytest.mark.parametrize("setting", [None, "strip"])
async def test_a_loop_by_hand_is_refused_where_thoughts_are_bound(provider: ChatProvider, setting: Any) -> None:
    """The second call would send the first one's thought without the tail it stood behind; agents keep it."""
    provider.script(*loop(2))
    clerk = ByHand(provider, provider.chat(BINDING_MODEL), bound_reasoning=setting)
    await clerk.ask()

    with pytest.raises(HistoryProcessingValidationError, match="what was assembled around it"):
        await clerk.ask()

    assert len(provider.sent) == 1
    assert OBJECTIVE not in repr(clerk.history)


@lanes()
async def test_a_loop_by_hand_has_one_tail_in_each_request(provider: ChatProvider) -> None:
    """Around the user's text in the first, behind the newest results in the others."""
    provider.script(*loop(3, thinks=False))
    clerk = ByHand(provider, provider.chat())
    for _request in range(3):
        await clerk.ask()

    sent = [Sent(body) for body in provider.bodies]
    assert [one.tails for one in sent] == [sent[0].tails] * 3
    assert [one.user.index(one.tails[0]) for one in sent] == [0, 2, 3]
    assert OBJECTIVE not in repr(clerk.history)
