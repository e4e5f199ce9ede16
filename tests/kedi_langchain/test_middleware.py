"""The agent middleware: the edit and its answer land in one write, and the agent goes on from the edited history.

How it stands beside other middleware is in `test_middleware_beside.py`, what it remembers in `test_state.py`.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage
from langchain_core.messages.tool import invalid_tool_call
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic import BaseModel

from chats import Context, Keeping, StreamingChat, adapter, asked, calls, keep, lines, noting, turns, untouched
from checkpointers import CHECKPOINTERS, aopened, opened
from kedi_compile import HistoryConfigurationError, HistoryProcessingError, HistoryProcessingWarning
from threads import THREAD, agent, answering, asks, kept, says

BEFORE = [*lines(turns(3)), "< now"]
KEPT_ONE = ["< question 3", "> answer 3", "< now"]


def summarized(ctx: Context) -> Sequence[BaseMessage]:
    """Replace all groups that may go by a summary, as long as there are more than two."""
    eligible = [group for group in ctx.groups if group.closed and not group.protected]
    return ctx.replace_groups(eligible, *ctx.summary_messages("summary")) if len(eligible) > 2 else ctx.messages


@pytest.mark.parametrize("checkpointer", CHECKPOINTERS)
def test_edit_and_answer_land_in_one_write(checkpointer: str, tmp_path: Path) -> None:
    """No checkpoint holds the edit without its answer, or the answer behind the unedited history."""
    with opened(checkpointer, tmp_path) as saver:
        subject = agent(answering("done"), adapter(keep(1)), saver)
        subject.invoke(asks(), THREAD)
        states = [lines(state.values.get("messages", [])) for state in subject.get_state_history(THREAD)]

    assert states == [[*KEPT_ONE, "> done"], BEFORE, BEFORE, []]


@pytest.mark.parametrize("checkpointer", CHECKPOINTERS)
async def test_edit_and_answer_land_in_one_write_asynchronously(checkpointer: str, tmp_path: Path) -> None:
    """The same on the asynchronous path."""
    async with aopened(checkpointer, tmp_path) as saver:
        subject = agent(answering("done"), adapter(keep(1)), saver)
        await subject.ainvoke(asks(), THREAD)
        states = [lines(state.values.get("messages", [])) async for state in subject.aget_state_history(THREAD)]

    assert states == [[*KEPT_ONE, "> done"], BEFORE, BEFORE, []]


def test_later_steps_and_turns_go_on_from_the_edited_history() -> None:
    """What was removed once is in no later request of the tool loop or of a next turn."""
    transport = answering(calls("c1"), "done", "again")
    subject = agent(transport, adapter(keep(1)), InMemorySaver())

    subject.invoke(asks(), THREAD)
    finished = subject.invoke(says("next"), THREAD)

    assert transport.sent == [
        KEPT_ONE,
        [*KEPT_ONE, "> call c1", "< result c1"],
        ["< now", "> call c1", "< result c1", "> done", "< next"],
    ]
    assert lines(finished["messages"]) == [*transport.sent[2], "> again"]


def test_requests_of_each_invocation_count_from_one() -> None:
    """A tool loop counts on; the next turn begins anew."""
    seen: list[int] = []
    subject = agent(
        answering(calls("c1"), "done"), adapter(noting(seen, lambda ctx: ctx.request_index)), InMemorySaver()
    )

    subject.invoke(asks(), THREAD)
    subject.invoke(says("next"), THREAD)

    assert seen == [1, 2, 1]


def test_each_rewrite_advances_the_cache_epoch_of_the_thread() -> None:
    """The request after an edit sees the next epoch, an untouched one keeps it, and a next turn goes on from there."""
    seen: list[int] = []

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        seen.append(ctx.cache_epoch)
        return ctx.keep_recent_groups(1)

    subject = agent(answering(calls("c1"), "done"), adapter(edit), InMemorySaver())

    subject.invoke(asks(), THREAD)
    subject.invoke(says("next"), THREAD)
    subject.invoke(says("last"), THREAD)

    assert seen == [0, 1, 1, 2]


def test_kept_messages_keep_their_ids_and_new_ones_get_unique_ids() -> None:
    """An edit re-lists what stays under the ids it had; a summary's messages have ids of their own."""
    subject = agent(answering("done"), adapter(summarized), InMemorySaver())

    messages = subject.invoke(asks(), THREAD)["messages"]

    assert lines(messages) == ["< summary", "> Noted.", "< now", "> done"]
    assert messages[2].id == "now"
    assert len({message.id for message in messages}) == 4
    assert all(message.id for message in messages)


