"""Edits of an agent's turns: of the conversation in front, of the run's own thread, and of both.

What an edit leaves of the conversation stands in front of the next turn; the run itself returns its own thread alone.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from langchain_core.messages import BaseMessage, HumanMessage

from chats import Context, adapter, calls, keep, lines, turns
from kedi_compile import HistoryProcessingValidationError
from kedi_compile.conversation import history_scope
from threads import Graph, agent, answering, says


def run(subject: Graph, prompt: str, brought: Sequence[BaseMessage] = ()) -> list[str]:
    """Run an agent, with messages in front of its prompt, and return the lines of what it returns."""
    return lines(subject.invoke({"messages": [*brought, HumanMessage(prompt)]})["messages"])


def summarized(ctx: Context) -> Sequence[BaseMessage]:
    """Replace what may go by a summary, as soon as that is more than one group."""
    eligible = [group for group in ctx.groups if group.closed and not group.protected]
    return ctx.replace_groups(eligible, *ctx.summary_messages("summary")) if len(eligible) > 1 else ctx.messages


def reversed_turns(ctx: Context) -> Sequence[BaseMessage]:
    """Turn the order of the closed groups round."""
    *closed, last = ctx.groups
    order = [*reversed(closed), last]
    return [message for group in order for message in ctx.messages[group.entry_start : group.entry_end]]


def test_a_turn_that_an_edit_drops_is_gone_for_good() -> None:
    """Each later request begins from what the edits before left."""
    transport = answering("done")
    subject = agent(transport, adapter(keep(1)))

    with history_scope(True):
        returned = [run(subject, prompt) for prompt in ("one", "two", "three", "four")]

    assert transport.sent == [
        *(["< one"], ["< one", "> done", "< two"], ["< two", "> done", "< three"], ["< three", "> done", "< four"]),
    ]
    assert returned == [[f"< {prompt}", "> done"] for prompt in ("one", "two", "three", "four")]


def test_a_summary_takes_the_place_of_the_turns_it_stands_for() -> None:
    """It belongs to the conversation: the run that made it neither returns nor streams it."""
    transport = answering("done")
    subject = agent(transport, adapter(summarized))

    with history_scope(True):
        returned = [run(subject, prompt) for prompt in ("one", "two")]
        states = list(subject.stream(says("three"), stream_mode="values"))
        returned.append(run(subject, "four"))

    assert transport.sent[2] == ["< summary", "> Noted.", "< three"]
    assert transport.sent[3] == ["< summary", "> Noted.", "< four"]
    assert [lines(state["messages"]) for state in states] == [["< three"], ["< three"], ["< three", "> done"]]
    assert returned == [["< one", "> done"], ["< two", "> done"], ["< four", "> done"]]


def test_an_edit_in_the_middle_of_a_loop_reaches_both_parts() -> None:
    """The run's own thread and the conversation are edited as one history, while the loop goes on."""
    transport = answering("done", calls("c1"), calls("c2"), "seen it", "over")

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        return ctx.keep_recent_groups(0) if lines(ctx.messages)[-1] == "< result c1" else ctx.messages

    subject = agent(transport, adapter(edit))
    with history_scope(True):
        run(subject, "one")
        returned = run(subject, "two", turns(1))
        run(subject, "three")

    loop = ["< two", "> call c1", "< result c1", "> call c2", "< result c2"]
    assert transport.sent[1:] == [
        ["< one", "> done", "< question 1", "> answer 1", "< two"],
        loop[:3],
        loop,
        [*loop, "> seen it", "< three"],
    ]
    assert returned == [*loop, "> seen it"]


def test_an_edit_of_the_runs_own_thread_leaves_the_conversation() -> None:
    """A summary of what the run brought along belongs to the run."""
    transport = answering("done", "done", "over")

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        own = [group for group in ctx.groups if "question" in ctx.messages[group.entry_start].text]
        return ctx.replace_groups(own, *ctx.summary_messages("summary")) if own else ctx.messages

    subject = agent(transport, adapter(edit))
    with history_scope(True):
        run(subject, "one")
        returned = run(subject, "two", turns(2))
        run(subject, "three")

    assert transport.sent[1] == ["< one", "> done", "< summary", "> Noted.", "< two"]
    assert transport.sent[2] == ["< one", "> done", "< summary", "> Noted.", "< two", "> done", "< three"]
    assert returned == ["< summary", "> Noted.", "< two", "> done"]


