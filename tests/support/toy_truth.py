"""What the core must agree with, written once more without it: groups and permitted edits by brute force.

Slow and literal on purpose. `groups_by_hand` goes by the sentences of the specification, message by message;
`is_permitted` asks whether any reading of a list makes it whole groups in allowed places with bare texts between them.
Content is compared by `repr`, which tells types apart.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import NamedTuple

from toy import Message


class Group(NamedTuple):
    """A half-open span, and whether it may be dropped, replaced or moved."""

    start: int
    end: int
    eligible: bool


def answers_by_hand(messages: Sequence[Message]) -> dict[tuple[int, int], int]:
    """Map each answered call, as (entry, place in the entry), to the entry that answers it."""
    found: dict[tuple[int, int], int] = {}
    for place, message in enumerate(messages):
        for result in message.results:
            callers = [at for at in range(place) if any(call.call_id == result.call_id for call in messages[at].calls)]
            for number, call in enumerate(messages[callers[-1]].calls if callers else ()):
                if call.call_id == result.call_id and (callers[-1], number) not in found:
                    found[callers[-1], number] = place
                    break
    return found


def groups_by_hand(messages: Sequence[Message], *, merges_requests: bool = False) -> list[Group]:
    """Partition a history."""
    answers = answers_by_hand(messages)
    starts: list[int] = []
    for index in range(len(messages)):
        if index == 0 or _begins(messages, answers, starts[-1], index, merges_requests=merges_requests):
            starts.append(index)
    ends = [*starts[1:], len(messages)] if starts else []
    return [
        Group(start, end, _is_eligible(messages, answers, start, end)) for start, end in zip(starts, ends, strict=True)
    ]


def _begins(
    messages: Sequence[Message], answers: dict[tuple[int, int], int], start: int, index: int, *, merges_requests: bool
) -> bool:
    """Tell whether a group begins at `index`, when the one before began at `start`."""
    before, here = messages[index - 1], messages[index]
    if here.role == "system":
        after = next((place for place in range(index, len(messages)) if messages[place].role != "system"), None)
        opens = after is None or _opens(messages, answers, after, merges_requests=merges_requests)
        return before.role != "system" and opens
    if all(message.role == "system" for message in messages[start:index]):
        return True
    asked_only = all(message.role in ("system", "user") for message in messages[start:index])
    return not asked_only and _opens(messages, answers, index, merges_requests=merges_requests)


def _opens(
    messages: Sequence[Message], answers: dict[tuple[int, int], int], index: int, *, merges_requests: bool
) -> bool:
    """Tell whether user content stands at `index`, apart from results and outside every open exchange."""
    if not messages[index].text or messages[index].role != "user" or messages[index].results:
        return False
    if any(entry < index < answer for (entry, _), answer in answers.items()):
        return False
    place = index - 1
    while merges_requests and place >= 0 and messages[place].role != "assistant":
        if messages[place].results:
            return False
        place -= 1
    return True


def _is_eligible(messages: Sequence[Message], answers: dict[tuple[int, int], int], start: int, end: int) -> bool:
    open_calls = [
        (at, number)
        for at in range(start, end)
        for number in range(len(messages[at].calls))
        if (at, number) not in answers
    ]
    ends_well = end < len(messages) and messages[end - 1].role == "assistant"
    return ends_well and not open_calls and not any(map(_is_held, messages[start:end]))


def _is_held(message: Message) -> bool:
    """Tell whether a message is a reason to protect its group."""
    records = (message.signature, message.provider, message.checkpoint, message.framework)
    return any((*records, message.interrupted, _holds_system(message)))


def _holds_system(message: Message) -> bool:
    return message.role == "system" or bool(message.system)


def is_bare_text(message: Message) -> bool:
    """Tell whether a message says something and is nothing else."""
    bare = Message(message.role, message.text, stamp=message.stamp)
    says_something = message.text.strip() and not any("\ud800" <= letter <= "\udfff" for letter in message.text)
    return message.role in ("user", "assistant") and bool(says_something) and repr(message) == repr(bare)


def is_permitted(history: Sequence[Message], edited: Sequence[Message], *, merges_requests: bool = False) -> bool:
    """Tell whether an edited history is one that a callback may return, by any reading of it."""
    ours, theirs = list(map(repr, history)), list(map(repr, edited))
    groups = groups_by_hand(history, merges_requests=merges_requests)
    walls = [number for number, group in enumerate(groups) if not group.eligible]
    texts = [is_bare_text(message) for message in edited]

    def stands_at(place: int, number: int) -> bool:
        group = groups[number]
        return theirs[place : place + group.end - group.start] == ours[group.start : group.end]

    @cache
    def reads(place: int, walls_seen: int, used: frozenset[int]) -> bool:
        if walls_seen == len(walls):
            return place == len(edited)  # nothing stands after the current request
        if place == len(edited):
            return False
        wall = walls[walls_seen]
        if stands_at(place, wall) and reads(place + _size(groups[wall]), walls_seen + 1, frozenset()):
            return True
        free = range(walls[walls_seen - 1] + 1 if walls_seen else 0, wall)
        left = [number for number in free if number not in used and stands_at(place, number)]
        if any(reads(place + _size(groups[number]), walls_seen, used | {number}) for number in left):
            return True
        before_system = place == 0 and _holds_system(history[0])
        return texts[place] and not before_system and reads(place + 1, walls_seen, used)

    return reads(0, 0, frozenset())


def _size(group: Group) -> int:
    return group.end - group.start