def test_messages_given_without_ids_keep_the_ids_the_graph_gave_them() -> None:
    """The graph names them when they come in; the edit changes no name."""
    subject = agent(answering("done"), adapter(keep(1)), InMemorySaver())

    subject.invoke({"messages": asked()}, THREAD)
    newest, *_, first, _ = [state.values.get("messages", []) for state in subject.get_state_history(THREAD)]

    assert kept(newest)[:-1] == kept(first)[4:]
    assert all(message.id for message in newest)


def test_without_a_checkpointer_the_result_is_the_edited_history() -> None:
    """A run that is not kept anywhere edits all the same."""
    subject = agent(answering("done"), adapter(keep(1)))

    assert lines(subject.invoke(asks())["messages"]) == [*KEPT_ONE, "> done"]


def test_invalid_calls_the_host_repaired_are_kept_with_the_edit() -> None:
    """The host answers a broken call and writes the history anew; the edit is made on it and keeps the answer."""
    broken = AIMessage("", invalid_tool_calls=[invalid_tool_call(name="look", args="{", id="c1", error="bad")])
    transport = answering(broken, "done")
    processor = Keeping(5)
    subject = agent(transport, adapter(processor), InMemorySaver())

    subject.invoke(asks(), THREAD)
    processor.n = 1
    left = subject.invoke(says("next"), THREAD)["messages"]

    assert transport.sent[1] == [*KEPT_ONE, "> ", "< result c1", "< next"]
    assert lines(left) == [*transport.sent[1], "> done"]
    assert len({message.id for message in left}) == len(left)


class Verdict(BaseModel):
    """A verdict."""

    guilty: bool


def test_structured_output_keeps_its_call_and_its_result() -> None:
    """The answer is two messages, and both stand behind the edited history."""
    verdict = AIMessage("", tool_calls=[{"name": "Verdict", "args": {"guilty": True}, "id": "v1"}])
    subject = agent(answering(verdict), adapter(keep(1)), InMemorySaver(), response_format=ToolStrategy(Verdict))

    finished = subject.invoke(asks(), THREAD)

    assert lines(finished["messages"]) == [*KEPT_ONE, "> call v1", "< result v1"]
    assert finished["structured_response"] == Verdict(guilty=True)


def test_a_system_prompt_is_sent_and_never_stored() -> None:
    """The processor does not see the agent's own prompt, and an edit does not write it into the history."""
    processor = Keeping(1)
    transport = answering("done")
    subject = agent(transport, adapter(processor), InMemorySaver(), system_prompt="Be brief.")

    messages = subject.invoke(asks(), THREAD)["messages"]

    assert processor.shown == [BEFORE]
    assert transport.sent == [["< system Be brief.", *KEPT_ONE]]
    assert lines(messages) == [*KEPT_ONE, "> done"]


def test_a_system_message_of_the_history_stays_first() -> None:
    """A system message in the state is protected."""
    subject = agent(answering("done"), adapter(keep(0)), InMemorySaver())

    messages = subject.invoke({"messages": [SystemMessage("Be brief."), *asked()]}, THREAD)["messages"]

    assert lines(messages) == ["< system Be brief.", "< now", "> done"]


def test_an_approval_resumes_the_loop_on_the_edited_history() -> None:
    """An interrupt behind the first answer keeps its edit; the approved loop counts on."""
    seen: list[int] = []
    approval = HumanInTheLoopMiddleware(interrupt_on={"look": True})
    transport = answering(calls("c1"), "done")
    subject = agent(transport, adapter(_noting_index(seen, keep(1))), InMemorySaver(), outside=[approval])

    stopped = subject.invoke(asks(), THREAD)
    finished = subject.invoke(Command(resume={"decisions": [{"type": "approve"}]}), THREAD)

    assert lines(stopped["messages"]) == [*KEPT_ONE, "> call c1"]
    assert lines(finished["messages"]) == [*KEPT_ONE, "> call c1", "< result c1", "> done"]
    assert seen == [1, 2]


