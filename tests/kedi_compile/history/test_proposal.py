"""What a callback returned, understood: entries that came back, changed ones, and new messages."""

import copy
from collections import UserList
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from kedi_compile import HistoryProcessingValidationError
from kedi_compile.history.flow import Unchanged
from kedi_compile.history.proposal import Added, Kept, Proposal
from toy import NOW, Context, Message, Result, calls, loop, propose, run_edit, says, talk, user

HISTORY = [*loop("c1"), *talk("a"), user(NOW)]


def read(proposal: Proposal[Message]) -> list[int | str]:
    """Return each item as its entry index, `index!` if altered, or the text of a new message."""
    return [
        item.message.text if isinstance(item, Added) else f"{item.entry}!" if item.altered else item.entry
        for item in proposal.items
    ]


class Exotic(Sequence[Message]):
    """A sequence of a class of its own."""

    def __init__(self, items: Sequence[Message]) -> None:
        self._items = items

    def __getitem__(self, index: Any) -> Any:
        return self._items[index]

    def __len__(self) -> int:
        return len(self._items)


def generate(ctx: Context) -> Iterator[Message]:
    """Yield the messages one by one."""
    yield from ctx.messages


@pytest.mark.parametrize(
    "edit",
    [
        lambda ctx: ctx.messages,
        lambda ctx: list(ctx.messages),
        lambda ctx: tuple(ctx.messages),
        lambda ctx: ctx.messages[:],
        lambda ctx: Exotic(ctx.messages),
        lambda ctx: UserList(ctx.messages),
        lambda ctx: copy.deepcopy(list(ctx.messages)),
        lambda ctx: [*copy.deepcopy(ctx.messages[:3]), *ctx.messages[3:]],
        lambda ctx: [*loop("c1"), *talk("a"), user(NOW)],
    ],
)
def test_the_input_or_an_equal_sequence_is_a_noop(edit: Callable[[Context], object]) -> None:
    """The same objects, fresh equal ones, or a mixture, in any kind of sequence, change nothing."""
    proposal = propose(HISTORY, edit)

    assert proposal.is_noop
    assert read(proposal) == [0, 1, 2, 3, 4, 5, 6]
    assert proposal.first_change == 7


@pytest.mark.parametrize(
    ("returned", "rule", "detail"),
    [
        ([], "empty_result", "The callback returned an empty history; the current request at least must stay"),
        ((), "empty_result", "The callback returned an empty history; the current request at least must stay"),
        (None, "not_native", "The callback returned NoneType; return a list or tuple of native messages"),
        ("text", "not_native", "The callback returned str; return a list or tuple of native messages"),
        (b"", "not_native", "The callback returned bytes; return a list or tuple of native messages"),
        ({}, "not_native", "The callback returned dict; return a list or tuple of native messages"),
        (user("a"), "not_native", "The callback returned Message; return a list or tuple of native messages"),
        ([{"role": "user"}], "not_native", "Returned items are not native messages of the toy adapter: 0 is dict"),
        (
            [user("a"), None, "b"],
            "not_native",
            "Returned items are not native messages of the toy adapter: 1 is NoneType, 2 is str",
        ),
    ],
)
def test_what_is_no_sequence_of_native_messages_is_refused(returned: object, rule: str, detail: str) -> None:
    """Nothing else is read into it: no dicts, no iterators, no single message, nothing empty."""
    with pytest.raises(HistoryProcessingValidationError) as caught:
        propose(HISTORY, lambda ctx: returned)

    assert [(violation.rule, violation.detail) for violation in caught.value.violations] == [(rule, detail)]


def test_a_generator_is_refused() -> None:
    """An iterator can be read once only and is no history."""
    with pytest.raises(HistoryProcessingValidationError, match="The callback returned generator; return a list"):
        propose(HISTORY, generate)


def change(ctx: Context, entry: int, **fields: object) -> None:
    """Change a detached message in place."""
    for name, value in fields.items():
        setattr(ctx.messages[entry], name, value)


@pytest.mark.parametrize("whole", [True, False])
def test_a_change_in_place_alters_its_entry(whole: bool) -> None:
    """A handed-out copy is its entry, whatever was done to it, also when `ctx.messages` itself comes back."""

    def edit(ctx: Context) -> Sequence[Message]:
        change(ctx, 3, text="Changed.")
        return ctx.messages if whole else list(ctx.messages)

    proposal = propose(HISTORY, edit)

    assert read(proposal) == [0, 1, 2, "3!", 4, 5, 6]
    assert proposal.first_change == 3
    assert not proposal.is_noop


