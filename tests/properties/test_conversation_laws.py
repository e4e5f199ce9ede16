"""The laws of conversations, over random turns and texts: what was committed is what there is, and nothing else.

The other side of each comparison is a plain list: the topics of the turns that committed, in the order they began.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from pathlib import Path
from typing import Final

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedi_compile import ConversationError
from kedi_compile.conversation import ConversationCheckpoint, ConversationState
from kedi_compile.conversation.records import History
from kedi_compile.conversation.turns import Turn
from kedi_compile.history.carried import Carried
from kedi_compile.history.usage import UsageCheckpoint
from shelf import KEY, OTHER, Shelf, converse, extended, topics
from toy import ToyDialect
from toy_histories import any_histories

pytestmark = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryLaneWarning")

GOLDEN: Final = Path(__file__).parent.parent / "kedi_compile" / "conversation" / "checkpoint_1.json"
WRITTEN: Final = GOLDEN.read_text().strip()
ENDS: Final = ("commit", "fail", "never start", "cancel")

calls = st.tuples(st.sampled_from(ENDS), st.integers(0, 3), st.integers(0, 3))
"""How a call ends, and how many others' steps it lets pass before and after it begins."""


@settings(max_examples=300)
@given(st.lists(calls, max_size=8), st.booleans())
def test_any_interleaving_leaves_the_committed_turns_in_the_order_they_began(
    plan: list[tuple[str, int, int]], stored: bool
) -> None:
    """Whatever fails, is cancelled or never starts in between, the rest is served in order and nothing is lost."""
    shelf = Shelf() if stored else None
    state = ConversationState("talk", shelf)
    began: list[str] = []
    committing: set[str] = set()
    committed: set[str] = set()

    async def call(number: int, end: str, before: int, during: int) -> None:
        await steps(before)
        turn = Turn(state)
        began.append(str(number))
        if end == "never start":
            return
        await turn.enter()
        try:
            await steps(during)
            lane = extended(turn, str(number))
        except BaseException as error:
            await turn.abandon(error)
            raise
        if end == "fail":
            await turn.abandon()
            return
        committing.add(str(number))
        await turn.commit(lane)
        committed.add(str(number))

    async def main() -> None:
        tasks = [asyncio.create_task(call(number, *one)) for number, one in enumerate(plan)]
        for task, (end, _, during) in zip(tasks, plan, strict=True):
            await steps(during)
            if end == "cancel":
                task.cancel()
        await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 30)

    asyncio.run(main())

    kept = topics(state)
    assert kept == [topic for topic in began if topic in kept]
    assert {str(number) for number, (end, *_) in enumerate(plan) if end == "commit"} <= committed
    assert committed <= set(kept) <= committing  # a cancel lets a store's commit end, which then counts
    assert state.turns == len(kept)
    assert state.ledger.line.tickets == []
    if shelf is not None:
        again = ConversationState("talk", shelf)
        again.ledger.refresh()
        assert topics(again) == topics(state)


async def steps(count: int) -> None:
    """Let others go on for some steps."""
    for _ in range(count):
        await asyncio.sleep(0)


lanes = st.lists(
    st.tuples(st.sampled_from([KEY, OTHER]), any_histories, st.integers(0, 3), st.booleans(), st.booleans()), max_size=3
)


@settings(max_examples=200)
@given(lanes, st.none() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5))
def test_a_checkpoint_of_a_restored_checkpoint_is_the_same_text(
    committed: list[tuple[object, list[object], int, bool, bool]], session_id: str | None
) -> None:
    """For any messages, lanes, generations and usage, whether or not they were read meanwhile."""
    state = ConversationState(session_id)
    for key, messages, generation, asks, measured in committed:
        turn = Turn(state)
        turn.enter_sync()
        usage = UsageCheckpoint(7, b"\x01" * 32, len(messages)) if measured else None
        history: History[object] = History(messages, ToyDialect())  # type: ignore[arg-type]  # toy messages
        turn.commit_sync(state.ledger.lane(key).after_turn(history, Carried(generation, usage, asks)))  # type: ignore[arg-type]  # a key
    text = state.checkpoint().to_json()

    again = ConversationState.restore(ConversationCheckpoint.from_json(text))
    assert again.checkpoint().to_json() == text
    for key in again.lanes:
        assert list(again.ledger.lane(key).history.messages(ToyDialect())) == list(
            state.ledger.lane(key).history.messages(ToyDialect())
        )
    assert again.checkpoint().to_json() == text


@given(st.integers(0, len(WRITTEN.encode()) - 1), st.integers(1, 255))
def test_a_flipped_byte_is_refused_or_changes_nothing(place: int, flip: int) -> None:
    """Wherever it stands in the text of a checkpoint."""
    data = bytearray(WRITTEN.encode())
    data[place] ^= flip

    with suppress(ConversationError):
        found = ConversationCheckpoint.from_json(bytes(data))
        assert found.to_json() == WRITTEN


@settings(max_examples=300)
@given(st.text() | st.binary() | st.recursive(st.none(), st.lists).map(str))
def test_no_text_breaks_the_reader(text: str | bytes) -> None:
    """What was never a checkpoint is refused as such."""
    with pytest.raises(ConversationError):
        ConversationCheckpoint.from_json(text)


@settings(max_examples=300)
@given(st.lists(st.tuples(st.integers(0, 1), st.booleans()), max_size=10))
def test_two_processes_never_overwrite_each_other(plan: list[tuple[int, bool]]) -> None:
    """Each commits, or begins a turn that the other's commit refuses; the store holds what succeeded, in order."""
    shelf = Shelf()
    processes = [ConversationState("talk", shelf), ConversationState("talk", shelf)]
    kept: list[str] = []
    for number, (mine, races) in enumerate(plan):
        turn = Turn(processes[mine])
        turn.enter_sync()
        if races:
            converse(processes[1 - mine], f"first {number}")
            kept.append(f"first {number}")
        try:
            turn.commit_sync(extended(turn, str(number)))
            kept.append(str(number))
        except ConversationError:
            assert races

    again = ConversationState("talk", shelf)
    again.ledger.refresh()
    assert topics(again) == kept
