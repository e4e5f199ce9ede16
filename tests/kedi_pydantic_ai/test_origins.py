"""Where parts came from, over the turns of a conversation: while they live, and when they are read back."""

from __future__ import annotations

import copy
import gc
import weakref
from collections.abc import Sequence
from typing import Any

import pytest
from pydantic_ai.messages import ModelMessage

from agents import ENTRY_POINTS, Context, Script, adapter, asks, calls, says, turns
from kedi_compile import HistoryOrigin
from kedi_compile.conversation import ConversationCheckpoint, ConversationState, history_scope
from kedi_pydantic_ai import messages_of
from kedi_pydantic_ai.origins import PartOrigins
from talks import look, talk, talking

EACH = pytest.mark.parametrize("entry", ENTRY_POINTS)


class Noting:
    """Keeps some groups at each request, and writes down the origins of each group it is shown."""

    def __init__(self, *counts: int | None) -> None:
        self.counts = list(counts)
        self.seen: list[list[list[str]]] = []

    def __call__(self, ctx: Context) -> Sequence[ModelMessage]:
        self.seen.append([[_short(origin) for origin in group.origins] for group in ctx.groups])
        count = self.counts.pop(0) if self.counts else None
        return ctx.messages if count is None else ctx.keep_recent_groups(count)


def _short(origin: HistoryOrigin) -> str:
    call = f" {origin.tool_name} {origin.tool_call_id}" if origin.tool_call_id else ""
    return f"{origin.kind} of {origin.run_id}{call}"


def numbered(agent: Any, state: ConversationState, *prompts: str, entry: str = "run", first: int = 1) -> None:
    """Run turns whose run ids count."""
    for number, prompt in enumerate(prompts, start=first):
        talk(agent, state, prompt, entry=entry, run_id=f"run-{number}")


def read_back(state: ConversationState) -> ConversationState:
    """Return the conversation of its checkpoint's text."""
    return ConversationState.restore(ConversationCheckpoint.from_json(state.checkpoint().to_json()))


FIRST = ["user of run-1", "assistant of run-1"]
LOOKED = [
    "user of run-1", "assistant of run-1", "tool-call of run-1 look c1", "tool-result of run-1 look c1",
    "assistant of run-1",
]  # fmt: skip


@EACH
def test_later_turns_know_where_each_group_came_from(entry: str) -> None:
    """With run ids, tool names and call ids of the turns that made them."""
    noting = Noting()
    agent = talking(Script(calls("c1"), "one", "two", "three"), adapter(noting), tools=[look])

    numbered(agent, ConversationState(), "a", "b", "c", entry=entry)

    assert noting.seen[-1][:2] == [LOOKED, ["user of run-2", "assistant of run-2"]]


@EACH
def test_origins_survive_an_edit_and_the_turns_after_it(entry: str) -> None:
    """What was kept is known as before; what was dropped is gone."""
    noting = Noting(None, None, 1, None)
    agent = talking(Script("answer"), adapter(noting))

    numbered(agent, ConversationState(), "a", "b", "c", "d", entry=entry)

    assert noting.seen[-1][:2] == [["user of run-2", "assistant of run-2"], ["user of run-3", "assistant of run-3"]]


def test_origins_survive_a_turn_whose_condition_skips_the_processor() -> None:
    """What such a turn makes is known too."""
    noting, asked = Noting(), list[int]()

    def every_third(state: Any) -> bool:
        asked.append(1)
        return len(asked) % 3 == 0

    agent = talking(Script("answer"), adapter(noting, every_third))

    numbered(agent, ConversationState(), "a", "b", "c")

    assert noting.seen == [[FIRST, ["user of run-2", "assistant of run-2"], []]]


def test_what_was_made_while_processing_was_disabled_has_no_origins() -> None:
    """A turn without a processor notes nothing."""
    noting = Noting()
    shared = adapter(noting)
    agent = talking(Script("answer"), shared)
    state = ConversationState()

    numbered(agent, state, "a")
    with history_scope(processor=None):
        numbered(agent, state, "b", first=2)
    numbered(agent, state, "c", first=3)

    assert noting.seen[-1] == [FIRST, [], []]


def test_imported_history_has_no_origins() -> None:
    """Nothing is inferred from texts."""
    noting = Noting()
    agent = talking(Script("answer"), adapter(noting))
    state = ConversationState()

    talk(agent, state, "a", message_history=turns(1), run_id="run-1")
    numbered(agent, state, "b", first=2)

    assert noting.seen[-1] == [[], FIRST, []]


def test_a_summary_has_no_origins() -> None:
    """It is nobody's words; what stands beside it keeps its own."""
    seen: list[list[list[str]]] = []

    def summarize(ctx: Context) -> Sequence[ModelMessage]:
        seen.append([[_short(origin) for origin in group.origins] for group in ctx.groups])
        return ctx.replace_groups(ctx.groups[0], *ctx.summary_messages("So far.")) if len(seen) == 3 else ctx.messages

    numbered(talking(Script("answer"), adapter(summarize)), ConversationState(), "a", "b", "c", "d")

    assert seen[-1][:2] == [[], ["user of run-2", "assistant of run-2"]]


