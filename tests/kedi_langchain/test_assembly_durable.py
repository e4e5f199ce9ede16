"""What a checkpointer is given while an agent's requests are assembled: nothing of it, also where a run is paused."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command, interrupt

from asking import RUNS, shown
from assemblies import ASSEMBLED, EPOCH, SUCCESSOR, SYSTEM, Dumps, compiler, extracted, growing, leaks, wishing
from assembling import inputs, ledger
from chats import Transport, adapter, calls, keep, lines
from checkpointers import aopened, opened
from kedi_compile.assembly.ui_tokens import UiTokens
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import begin_assembly
from kedi_langchain.assembly import PausedRuns, RunTails
from kedi_langchain.dialect import DIALECT
from threads import THREAD, agent, answering, asks, graph, look, says

SAVERS = ("memory", "sqlite")


class Told(InMemorySaver):
    """A checkpointer that notes all it is given, before anything is written."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[Any] = []

    def put(self, *args: Any, **kwargs: Any) -> Any:
        """Note, then put."""
        self.given.append((args, kwargs))
        return super().put(*args, **kwargs)

    def put_writes(self, *args: Any, **kwargs: Any) -> Any:
        """Note, then put."""
        self.given.append((args, kwargs))
        return super().put_writes(*args, **kwargs)


def found_in(saver: Told) -> list[str]:
    """Return what a checkpointer must not have been given, and was; of channels it knows the names and versions."""
    return leaks(saver.given, (*ASSEMBLED, "RunTails", "HeldRun", "'assembled'"))


@pytest.mark.parametrize("run", RUNS.values(), ids=RUNS)
def test_a_checkpointer_is_given_nothing_that_was_assembled(run: Any) -> None:
    """Neither texts nor the object that holds them, in any of its writes."""
    saver = Told()
    built = agent(answering(calls("c1"), "done"), adapter(keep(1), request_compiler=compiler(growing(ledger()))), saver)

    run(built, asks("now"), THREAD)

    assert saver.given
    assert found_in(saver) == []


@pytest.mark.parametrize("checkpointer", SAVERS)
@pytest.mark.parametrize("is_async", [False, True])
def test_a_thread_goes_on_from_what_was_kept(checkpointer: str, is_async: bool, tmp_path: Path) -> None:
    """The second run begins with a first frame, behind the durable history."""
    transport = answering(calls("c1"), "one", "two")
    given = adapter(request_compiler=compiler(growing(ledger())))

    def check(state: Any) -> None:
        assert lines(state.values["messages"]) == ["< first", "> call c1", "< result c1", "> one", "< second", "> two"]
        assert "kedi_run" not in state.values

    async def main() -> None:
        async with aopened(checkpointer, tmp_path) as saver:
            built = agent(transport, given, saver)
            await built.ainvoke(says("first"), THREAD)
            await built.ainvoke(says("second"), THREAD)
            check(await built.aget_state(THREAD))

    if is_async:
        asyncio.run(main())
    else:
        with opened(checkpointer, tmp_path) as saver:
            built = agent(transport, given, saver)
            built.invoke(says("first"), THREAD)
            built.invoke(says("second"), THREAD)
            check(built.get_state(THREAD))

    last = shown(transport.requests[2])[1:]
    assert last[:4] == ["< first", "> call c1", "< result c1", "> one"]
    assert last[4].startswith(f"< {EPOCH}")
    assert SUCCESSOR not in str(last)
    if checkpointer == "sqlite":
        data = b"".join(path.read_bytes() for path in tmp_path.iterdir())
        assert [word for word in ASSEMBLED if word.encode() in data] == []
        assert b"assembled" not in data


def peek() -> str:
    """Peek, without asking anybody."""
    return "seen"


def paused(transport: Transport, saver: Any, given: Any, **options: Any) -> Any:
    """Return an agent that asks a person before its tool runs."""
    asks_first = HumanInTheLoopMiddleware(interrupt_on={"look": True})
    return agent(transport, given, saver, outside=[asks_first], **options)


APPROVE: Any = Command(resume={"decisions": [{"type": "approve"}]})


