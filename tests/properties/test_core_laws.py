"""The laws of the core, over random toy histories: what must hold for every history and every edit.

The other side of each comparison is `toy_truth.py`, which says the same by brute force and without the core. Odd
histories are part of it: whatever a host hands over must be understood, and a bad edit refused.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedi_compile import HistoryProcessingError, HistoryProcessingValidationError
from kedi_compile.history.flow import Outcome, Staged, Unchanged
from toy import INFO, Call, Context, Message, Result, context_of, revision, run_edit, says, session, user
from toy_histories import MAKERS, any_histories, histories, odd_histories
from toy_truth import answers_by_hand, groups_by_hand, is_permitted

pytestmark = pytest.mark.filterwarnings("ignore::kedi_compile.HistoryProtectedWarning")

new_texts = st.sampled_from([(), (), (), (user("So far."),), (user("ok"),), (user("😀"), says("Noted."))])


class Plan(NamedTuple):
    """An edit that is allowed: group numbers and new texts in order, and which groups come back as fresh copies."""

    items: tuple[int | Message, ...]
    fresh: frozenset[int]


@st.composite
def plans(draw: st.DrawFn, history: Sequence[Message], *, merges_requests: bool = False) -> Plan:
    """Draw an allowed edit: between protected groups any of the eligible ones in any order, and bare texts.

    A greeting, which no user's text precedes, stays first if it stays.
    """
    items: list[int | Message] = []
    free: list[int] = []
    groups = groups_by_hand(history, merges_requests=merges_requests)
    for number, group in enumerate(groups):
        if group.eligible:
            free.append(number)
            continue
        kept = draw(st.permutations(free))[: draw(st.integers(0, len(free)))] if free else []
        kept = sorted(kept, key=lambda chosen: history[groups[chosen].start].role != "assistant")
        for item in [*kept, number]:
            if items or not (history[0].role == "system" or history[0].system):
                answers_first = history[groups[item].start].role == "assistant"
                items += draw(new_texts)[:1] if answers_first else draw(new_texts)
            items.append(item)
        free = []
    return Plan(tuple(items), frozenset(draw(st.sets(st.sampled_from(range(len(groups)))))))


def _members(history: Sequence[Message], group: Any) -> Sequence[Message]:
    return history[group.start : group.end]


def carry_out(plan: Plan, groups: Sequence[Any], messages: Sequence[Message]) -> list[Message]:
    """Build the list of a plan from the messages a callback was given."""
    out: list[Message] = []
    for item in plan.items:
        if isinstance(item, Message):
            out.append(copy.deepcopy(item))
        else:
            members = _members(messages, groups[item])
            out += copy.deepcopy(members) if item in plan.fresh else members
    return out


@st.composite
def planned(draw: st.DrawFn, *, fresh: bool) -> tuple[list[Message], Plan, bool]:
    """Draw a history, an allowed edit of it, and whether the host merges requests."""
    history, merges = draw(any_histories), draw(st.booleans())
    plan = draw(plans(history, merges_requests=merges))
    return history, plan if fresh else plan._replace(fresh=frozenset()), merges


def texts(messages: Sequence[Message]) -> list[str]:
    """Return everything in each message, types included."""
    return list(map(repr, messages))


def sent_by(history: Sequence[Message], outcome: Outcome[Message]) -> Sequence[Message]:
    """Return what goes out."""
    return outcome.messages if isinstance(outcome, Staged) else history


@given(any_histories, st.booleans())
def test_groups_are_those_of_the_specification(history: list[Message], merges: bool) -> None:
    """Groups partition the entries in order, and are the cycles that brute force finds, eligible alike."""
    groups = revision(history, merges_requests=merges).groups

    assert [group.entry_start for group in groups] + [len(history)] == [0, *(group.entry_end for group in groups)]
    assert all(group.entry_start < group.entry_end for group in groups)
    assert [(group.entry_start, group.entry_end, group.eligible) for group in groups] == groups_by_hand(
        history, merges_requests=merges
    )


@given(any_histories, st.booleans())
def test_only_the_last_group_is_the_current_request(history: list[Message], merges: bool) -> None:
    """Exactly the last group is the current request; what is not eligible says why."""
    groups = revision(history, merges_requests=merges).groups

    assert ["current_request" in group.protected_reasons for group in groups] == [False] * (len(groups) - 1) + [True]
    assert all(group.eligible or group.protected_reasons for group in groups)


@given(any_histories, st.integers(0, 6), st.booleans())
def test_keep_recent_groups_keeps_the_protected_and_the_last_n(history: list[Message], n: int, merges: bool) -> None:
    """`n=0` keeps everything protected, and `n` the last `min(n, eligible)` others, in order; it is accepted."""
    groups = groups_by_hand(history, merges_requests=merges)
    eligible = [group for group in groups if group.eligible]
    dropped = eligible[: max(0, len(eligible) - n)]
    expected = [message for group in groups if group not in dropped for message in _members(history, group)]

    outcome = run_edit(history, lambda ctx: ctx.keep_recent_groups(n), merges_requests=merges)
    sent = sent_by(history, outcome)

    assert all(one is other for one, other in zip(sent, expected, strict=True))
    assert isinstance(outcome, Staged if dropped else Unchanged)


@given(any_histories, st.integers(0, 4), st.integers(0, 4))
def test_over_waits_and_then_keeps_n(history: list[Message], n: int, more: int) -> None:
    """With `over` nothing is dropped up to that many eligible groups, and above it `n` stay."""
    ctx = context_of(history)
    eligible = sum(group.eligible for group in groups_by_hand(history))

    kept = ctx.keep_recent_groups(n, over=n + more)

    assert texts(kept) == texts(ctx.keep_recent_groups(n if eligible > n + more else eligible))


@given(planned(fresh=False))
def test_whole_eligible_groups_and_texts_at_boundaries_are_accepted(case: tuple[list[Message], Plan, bool]) -> None:
    """Any list of whole groups in allowed order with bare texts between them is sent as it was returned."""
    history, plan, merges = case
    groups = groups_by_hand(history, merges_requests=merges)

    outcome = run_edit(history, lambda ctx: carry_out(plan, groups, ctx.messages), merges_requests=merges)

    assert texts(sent_by(history, outcome)) == texts(carry_out(plan, groups, history))
    assert is_permitted(history, sent_by(history, outcome), merges_requests=merges)


@given(planned(fresh=True))
def test_fresh_copies_of_whole_groups_are_accepted(case: tuple[list[Message], Plan, bool]) -> None:
    """It does not matter which groups come back as equal objects of the callback's own making.

    A new text that equals an entry is left out: beside copies, nothing but its place would tell the two apart.
    """
    history, plan, merges = case
    plan = plan._replace(items=tuple(item for item in plan.items if item != user("ok")))
    groups = groups_by_hand(history, merges_requests=merges)

    outcome = run_edit(history, lambda ctx: carry_out(plan, groups, ctx.messages), merges_requests=merges)

    assert texts(sent_by(history, outcome)) == texts(carry_out(plan, groups, history))


def alter(message: Message) -> None:
    """Change something nested: an argument, a result's type, or the text."""
    if message.calls:
        message.calls[0].arguments.setdefault("query", {}).setdefault("words", []).append("more")
    elif message.results:
        message.results[0].content = (message.results[0].content,)
    else:
        message.text += "!"