def test_another_adapter_knows_nothing_of_what_it_did_not_make() -> None:
    """Lineage is the adapter's own, even in a shared conversation."""
    state = ConversationState()
    mine, other = Noting(), Noting()
    numbered(talking(Script("answer"), adapter(mine)), state, "a")

    numbered(talking(Script("answer"), adapter(other)), state, "b", first=2)

    assert other.seen == [[[], []]]


def test_a_conversation_read_back_in_the_same_process_knows_its_origins() -> None:
    """By the content of what was committed, all parts of it."""
    noting = Noting()
    agent = talking(Script(calls("c1"), "one", "two"), adapter(noting), tools=[look])
    state = ConversationState("talk")
    numbered(agent, state, "a", "b")

    numbered(agent, read_back(state), "c", first=3)

    assert noting.seen[-1][:2] == [LOOKED, ["user of run-2", "assistant of run-2"]]


def test_a_conversation_read_back_by_another_adapter_has_none() -> None:
    """As in another process, which never saw the runs."""
    state = ConversationState("talk")
    numbered(talking(Script("one"), adapter(Noting())), state, "a")
    noting = Noting()

    numbered(talking(Script("two"), adapter(noting)), read_back(state), "b", first=2)

    assert noting.seen == [[[], []]]


def test_a_message_that_was_edited_while_it_was_away_has_none() -> None:
    """Other words are not the committed ones; the message beside them is."""
    noting = Noting()
    agent = talking(Script("one"), adapter(noting))
    state = ConversationState("talk")
    numbered(agent, state, "a")

    again = read_back(state)
    answer: Any = messages_of(again)[1].parts[0]
    answer.content = "other"
    numbered(agent, read_back(again), "b", first=2)

    assert noting.seen[-1] == [["user of run-1"], []]


def committed(*messages: ModelMessage) -> PartOrigins:
    """Return what an adapter knows after a turn with these messages, each of a run of its own."""
    origins = PartOrigins()
    for number, message in enumerate(messages):
        for part in message.parts:
            origins.record(part, (HistoryOrigin("user", f"run-{number}"),))
    origins.remember(messages)
    return origins


def test_a_message_that_was_read_back_twice_has_none() -> None:
    """Two equal messages are ambiguous, whichever was the committed one."""
    message = asks("again")
    origins = committed(message)
    copies = [copy.deepcopy(message) for _ in range(2)]

    origins.adopt(copies)

    assert [origins.find(one.parts[0]) for one in copies] == [(), ()]


def test_equal_messages_of_two_runs_have_none_when_they_are_read_back() -> None:
    """Their content says which of the two it was no more."""
    first = asks("again")
    second = copy.deepcopy(first)
    origins = committed(first, second)
    (copied,) = copies = [copy.deepcopy(first)]

    origins.adopt(copies)

    assert origins.find(copied.parts[0]) == ()
    assert origins.find(first.parts[0]) == (HistoryOrigin("user", "run-0"),)


def test_a_single_message_that_was_read_back_has_its_origins() -> None:
    """And any other has none."""
    message = asks("once")
    origins = committed(message, says("answer"))
    copied, foreign = copy.deepcopy(message), asks("foreign")

    origins.adopt([copied, foreign])

    assert origins.find(copied.parts[0]) == (HistoryOrigin("user", "run-0"),)
    assert origins.find(foreign.parts[0]) == ()


def test_what_an_adapter_remembers_is_bounded() -> None:
    """Ten thousand messages, the oldest of which go first."""
    origins = PartOrigins()
    kept = [asks(f"{number}") for number in range(10_001)]
    for message in kept:
        origins.record(message.parts[0], (HistoryOrigin("user", "run"),))
        origins.remember([message])
    oldest, newest = copy.deepcopy(kept[0]), copy.deepcopy(kept[-1])

    origins.adopt([oldest, newest])

    assert origins.find(oldest.parts[0]) == ()
    assert origins.find(newest.parts[0]) == (HistoryOrigin("user", "run"),)


def test_what_is_remembered_holds_no_message() -> None:
    """Only fingerprints are kept, so a conversation that is gone is gone."""
    message = asks("once")
    origins = committed(message)
    watch, copied = weakref.ref(message), copy.deepcopy(message)

    del message
    gc.collect()
    origins.adopt([copied])

    assert watch() is None
    assert origins.find(copied.parts[0]) == (HistoryOrigin("user", "run-0"),)


def test_origins_are_never_sent_or_saved() -> None:
    """They are beside the messages; ids of runs are the host's own stamps."""
    state = ConversationState("talk")
    script = Script(calls("c1"), "one")

    talk(talking(script, adapter(Noting()), tools=[look]), state, "a", metadata={"source_location": "harbour.py:7"})

    assert "harbour.py:7" not in state.checkpoint().to_json()
    assert "harbour.py:7" not in str(script.requests)
