"""What is archived: whole old exchanges of the running cycle, nothing protected, nothing recent, no user's words."""

from collections.abc import Sequence
from typing import Any

import pytest

from kedi_compile import HistoryArchiveSettings
from kedi_compile.history.archive import ArchivePlan, checkpoint_text, find_exchanges, plan_archive, propose_archive
from toy import FAILED, Message, Result, ToyDialect, answers, calls, feedback, loop, revision, says, system, talk, user

BIG = "x" * 100
GO = user("Go.")


def exchange(*call_ids: str, **more: Any) -> list[Message]:
    """Return a completed exchange whose results have a hundred characters each."""
    return [calls(*call_ids, **more), Message("tool", results=[Result(call_id, BIG) for call_id in call_ids])]


def plan(messages: Sequence[Message], *numbers: int, **options: Any) -> ArchivePlan | None:
    """Return the plan for the settings with these numbers."""
    return plan_archive(revision(messages, **options), HistoryArchiveSettings(*(numbers or (0, 0, 0))))


def found(*messages: Message, **options: Any) -> list[tuple[int, ...]]:
    """Return the exchanges of a running cycle that may go, whatever the settings."""
    history = revision([GO, *messages, *exchange("last")], **options)
    return list(find_exchanges(history, len(history.messages) - 2))


def test_old_exchanges_of_the_running_cycle_go() -> None:
    """In order, the newest one stays: its results are the current request."""
    assert plan([GO, *exchange("c1"), *exchange("c2"), *exchange("c3")]) == ArchivePlan(((1, 2), (3, 4)), 1)


def test_a_batch_goes_whole() -> None:
    """All results of one message, also where they come in several messages."""
    assert found(calls("a", "b"), answers("b"), answers("a")) == [(1, 2, 3)]


def test_exchanges_that_share_a_result_message_go_together() -> None:
    """A message that answers calls of two messages joins them."""
    assert found(calls("a"), calls("b"), answers("a", "b")) == [(1, 2, 3)]


def test_an_id_that_is_used_again_is_another_exchange() -> None:
    """Calls and results pair by occurrence."""
    assert found(*exchange("a"), *exchange("a")) == [(1, 2), (3, 4)]


@pytest.mark.parametrize(
    ("held", "why"),
    [
        (exchange("a", signature="s"), "signed"),
        (exchange("a", provider={"id": "rs_1"}), "provider"),
        (exchange("a", framework="state"), "framework"),
        (exchange("a", interrupted=True), "interrupted"),
        ([calls("a"), answers("a", text="And mind the gap.")], "user words"),
        ([calls("a"), answers("a", system="Be brief.")], "system"),
        ([calls("a", "b"), answers("a")], "pending"),
        ([calls("a"), answers("a", "stray")], "orphan"),
        ([says("I think.")], "text"),
        ([feedback()], "feedback"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_must_stay_stays(held: list[Message], why: str) -> None:
    """And the exchanges around it go."""
    size = len(held)

    assert found(*exchange("before"), *held, *exchange("after")) == [(1, 2), (3 + size, 4 + size)], why


def test_signed_reasoning_of_the_running_cycle_stays_under_every_protection() -> None:
    """The cycle is open, so `open_cycle` holds it too."""
    assert found(*exchange("a", signature="s"), reasoning_protection="open_cycle") == []


def test_closed_cycles_are_left_to_the_processor() -> None:
    """A closed group may go as a whole; a checkpoint in it would protect it for good."""
    history = [*loop("old"), *talk("a"), GO, *exchange("c1"), *exchange("c2")]

    assert plan(history) == ArchivePlan(((7, 8),), 7)


def test_nothing_goes_up_to_the_threshold() -> None:
    """Only above it."""
    history = [GO, *exchange("c1"), *exchange("c2")]
    total = revision(history).estimated_tokens

    assert plan(history, total, 0, 0) is None
    assert plan(history, total - 1, 0, 0) is not None


@pytest.mark.parametrize(("preserved", "gone"), [(0, 2), (102, 2), (103, 1), (204, 1), (205, 0), (10_000, 0)])
def test_the_recent_tail_stays(preserved: int, gone: int) -> None:
    """The newest entries up to this many tokens, and the exchange that reaches into them."""
    found = plan([GO, *exchange("c1"), *exchange("c2"), *exchange("c3")], 0, preserved, 0)

    assert len(found.exchanges if found else ()) == gone


def test_too_small_a_saving_is_none() -> None:
    """The exchanges together must hold the least reduction."""
    history = [GO, *exchange("c1"), *exchange("c2"), *exchange("c3")]

    assert plan(history, 0, 0, 205) is None
    assert plan(history, 0, 0, 204) is not None


@pytest.mark.parametrize("history", [[], [GO], [GO, says("Hi.")], talk("a", "b")])
def test_a_history_without_a_loop_has_nothing_to_archive(history: list[Message]) -> None:
    """Nor has an empty one."""
    assert plan(history) is None


def test_the_checkpoint_goes_behind_the_opening_request() -> None:
    """Behind all it consists of, and behind the checkpoints that are there."""
    dialect = ToyDialect()
    earlier = dialect.checkpoint("Archived.", "ref-0")
    history = [system(), user("One."), user("Two."), earlier, says("I think."), *exchange("c1"), *exchange("c2")]

    found = plan(history)

    assert found == ArchivePlan(((5, 6),), 4)


def test_a_checkpoint_moves_no_group_boundary() -> None:
    """Group for group the archived history is the old one."""
    history = [*talk("a"), GO, *exchange("c1"), *exchange("c2")]
    old = revision(history)
    found = plan_archive(old, HistoryArchiveSettings(0, 0, 0))
    assert found is not None

    items = propose_archive(old, found, ToyDialect().checkpoint("Archived.", "ref")).items
    new = revision([history[item.entry] if hasattr(item, "entry") else item.message for item in items])

    assert [(span.start, span.end) for span in old.spans] == [(0, 2), (2, 7)]
    assert [(span.start, span.end) for span in new.spans] == [(0, 2), (2, 6)]


def test_a_checkpoint_counts_the_outcomes_by_tool() -> None:
    """In the order of the first call, failures apart."""
    history = [
        GO,
        calls("a", "b"),
        Message("tool", results=[Result("a"), Result("b", FAILED)]),
        *exchange("c"),
        *exchange("d"),
    ]
    history[3].calls[0].name = "fetch"
    old = revision(history)
    found = plan_archive(old, HistoryArchiveSettings(0, 0, 0))
    assert found is not None

    assert checkpoint_text(old, found, "ref") == (
        "Archived 2 completed tool exchanges (4 messages) of this task, unchanged. Outcomes: lookup 1 ok, 1 failed; "
        "fetch 1 ok. To read them back: read_archive(reference='ref', page=1)."
    )
