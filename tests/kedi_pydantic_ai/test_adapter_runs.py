"""Several runs on one adapter: concurrent, nested in a tool, nested in the callback, one after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai import Agent, ToolOutput
from pydantic_ai.messages import ModelMessage

from agents import ENTRY_POINTS, Context, Script, adapter, calls, keep, lines, run_through, turns
from kedi_compile import HistoryProcessingError

KEPT_ONE = ["< question 3", "> answer 3", "< now"]
AnyAgent = Agent[Any, Any]


def test_concurrent_runs_keep_their_own_counters() -> None:
    """Two runs that interleave on one adapter each count requests and generations alone."""
    seen: dict[str, list[tuple[int, int]]] = {"a": [], "b": []}
    barrier = asyncio.Barrier(2)

    async def note(ctx: Context) -> Sequence[ModelMessage]:
        name = lines(ctx.messages[ctx.groups[-1].entry_start :])[0][-1]
        await barrier.wait()
        seen[name].append((ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(1) if name == "a" else ctx.messages

    shared = adapter(note)
    first, second = (_looking(Script(calls("c1"), "done"), shared) for _ in range(2))

    async def main() -> None:
        await asyncio.gather(
            first.run("run a", message_history=turns(3)), second.run("run b", message_history=turns(3))
        )

    asyncio.run(main())

    assert seen == {"a": [(1, 0), (2, 1)], "b": [(1, 0), (2, 0)]}


def test_concurrent_runs_of_one_agent_do_not_see_each_others_edits() -> None:
    """Each run's lists hold its own edit."""
    agent = _looking(Script("done"), adapter(keep(1)))

    async def main() -> list[list[str]]:
        results = await asyncio.gather(*(agent.run(f"run {n}", message_history=turns(n + 1)) for n in range(4)))
        return [lines(result.all_messages()) for result in results]

    assert asyncio.run(main()) == [
        [f"< question {n + 1}", f"> answer {n + 1}", f"< run {n}", "> done"] for n in range(4)
    ]


def test_one_runs_failure_leaves_a_concurrent_run_alone() -> None:
    """Undoing one run's edit touches no other run."""
    shared = adapter(keep(1))
    started = asyncio.Event()

    async def fail() -> None:
        await started.wait()
        raise LookupError

    async def go_on() -> None:
        started.set()
        await asyncio.sleep(0)

    failing, working = _looking(Script(fail), shared), _looking(Script(go_on), shared)

    async def main() -> tuple[Any, Any]:
        return await asyncio.gather(
            failing.run("now", message_history=turns(3)),
            working.run("now", message_history=turns(3)),
            return_exceptions=True,
        )

    failed, worked = asyncio.run(main())

    assert isinstance(failed, LookupError)
    assert lines(worked.all_messages()) == [*KEPT_ONE, "> done"]


@pytest.mark.parametrize("entry", ENTRY_POINTS)
def test_a_run_nested_in_a_tool_works_on_the_same_adapter(entry: str) -> None:
    """A sub-agent called by a tool has its own counters and history."""
    indices: list[tuple[str, int]] = []

    def note(ctx: Context) -> list[ModelMessage]:
        indices.append((ctx.model_id, ctx.request_index))
        return ctx.keep_recent_groups(0)

    shared = adapter(note)
    inner_script, outer_script = (
        Script("inner done", model_name="inner"),
        Script(calls("c1"), "done", model_name="outer"),
    )
    inner: AnyAgent = Agent(inner_script.model, capabilities=[shared])
    outer: AnyAgent = Agent(outer_script.model, capabilities=[shared])

    @outer.tool_plain
    async def look() -> str:
        result = await inner.run("nested", message_history=turns(1))
        return str(result.output)

    finished = run_through(entry, outer, "now", message_history=turns(2))

    assert indices == [("function:outer", 1), ("function:inner", 1), ("function:outer", 2)]
    assert inner_script.sent == [["< nested"]]
    assert lines(finished.all_messages) == ["< now", "> call c1", "< result c1", "> done"]