def test_turns_that_an_edit_reorders_are_kept_in_their_new_order() -> None:
    """Also where it puts what the run brought along in front of the conversation."""
    transport = answering("done")
    subject = agent(transport, adapter(reversed_turns))

    with history_scope(True):
        run(subject, "one")
        run(subject, "two")
        run(subject, "three", turns(1))
        with history_scope(processor=None):
            run(subject, "four")

    kept = ["< question 1", "> answer 1", "< two", "> done", "< one", "> done", "< three"]
    assert transport.sent[2:] == [kept, [*kept, "> done", "< four"]]


def test_each_rewrite_is_one_generation_and_lasts() -> None:
    """Requests without one reuse it, a commit adds none, and the next turn begins where the last one ended."""
    epochs: list[tuple[int, int]] = []

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        epochs.append((ctx.request_index, ctx.cache_epoch))
        return ctx.keep_recent_groups(1)

    subject = agent(answering(*(answer for _ in range(4) for answer in (calls("c1"), "done"))), adapter(edit))
    with history_scope(True):
        for prompt in ("one", "two", "three", "four"):
            run(subject, prompt)

    assert epochs == [(1, 0), (2, 0), (1, 0), (2, 0), (1, 0), (2, 1), (1, 1), (2, 2)]


def test_two_rewrites_in_one_run_are_two_generations() -> None:
    """One before the loop's first request, one after its tool."""
    epochs: list[int] = []

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        epochs.append(ctx.cache_epoch)
        return ctx.keep_recent_groups(1 if ctx.request_index == 1 else 0)

    subject = agent(answering("done", "done", calls("c1"), "done"), adapter(edit))
    with history_scope(True):
        for prompt in ("one", "two", "three", "four"):
            run(subject, prompt)

    assert epochs == [0, 0, 0, 1, 2]


def test_a_failed_run_takes_its_generation_back() -> None:
    """The next one sees the conversation unedited, and edits it as the first time."""
    seen: list[tuple[int, list[str]]] = []

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        seen.append((ctx.cache_epoch, lines(ctx.messages)))
        return ctx.keep_recent_groups(0)

    subject = agent(answering("done", calls("c1"), LookupError("overloaded"), "done"), adapter(edit))
    with history_scope(True):
        run(subject, "one")
        with pytest.raises(LookupError):
            run(subject, "left")
        run(subject, "two")

    assert seen == [
        (0, ["< one"]),
        (0, ["< one", "> done", "< left"]),
        (1, ["< left", "> call c1", "< result c1"]),
        (0, ["< one", "> done", "< two"]),
    ]


def test_a_refused_edit_changes_nothing_of_the_conversation() -> None:
    """The run fails before its request; the turns are as they were."""
    transport = answering("done")

    def edit(ctx: Context) -> Sequence[BaseMessage]:
        return ctx.messages[1:] if "< left" in lines(ctx.messages) else ctx.messages

    subject = agent(transport, adapter(edit))
    with history_scope(True) as state:
        run(subject, "one")
        with pytest.raises(HistoryProcessingValidationError):
            run(subject, "left")
        run(subject, "two")

    assert transport.sent == [["< one"], ["< one", "> done", "< two"]]
    assert state.turns == 2


def test_an_untouched_conversation_is_the_same_objects() -> None:
    """A processor that changes nothing leaves messages and generation alone."""
    transport = answering("done")
    epochs: list[int] = []

    def note(ctx: Context) -> Sequence[BaseMessage]:
        epochs.append(ctx.cache_epoch)
        return list(ctx.messages)

    subject = agent(transport, adapter(note))
    with history_scope(True):
        for prompt in ("one", "two", "three"):
            run(subject, prompt)

    assert transport.requests[2][0] is transport.requests[1][0]
    assert transport.requests[2][1] is transport.requests[1][1]
    assert epochs == [0, 0, 0]