def rename(message: Message) -> None:
    """Give a call or a result another id, or a message one."""
    if message.calls or message.results:
        (message.calls or message.results)[0].call_id = "c9"
    else:
        message.message_id = "msg_9"


CHANGES: tuple[Callable[[Message], object], ...] = (
    alter,
    rename,
    lambda message: setattr(message, "signature", "forged"),
    lambda message: setattr(message, "text", ""),
    lambda message: setattr(message, "text", "\ud800"),
    lambda message: setattr(message, "role", "assistant" if message.role == "user" else "user"),
    lambda message: setattr(message, "system", "Obey."),
    lambda message: setattr(message, "stamp", False),
    lambda message: message.calls.append(Call("c1")),
    lambda message: message.results.append(Result("c1")),
    lambda message: message.calls.clear(),
    lambda message: message.provider.update(item="forged"),
)


class Mutation(NamedTuple):
    """One blow at a list: what, where, and with what."""

    kind: str
    place: int
    other: int
    change: Callable[[Message], object]
    make: Callable[[], Message]

    def strike(self, messages: list[Message]) -> None:
        """Mutate the list, or a message of it, in place."""
        place, other = self.place % (len(messages) or 1), self.other % (len(messages) or 1)
        if self.kind == "insert" or not messages:
            messages.insert(place, self.make())
        elif self.kind == "drop":
            del messages[place]
        elif self.kind == "repeat":
            messages.insert(other, messages[place])
        elif self.kind == "copy":
            messages.insert(other, copy.deepcopy(messages[place]))
        elif self.kind == "swap":
            messages[place], messages[other] = messages[other], messages[place]
        else:
            messages[place] = messages[place] if self.kind == "alter" else copy.deepcopy(messages[place])
            self.change(messages[place])


mutations = st.builds(
    Mutation,
    st.sampled_from(["insert", "drop", "repeat", "copy", "swap", "alter", "forge"]),
    st.integers(0, 15),
    st.integers(0, 15),
    st.sampled_from(CHANGES),
    st.sampled_from([*MAKERS, lambda: user("Summary.")]),
)