@pytest.mark.parametrize("checkpointer", SAVERS)
def test_a_run_that_another_process_resumes_is_assembled_from_there(checkpointer: str, tmp_path: Path) -> None:
    """What stood in the run before the pause is gone."""
    transport = answering(calls("c1"), calls("c2"), "done")
    given = compiler(growing(ledger()))
    with opened(checkpointer, tmp_path) as saver:
        agents = [paused(transport, saver, adapter(request_compiler=given)) for _process in range(3)]
        assert agents[0].invoke(says("now"), THREAD)["__interrupt__"]
        agents[1].invoke(APPROVE, THREAD)
        state = agents[2].invoke(APPROVE, THREAD)

    assert lines(state["messages"]) == ["< now", "> call c1", "< result c1", "> call c2", "< result c2", "> done"]
    assert leaks(state) == []
    first, second, third = (shown(request)[1:] for request in transport.requests)
    assert first == [f"< {EPOCH} | now"]
    assert second[:3] == ["< now", "> call c1", "< result c1"]
    assert second[3].startswith(f"< {EPOCH}")
    assert third[:5] == ["< now", "> call c1", "< result c1", "> call c2", "< result c2"]
    assert third[5].startswith(f"< {EPOCH}")


def test_tails_of_a_resumed_run_stay_where_they_were_sent() -> None:
    """A tool loop over a pause and behind it keeps its prefix like any other, in the process that paused it."""
    transport = answering(calls("c1"), calls("c2", tool="peek"), calls("c3", tool="peek"), "done")
    saver = Told()
    built = paused(transport, saver, adapter(request_compiler=compiler(growing(ledger()))), tools=[look, peek])
    built.invoke(says("now"), THREAD)
    built.invoke(APPROVE, THREAD)

    first, second, third, fourth = (shown(request)[1:] for request in transport.requests)
    assert second[: len(first)] == first
    assert third[: len(second)] == second
    assert fourth[: len(third)] == third
    assert third[-1].startswith(f"< {SUCCESSOR}")
    assert found_in(saver) == []


def test_an_agent_built_anew_goes_on_with_the_run_that_an_earlier_one_paused() -> None:
    """A service builds its agent for each call, around one adapter; the run is the adapter's."""
    transport, saver = answering(calls("c1"), "done"), InMemorySaver()
    given = adapter(request_compiler=compiler(growing(ledger())))
    paused(transport, saver, given).invoke(says("now"), THREAD)
    paused(transport, saver, given).invoke(APPROVE, THREAD)

    first, second = (shown(request)[1:] for request in transport.requests)
    assert second[: len(first)] == first
    assert second[-1].startswith(f"< {SUCCESSOR}")


def test_another_process_goes_on_from_a_first_frame() -> None:
    """It knows nothing of those before; its own stay where they were sent."""
    saver, transport = Told(), answering(calls("c2", tool="peek"), calls("c3", tool="peek"), "done")

    def process(side: Transport) -> Any:
        given = adapter(request_compiler=compiler(growing(ledger())))
        return paused(side, saver, given, tools=[look, peek])

    process(answering(calls("c1"))).invoke(says("now"), THREAD)
    process(transport).invoke(APPROVE, THREAD)

    second, third, fourth = (shown(request)[1:] for request in transport.requests)
    assert second[:3] == ["< now", "> call c1", "< result c1"]
    assert second[3].startswith(f"< {EPOCH}")
    assert third[: len(second)] == second
    assert fourth[: len(third)] == third


PAUSES = ("inputs", "extraction", "processor", "condition", "prompt")


def pausing(where: str, dumps: Dumps) -> Any:
    """Return an adapter one of whose callbacks asks a person."""

    def ask(given: Any, answer: Any) -> Any:
        assert interrupt("may I?") == "yes"
        return answer

    options: dict[str, Any] = {"dump": dumps, "request_compiler": compiler()}
    if where == "inputs":
        options["request_compiler"] = compiler(lambda live: ask(live, inputs()))
    if where == "extraction":
        options["request_compiler"] = wishing(lambda wish: ask(wish, extracted()))
    if where == "prompt":
        options["user_prompt_submit"] = lambda prompt: ask(prompt, prompt)
    processor = (lambda ctx: ask(ctx, ctx.keep_recent_groups(1))) if where == "processor" else keep(1)
    condition = (lambda state: ask(state, True)) if where == "condition" else None
    return adapter(processor, condition, **options)


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("where", PAUSES)
def test_a_callback_may_pause_the_graph(where: str, is_async: bool) -> None:
    """The request is made when it resumes; nobody refused it meanwhile."""
    transport, dumps = answering("done"), Dumps()
    built = agent(transport, pausing(where, dumps), InMemorySaver(), tools=[])
    run = RUNS["ainvoke" if is_async else "invoke"]

    state = run(built, asks("now"), THREAD)
    assert [one.value for one in state["__interrupt__"]] == ["may I?"]
    assert transport.requests == []
    assert dumps.outcomes == ["cancelled"]
    assert dumps.only.history.outcome == "not_processed"
    state = run(built, Command(resume="yes"), THREAD)

    assert lines(state["messages"]) == ["< question 3", "> answer 3", "< now", "> done"]
    assert shown(transport.requests[0])[0] == f"< system {SYSTEM}"
    assert dumps.outcomes == ["cancelled", "answered"]


