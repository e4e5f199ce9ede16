"""Many turns at once in one process: on one conversation, and on as many."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Sequence
from typing import Any

from benchmarks.stress.turns import STACKS, End, Turn, prompt_of, texts, texts_of
from kedi_compile import ConversationState, history_scope
from kedi_compile.conversation import ConversationStore
from kedi_langchain import LangChainDialect
from kedi_pydantic_ai import PydanticDialect

DIALECTS: dict[str, Any] = {"pydantic": PydanticDialect(), "langchain": LangChainDialect()}

LIMIT_S = 120.0
"""Seconds in which all turns of a run must have ended; a run that takes longer is taken to wait for ever."""


def some_ends(count: int, seed: int) -> list[End]:
    """Return how the turns of a run end; about every third one fails."""
    chance = random.Random(seed)  # noqa: S311  # repeatable, not secret
    return chance.choices(list(End), weights=[6, 1, 1, 1], k=count)


async def one_conversation(stack: str, store: ConversationStore | None, count: int, seed: int) -> None:
    """Ask for `count` turns of one conversation at once, and check what is left.

    Raises:
        AssertionError: it is not what the answered turns say, or a turn ended otherwise than its prompt says.
        TimeoutError: the turns did not end.
    """
    state = ConversationState(f"crowd-{stack}-{seed}", store)
    ends = some_ends(count, seed)
    await asyncio.wait_for(_ask(STACKS[stack](), state, ends), LIMIT_S)
    check(stack, state, ends)


async def many_conversations(stack: str, store: ConversationStore | None, count: int, seed: int) -> None:
    """Ask for four turns of each of `count` conversations at once, and check what is left of each.

    Raises what `one_conversation` does.
    """
    turn = STACKS[stack]()
    states = [ConversationState(f"many-{stack}-{seed}-{number}", store) for number in range(count)]
    ends = [some_ends(4, seed + number) for number in range(count)]
    asked = (_ask(turn, state, own) for state, own in zip(states, ends, strict=True))
    await asyncio.wait_for(asyncio.gather(*asked), LIMIT_S)
    for state, own in zip(states, ends, strict=True):
        check(stack, state, own)


async def _ask(turn: Turn, state: ConversationState, ends: Sequence[End]) -> None:
    """Start all turns in order, and cancel those that wait to be cancelled once nothing else is under way."""
    tasks = []
    with history_scope(enabled=True, state=state):
        for number, end in enumerate(ends):
            tasks.append(asyncio.ensure_future(turn(prompt_of(number, end))))
            await asyncio.sleep(0)
    for end, task in zip(ends, tasks, strict=True):
        if end is End.CANCELLED:
            await asyncio.sleep(0.005)
            task.cancel()
        await asyncio.wait([task])
        if (end is End.ANSWERED) is not (not task.cancelled() and task.exception() is None):
            msg = f"a turn that ends {end} was {task!r}"
            raise AssertionError(msg)


def check(stack: str, state: ConversationState, ends: Sequence[End]) -> None:
    """Check that a conversation holds the answered turns whole and in order, and nothing else.

    Raises:
        AssertionError: it does not.
    """
    expected = [
        text for number, end in enumerate(ends) if end is End.ANSWERED for text in texts_of(prompt_of(number, end))
    ]
    found = stored_texts(stack, state)
    if found != expected:
        place = next((n for n, pair in enumerate(zip(found, expected, strict=False)) if pair[0] != pair[1]), -1)
        msg = f"{state!r} holds {len(found)} texts, not {len(expected)}; the first difference is at {place}"
        raise AssertionError(msg)


def stored_texts(stack: str, state: ConversationState) -> list[str]:
    """Return the texts of a conversation, as they are committed now."""
    lane = state.read(stack)
    return [] if lane is None else texts(lane.history.messages(DIALECTS[stack]))