@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_run_nested_in_the_callback_of_the_same_adapter_raises(asynchronous: bool) -> None:
    """A processor may not call the adapter it belongs to; the error says what to use instead."""
    script = Script("never")
    agents: list[AnyAgent] = []

    async def ask_itself(ctx: Context) -> Sequence[ModelMessage]:
        await agents[0].run("summarize")
        return ctx.messages

    def ask_itself_in_thread(ctx: Context) -> Sequence[ModelMessage]:
        asyncio.run(agents[0].run("summarize"))
        return ctx.messages

    agents.append(Agent(script.model, capabilities=[adapter(ask_itself if asynchronous else ask_itself_in_thread)]))

    with pytest.raises(HistoryProcessingError, match="called the adapter it belongs to"):
        run_through("run", agents[0], "now")
    assert script.sent == []


def test_a_run_nested_in_the_condition_of_the_same_adapter_raises() -> None:
    """The condition is one of the adapter's own callbacks."""
    script = Script("never")
    agents: list[AnyAgent] = []

    async def ask_itself(_: Any) -> bool:
        await agents[0].run("is it long?")
        return True

    agents.append(Agent(script.model, capabilities=[adapter(keep(1), ask_itself)]))

    with pytest.raises(HistoryProcessingError, match="called the adapter it belongs to"):
        run_through("run", agents[0], "now")
    assert script.sent == []


@pytest.mark.parametrize("asynchronous", [True, False])
def test_a_processor_free_model_may_write_the_summary(asynchronous: bool) -> None:
    """A callback may ask an agent without this adapter."""
    summarizer: AnyAgent = Agent(Script("They talked.").model)
    script = Script("done")

    async def summarize(ctx: Context) -> list[ModelMessage]:
        text = (await summarizer.run("summarize")).output
        return ctx.replace_groups(ctx.groups[:-1], *ctx.summary_messages(text))

    def summarize_in_thread(ctx: Context) -> list[ModelMessage]:
        return asyncio.run(summarize(ctx))

    agent: AnyAgent = Agent(script.model, capabilities=[adapter(summarize if asynchronous else summarize_in_thread)])

    run_through("run", agent, "now", message_history=turns(3))

    assert script.sent == [["< They talked.", "> Noted.", "< now"]]


def test_another_adapter_may_run_inside_a_callback() -> None:
    """Only the same configured adapter is refused."""
    inner_script, script = Script("They talked."), Script("done")
    summarizer: AnyAgent = Agent(inner_script.model, capabilities=[adapter(keep(0))])

    async def summarize(ctx: Context) -> list[ModelMessage]:
        text = (await summarizer.run("summarize", message_history=turns(2))).output
        return ctx.replace_groups(ctx.groups[:-1], ctx.text_message(text), ctx.text_message("Noted.", "assistant"))

    agent: AnyAgent = Agent(script.model, capabilities=[adapter(summarize)])

    run_through("run", agent, "now", message_history=turns(3))

    assert inner_script.sent == [["< summarize"]]
    assert script.sent == [["< They talked.", "> Noted.", "< now"]]


def test_one_adapter_serves_agents_of_different_types() -> None:
    """Output type and dependencies are the agents' own."""
    shared = adapter(keep(1))
    script = Script(calls("c1", tool="final_result", value=3))
    plain: AnyAgent = Agent(Script("done").model, capabilities=[shared])
    typed: AnyAgent = Agent(script.model, deps_type=int, output_type=ToolOutput(_value), capabilities=[shared])

    assert run_through("run", plain, "now", message_history=turns(3)).output == "done"
    assert run_through("run", typed, "now", message_history=turns(3), deps=4).output == 3
    assert script.sent == [KEPT_ONE]


def test_a_second_run_continues_from_all_messages() -> None:
    """With native history alone, carrying `all_messages` forward keeps what was removed away."""
    script = Script("first", "second")
    agent: AnyAgent = Agent(script.model, capabilities=[adapter(lambda ctx: ctx.keep_recent_groups(1, over=2))])

    first = run_through("run", agent, "one", message_history=turns(3))
    run_through("run", agent, "two", message_history=first.all_messages)

    assert script.sent == [
        ["< question 3", "> answer 3", "< one"],
        ["< question 3", "> answer 3", "< one", "> first", "< two"],
    ]


def _looking(script: Script, *capabilities: Any) -> AnyAgent:
    agent: AnyAgent = Agent(script.model, capabilities=capabilities)
    agent.tool_plain(look)
    return agent


def _value(value: int) -> int:
    return value


def look() -> str:
    """Look at something."""
    return "seen"