@pytest.mark.parametrize("is_async", [False, True])
@pytest.mark.parametrize("where", PAUSES)
def test_a_callback_of_a_node_may_pause_its_graph(where: str, is_async: bool) -> None:
    """A wrapped model is no different."""
    transport, dumps = answering("done"), Dumps()
    built = graph(transport, pausing(where, dumps), InMemorySaver())
    run = RUNS["ainvoke" if is_async else "invoke"]

    state = run(built, asks("now"), THREAD)
    assert [one.value for one in state["__interrupt__"]] == ["may I?"]
    assert transport.requests == []
    state = run(built, Command(resume="yes"), THREAD)

    assert lines(state["messages"]) == ["< question 3", "> answer 3", "< now", "> done"]
    assert [outcome for outcome in dumps.outcomes if outcome != "cancelled"] == ["answered"]


def test_a_thread_is_read_by_an_agent_without_the_adapter() -> None:
    """What is durable is the host's own."""
    saver = InMemorySaver()
    agent(answering("one"), adapter(request_compiler=compiler()), saver, tools=[]).invoke(says("first"), THREAD)
    transport = answering("two")

    agent(transport, None, saver, tools=[]).invoke({"messages": [HumanMessage("second")]}, THREAD)

    assert shown(transport.requests[0]) == ["< first", "> one", "< second"]


def new_run() -> RunTails:
    """Return the assembly of a run that sent nothing yet."""
    assembly = begin_assembly(compiler(), HistoryPolicy(), DIALECT)
    assert assembly is not None
    return RunTails(assembly, UiTokens())


def calling(name: str) -> AIMessage:
    """Return an answer that calls a tool."""
    return calls("c1").model_copy(update={"id": name})


def test_a_run_is_known_by_its_newest_answer_until_it_ends() -> None:
    """One that calls tools stands in the place of the one before; one that calls none is the last."""
    runs, run, ending = PausedRuns(), new_run(), AIMessage("done", id="a3")
    first, second = calling("a1"), calling("a2")

    runs.answered(run, first, None)
    assert runs.resumed(first) is run
    runs.answered(run, second, first)
    assert [runs.resumed(answer) for answer in (None, first, second)] == [None, None, run]
    runs.answered(run, ending, second)
    assert [runs.resumed(answer) for answer in (first, second, ending)] == [None, None, None]


def test_runs_that_nobody_resumes_do_not_pile_up() -> None:
    """The oldest goes first."""
    runs, run = PausedRuns(), new_run()
    for number in range(1025):
        runs.answered(run, calling(f"a{number}"), None)

    assert runs.resumed(calling("a0")) is None
    assert runs.resumed(calling("a1")) is run


def test_a_thread_that_failed_and_was_resumed_is_two_lines() -> None:
    """Each time the request was made."""
    dumps = Dumps()
    transport = answering(RuntimeError("overloaded"), "done")
    built = agent(transport, adapter(keep(1), dump=dumps), InMemorySaver())
    with pytest.raises(RuntimeError, match="overloaded"):
        built.invoke(asks("now"), THREAD)
    built.invoke(None, THREAD)

    assert dumps.outcomes == ["failed", "answered"]
    assert [dump.history.outcome for dump in dumps] == ["edited", "edited"]


def test_a_run_has_one_name_in_the_dump_also_where_it_was_paused() -> None:
    """The host gives its runs none unless it is asked to; the next run of the thread has another."""
    dumps, saver = Dumps(), InMemorySaver()
    built = paused(answering(calls("c1"), "one", "two"), saver, adapter(dump=dumps))
    built.invoke(says("first"), THREAD)
    built.invoke(APPROVE, THREAD)
    built.invoke(says("second"), THREAD)

    first, resumed, second = (dump.run_id for dump in dumps)
    assert first is not None
    assert first == resumed != second
    assert second is not None


def test_the_hosts_own_name_of_a_run_is_the_one_in_the_dump() -> None:
    """Where the caller gives one."""
    dumps, name = Dumps(), UUID(int=7)

    agent(answering("done"), adapter(dump=dumps)).invoke(says("now"), {"run_id": name})

    assert [dump.run_id for dump in dumps] == [str(name)]


def test_without_a_dump_a_thread_keeps_no_name() -> None:
    """What nobody reads is not written."""
    built = agent(answering("done"), adapter(keep(1)), InMemorySaver())
    built.invoke(says("now"), THREAD)

    assert "run" not in built.get_state(THREAD).values.get("kedi_history", {})
