"""Foreign objects that equal entries: a whole group that came back is that group, a lone text is new."""

import copy
from collections.abc import Callable, Sequence

from toy import NOW, Context, Message, answers, broken_by, calls, propose, result_of, says, talk, user

REPEATED = [user("a"), says("ok"), user("b"), calls("c1"), answers("c1"), says("ok"), user(NOW)]
"""Entries 1 and 5 are equal."""


def fresh(*entries: int) -> Callable[[Context], Sequence[Message]]:
    """Return deep copies of these entries."""
    return lambda ctx: copy.deepcopy([ctx.messages[entry] for entry in entries])


def entries_of(history: Sequence[Message], edit: Callable[[Context], Sequence[Message]]) -> list[int | None]:
    """Return the entry each returned message is taken for, or None for a new one."""
    kept = {place: item.entry for place, item in propose(history, edit).kept}
    return [kept.get(place) for place in range(len(propose(history, edit).items))]


def test_a_copy_of_a_whole_group_is_that_group() -> None:
    """A group returned as fresh equal objects is kept, although an earlier message equals one of them."""
    assert entries_of(REPEATED, fresh(2, 3, 4, 5, 6)) == [2, 3, 4, 5, 6]
    assert broken_by(REPEATED, fresh(2, 3, 4, 5, 6)) == []


def test_what_is_sent_for_a_copy_is_the_hosts_own_object() -> None:
    """An adopted copy stands for the original, which alone goes out."""
    sent = result_of(REPEATED, fresh(2, 3, 4, 5, 6))

    assert all(one is other for one, other in zip(sent, REPEATED[2:], strict=True))


def test_a_copy_of_the_current_request_is_it_although_it_was_said_before() -> None:
    """A question asked twice does not confuse which one is current."""
    history = [user("go"), says("done"), user("go")]

    assert broken_by(history, fresh(2)) == []


def test_adoption_that_differ_in_bookkeeping_only_are_told_apart() -> None:
    """Two messages with one digest are matched by every field."""
    history = [user("go", stamp=1), says("done", stamp=2), user("go", stamp=3)]

    assert broken_by(history, fresh(2)) == []
    assert entries_of(history, fresh(0, 1, 2)) == [0, 1, 2]


def test_equal_groups_are_taken_in_order() -> None:
    """Of two equal groups, one fresh copy is one of them and two copies are both."""
    history = [*talk("a"), *talk("b"), *talk("a"), user(NOW)]

    assert entries_of(history, fresh(0, 1, 2, 3, 4, 5, 6)) == [0, 1, 2, 3, 4, 5, 6]
    assert entries_of(history, fresh(2, 3, 4, 5, 6)) == [2, 3, 4, 5, 6]
    assert broken_by(history, fresh(4, 5, 6)) == []


def test_a_group_of_copies_and_handed_out_messages_is_that_group() -> None:
    """A group may come back partly as fresh copies."""

    def edit(ctx: Context) -> list[Message]:
        return [*ctx.messages[2:4], *copy.deepcopy(ctx.messages[4:6]), ctx.messages[6]]

    assert entries_of(REPEATED, edit) == [2, 3, 4, 5, 6]


def test_a_lone_text_that_equals_an_entry_is_new() -> None:
    """A text whose group did not come back is a new text, and may be kept as one."""

    def edit(ctx: Context) -> list[Message]:
        return [copy.deepcopy(ctx.messages[0]), says("In short: ok."), user("b"), copy.deepcopy(ctx.messages[6])]

    assert entries_of(REPEATED, edit) == [None, None, None, 6]
    assert broken_by(REPEATED, edit) == []


def test_a_lone_record_that_equals_an_entry_is_that_entry() -> None:
    """A copy of a tool result cannot be passed off as new: its group is split."""
    assert broken_by(REPEATED, fresh(4, 6)) == ["split_group", "orphan_tool_result", "turn_order"]


def test_more_copies_than_entries_are_new() -> None:
    """Each entry is given away once; a further copy is a new message and judged as one."""
    assert entries_of(REPEATED, fresh(2, 3, 4, 5, 2, 3, 4, 5, 6)) == [None, None, None, None, 2, 3, 4, 5, 6]
    assert broken_by(REPEATED, fresh(2, 3, 4, 5, 2, 3, 4, 5, 6)) == ["fabricated_record"]


def test_a_mixture_of_copies_and_handed_out_messages_is_a_noop() -> None:
    """A one-entry group does not take the place of an equal entry whose group is there."""
    history = [user("ok"), user("ok"), says("ok"), user("ok")]

    def edit(ctx: Context) -> list[Message]:
        return [copy.deepcopy(ctx.messages[0]), *ctx.messages[1:3], copy.deepcopy(ctx.messages[3])]

    assert entries_of(history, edit) == [0, 1, 2, 3]


def test_the_current_request_is_looked_for_at_the_end() -> None:
    """A new text that says the same, before a copy of the current request, is not taken for it."""
    history = [user("ok"), says("ok"), user("ok")]

    assert entries_of(history, lambda ctx: [user("ok"), copy.deepcopy(ctx.messages[2])]) == [None, 2]