@given(planned(fresh=True), st.lists(mutations, min_size=1, max_size=3))
def test_a_mutated_edit_is_refused_or_permitted(case: tuple[list[Message], Plan, bool], blows: list[Mutation]) -> None:
    """Whatever is accepted is permitted by brute force, and is exactly what the callback returned."""
    history, plan, merges = case
    groups = groups_by_hand(history, merges_requests=merges)
    before, objects = texts(history), list(history)
    returned: list[Message] = []

    def edit(ctx: Context) -> list[Message]:
        returned.extend(carry_out(plan, groups, ctx.messages))
        for blow in blows:
            blow.strike(returned)
        return returned

    try:
        sent = sent_by(history, run_edit(history, edit, merges_requests=merges))
    except HistoryProcessingValidationError:
        pass
    else:
        assert texts(sent) == texts(returned)
        assert is_permitted(history, sent, merges_requests=merges)
    assert texts(history) == before
    assert all(one is other for one, other in zip(history, objects, strict=True))


@given(any_histories, st.lists(mutations, min_size=1, max_size=4), st.booleans())
def test_the_callers_objects_never_change(history: list[Message], blows: list[Mutation], fails: bool) -> None:
    """Vandalism in a callback, which may then raise or return anything, reaches none of the caller's objects."""
    before, objects = texts(history), list(history)

    def vandalize(ctx: Context) -> list[Message]:
        messages = list(ctx.messages)
        for blow in blows:
            blow.strike(messages)
        if fails:
            raise LookupError
        return messages

    with suppress(HistoryProcessingError):
        run_edit(history, vandalize)

    assert texts(history) == before
    assert all(one is other for one, other in zip(history, objects, strict=True))


@given(any_histories, st.integers(0, 3), st.sets(st.integers(0, 12)), st.booleans())
def test_a_noop_is_identity(history: list[Message], kind: int, fresh: set[int], merges: bool) -> None:
    """The input, a list or tuple of it, or any mixture with equal copies changes nothing, odd histories included."""

    def same(ctx: Context) -> Sequence[Message]:
        mixed = [copy.deepcopy(message) if i in fresh else message for i, message in enumerate(ctx.messages)]
        return (ctx.messages, list(ctx.messages), tuple(ctx.messages), mixed)[kind]

    run = session(same, merges_requests=merges)

    assert run.edit_sync(history, INFO) == Unchanged()
    assert run.continuation.generation == 0


@given(histories(), st.lists(odd_histories(), max_size=3), st.integers(0, 3))
def test_group_ids_are_stable_over_the_requests_of_a_run(
    history: list[Message], later: list[list[Message]], n: int
) -> None:
    """A group keeps its id while it grows and while others go; no two groups share one; a gone id never returns."""
    run = session()
    known: dict[int, str] = {}
    gone: set[str] = set()
    keep: list[Message] = []
    for more in [[], *later]:
        history = [*history, *more]
        keep += history  # so that no address is used twice
        groups = run.revision(history).groups
        names = [group.group_id for group in groups]
        assert len(set(names)) == len(names)
        assert not gone & set(names)
        for group in groups:
            before = {known.get(id(message)) for message in history[group.entry_start : group.entry_end]} - {None}
            assert not before or group.group_id in before
        gone |= set(known.values()) - set(names)
        known = {id(m): g.group_id for g in groups for m in history[g.entry_start : g.entry_end]}
        gone_spans = {group.entry_start for group in [g for g in groups if g.eligible][: max(0, len(groups) - n)]}
        history = [m for g in groups if g.entry_start not in gone_spans for m in history[g.entry_start : g.entry_end]]


@given(any_histories, odd_histories(), st.booleans())
def test_adding_to_a_history_leaves_closed_groups_as_they_were(
    history: list[Message], more: list[Message], merges: bool
) -> None:
    """Closed groups keep their bounds, unless a late result reaches back or a trailing system entry was current."""
    whole = [*history, *more]
    groups = groups_by_hand(history, merges_requests=merges)
    late = {entry for (entry, _), answer in answers_by_hand(whole).items() if entry < len(history) <= answer}
    first_reached = min(late, default=len(history))
    trailing = groups[-2:] if history[-1].role == "system" else groups[-1:]
    spans = [(group.entry_start, group.entry_end) for group in revision(whole, merges_requests=merges).groups]

    for group in groups[: len(groups) - len(trailing)]:
        assert group.end > first_reached or (group.start, group.end) in spans


@given(any_histories, st.data())
def test_a_version_names_the_content(history: list[Message], data: st.DataObject) -> None:
    """Equal histories share a version; any change of content is another one."""
    changed = copy.deepcopy(history)
    assert revision(changed).version == revision(history).version

    data.draw(mutations).strike(changed)

    is_same = [replaced(m) for m in texts(changed)] == [replaced(m) for m in texts(history)]
    assert (revision(changed).version == revision(history).version) is is_same


def replaced(text: str) -> str:
    """Leave the stamp, which is bookkeeping, out of a message's text."""
    return re.sub(r", stamp=\w+\)$", ")", text)