def test_a_sub_agent_with_the_same_adapter_counts_for_itself() -> None:
    """A tool that runs an agent with the same adapter has its own indices and epochs."""
    seen: list[tuple[str, int, int]] = []

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        seen.append((lines(ctx.messages)[-1], ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(1)

    shared = adapter(edit)
    helper = agent(answering("helped"), shared)

    def help_out() -> str:
        """Ask a helper."""
        return lines(helper.invoke({"messages": asked(prompt="help")})["messages"])[-1]

    subject = agent(answering(calls("c1", tool="help_out"), "done"), shared, InMemorySaver(), tools=[help_out])
    finished = subject.invoke(asks(), THREAD)

    assert seen == [("< now", 1, 0), ("< help", 1, 0), ("< result c1", 2, 1)]
    assert finished["messages"][-2].content == "> helped"


def test_a_processor_may_not_call_back_into_its_own_adapter() -> None:
    """An agent run from inside the processor with the same adapter is refused, and nothing is sent."""
    transport = answering("done")

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        subject.invoke({"messages": asked()})
        return ctx.messages

    subject = agent(transport, adapter(edit))

    with pytest.raises(HistoryProcessingError, match="called the adapter it belongs to"):
        subject.invoke({"messages": asked()})
    assert transport.sent == []


def test_a_wrapped_model_without_the_middleware_warns_once() -> None:
    """Each request is edited, the durable history is not, and one warning names the middleware."""
    transport = answering("done")
    subject = agent(transport, None, InMemorySaver(), model=adapter(keep(1)).wrap(StreamingChat(transport=transport)))

    with pytest.warns(HistoryProcessingWarning, match=r"\.middleware\(\)") as warned:
        turns_of_thread = [subject.invoke(prompt, THREAD) for prompt in (asks(), says("next"))]

    assert len(warned) == 1
    assert lines(turns_of_thread[0]["messages"]) == [*BEFORE, "> done"]
    assert transport.sent == [KEPT_ONE, ["< now", "> done", "< next"]]


def test_a_wrapped_model_with_the_middleware_is_refused() -> None:
    """Two edits of one request would follow each other: nothing is sent."""
    transport = answering("done")
    ours = adapter(keep(1))
    subject = agent(transport, ours, model=ours.wrap(StreamingChat(transport=transport)))

    with pytest.raises(HistoryConfigurationError, match="wrapped already"):
        subject.invoke(asks())
    assert transport.sent == []


def test_without_a_processor_nothing_is_touched() -> None:
    """Updates and state are those of an agent without the middleware."""
    alone, ours = (agent(answering("done"), one, InMemorySaver()) for one in (None, adapter()))

    expected, left = (list(subject.stream(asks(), THREAD, stream_mode="values")) for subject in (alone, ours))

    assert [lines(state["messages"]) for state in left][-1] == [*BEFORE, "> done"]
    assert {key for state in left for key in state} == {key for state in expected for key in state} == {"messages"}


def test_an_untouched_history_is_not_written_again() -> None:
    """A no-op leaves the answer as the only message of the update."""
    subject = agent(answering("done"), adapter(untouched), InMemorySaver())

    *_, update = subject.stream(asks(), THREAD, stream_mode="updates")

    assert lines(update["model"]["messages"]) == ["> done"]


def test_one_agent_serves_fifty_threads_at_once() -> None:
    """Threads of execution share an agent and an adapter, and none sees another's history or counters."""
    subject, seen = _shared_agent()

    def run(number: int) -> list[str]:
        return lines(subject.invoke(_question(number), _thread(number))["messages"])

    with ThreadPoolExecutor(50) as pool:
        left = list(pool.map(run, range(50)))

    assert left == [["< question 3", "> answer 3", f"< now {number}", "> done"] for number in range(50)]
    assert seen == [(1, 0)] * 50


async def test_one_agent_serves_fifty_tasks_at_once() -> None:
    """The same with tasks of one event loop."""
    subject, seen = _shared_agent()

    finished = await asyncio.gather(*(subject.ainvoke(_question(number), _thread(number)) for number in range(50)))

    left = [lines(one["messages"]) for one in finished]
    assert left == [["< question 3", "> answer 3", f"< now {number}", "> done"] for number in range(50)]
    assert seen == [(1, 0)] * 50


def _shared_agent() -> tuple[Any, list[tuple[int, int]]]:
    seen: list[tuple[int, int]] = []

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        seen.append((ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(1)

    return agent(answering("done"), adapter(edit), InMemorySaver()), seen


def _question(number: int) -> dict[str, list[BaseMessage]]:
    return {"messages": [*turns(3), HumanMessage(f"now {number}")]}


def _thread(number: int) -> Any:
    return {"configurable": {"thread_id": str(number)}}


def _noting_index(seen: list[int], processor: Any) -> Any:
    def edit(ctx: Context) -> Any:
        seen.append(ctx.request_index)
        return processor(ctx)

    return edit