def test_a_change_that_was_taken_back_alters_nothing() -> None:
    """What counts is what came back."""

    def edit(ctx: Context) -> Sequence[Message]:
        change(ctx, 3, text="Changed.")
        change(ctx, 3, text="Found tools.")
        return ctx.messages

    assert propose(HISTORY, edit).is_noop


def test_a_changed_copy_is_a_new_message() -> None:
    """A fresh object that differs from every entry is new, and judged as such."""

    def edit(ctx: Context) -> list[Message]:
        forged = copy.deepcopy(ctx.messages[1])
        forged.calls[0].arguments["query"]["words"].append("more")
        return [ctx.messages[0], forged, *ctx.messages[2:]]

    proposal = propose(HISTORY, edit)
    item = proposal.items[1]

    assert isinstance(item, Added)
    assert item.flaw is not None
    assert item.flaw.rule == "fabricated_record"


def test_the_same_object_twice_is_the_same_entry_twice() -> None:
    """A repeated copy stands at both its positions."""
    proposal = propose(HISTORY, lambda ctx: [ctx.messages[4], ctx.messages[5], ctx.messages[4], ctx.messages[6]])

    assert read(proposal) == [4, 5, 4, 6]
    assert proposal.positions == {4: [0, 2], 5: [1], 6: [3]}


def test_an_equal_text_beside_its_entry_is_new() -> None:
    """When the entry itself came back, an equal message is another one."""
    proposal = propose(HISTORY, lambda ctx: [user("About a?"), says("It is a."), *ctx.messages])

    assert read(proposal) == ["About a?", "It is a.", 0, 1, 2, 3, 4, 5, 6]


def test_two_equal_entries_are_two() -> None:
    """Identity is never guessed from text: each handed-out copy is its own entry."""
    history = [user("ok"), says("ok"), user("ok"), says("ok"), user("ok")]

    proposal = propose(history, lambda ctx: [ctx.messages[2], ctx.messages[3], ctx.messages[4]])

    assert read(proposal) == [2, 3, 4]


def test_items_know_their_positions_and_groups() -> None:
    """Kept and new items are listed with their places in the returned list."""
    proposal = propose(HISTORY, lambda ctx: [user("Summary."), *ctx.messages[4:]])

    assert [(place, item.message.text) for place, item in proposal.added] == [(0, "Summary.")]
    assert [(place, item.entry) for place, item in proposal.kept] == [(1, 4), (2, 5), (3, 6)]
    assert proposal.group_of == [0, 0, 0, 0, 1, 1, 2]
    assert proposal.first_change == 0


@pytest.mark.parametrize(
    ("edit", "first"),
    [
        (lambda ctx: ctx.messages[:4] + ctx.messages[6:], 4),
        (lambda ctx: ctx.messages[4:], 0),
        (lambda ctx: [*ctx.messages, user("more")], 7),
        (lambda ctx: ctx.messages[:-1], 6),
        (lambda ctx: [*ctx.messages[:6], user("x"), ctx.messages[6]], 6),
    ],
)
def test_the_first_change_is_the_first_position_that_differs(
    edit: Callable[[Context], Sequence[Message]], first: int
) -> None:
    """Everything before it is the history as it was."""
    assert propose(HISTORY, edit).first_change == first


def test_a_history_cut_at_its_end_is_no_noop() -> None:
    """Fewer messages are a change, although each one is in its place."""
    assert not propose([user("q"), calls("c1"), user(NOW)], lambda ctx: ctx.messages[:2]).is_noop


def test_a_kept_entry_compares_by_its_facts() -> None:
    """Items are values."""
    assert propose(HISTORY, lambda ctx: ctx.messages).items[0] == Kept(0, altered=False)


class _Unlike:
    """A payload of which no two copies are the same."""

    def __deepcopy__(self, memo: object) -> "_Unlike":
        return _Unlike()

    def __reduce_ex__(self, protocol: object) -> str:
        raise TypeError


@pytest.mark.parametrize("payload", [_Unlike(), {object()}, ValueError("x")], ids=["unlike", "set", "exception"])
def test_a_payload_that_cannot_be_compared_is_not_held_against_the_callback(payload: object) -> None:
    """Whatever a copy of it looks like, an untouched history is a no-op, also after its version was read."""
    history = [user("q"), calls("c1"), Message("tool", results=[Result("c1", payload)]), says("a"), user("now")]

    outcome = run_edit(history, lambda ctx: list(ctx.messages), condition=lambda state: bool(state.history_version))

    assert isinstance(outcome, Unchanged)
