"""Atomic groups, sentence by sentence: what opens a cycle, what does not, what closes a group, what protects it."""

import pytest

from kedi_compile import HistoryGroup, ProtectedReason
from kedi_compile.history.groups import find_spans
from kedi_compile.history.pairing import Pairing
from toy import (
    NOW,
    Message,
    answers,
    calls,
    feedback,
    loop,
    revision,
    says,
    spans_of,
    system,
    talk,
    user,
)


def groups_of(*messages: Message) -> tuple[HistoryGroup, ...]:
    """Return the groups of a history."""
    return revision(messages).groups


def reasons_of(*messages: Message) -> list[str]:
    """Return each group's reasons as one sorted text."""
    return [" ".join(sorted(group.protected_reasons)) for group in groups_of(*messages)]


def test_a_cycle_opens_at_a_user_entry_and_ends_before_the_next() -> None:
    """Each user-authored entry begins a group that runs to the next one."""
    assert spans_of([*talk("a", "b"), *loop("c1"), user(NOW)]) == [(0, 2), (2, 4), (4, 8), (8, 9)]


def test_leading_system_entries_are_a_group_of_their_own() -> None:
    """System entries before the first cycle form one protected group."""
    messages = [system("One."), system("Two."), *talk("a"), user(NOW)]

    assert spans_of(messages) == [(0, 2), (2, 4), (4, 5)]
    assert reasons_of(*messages) == ["system", "", "current_request"]


def test_system_entries_between_cycles_are_a_group_of_their_own() -> None:
    """So does a system entry between two cycles; the cycles around it stay free."""
    messages = [*talk("a"), system(), *talk("b"), user(NOW)]

    assert spans_of(messages) == [(0, 2), (2, 3), (3, 5), (5, 6)]
    assert reasons_of(*messages) == ["", "system", "", "current_request"]


def test_a_system_entry_inside_a_cycle_protects_it() -> None:
    """System text between the entries of a cycle belongs to that cycle."""
    messages = [user("q"), calls("c1"), system(), answers("c1"), says("a"), user(NOW)]

    assert spans_of(messages) == [(0, 5), (5, 6)]
    assert reasons_of(*messages) == ["system", "current_request"]


def test_system_text_beside_a_users_protects_the_cycle() -> None:
    """A message that holds system and user text opens a cycle, which system text protects."""
    messages = [user("q", system="Be brief."), says("a"), user(NOW)]

    assert spans_of(messages) == [(0, 2), (2, 3)]
    assert reasons_of(*messages) == ["system", "current_request"]


@pytest.mark.parametrize(
    ("messages", "spans"),
    [
        ([user("q"), says("a"), system()], [(0, 2), (2, 3)]),
        ([user("q"), system(), system()], [(0, 1), (1, 3)]),
        ([system()], [(0, 1)]),
        ([system(), system()], [(0, 2)]),
    ],
)
def test_a_trailing_system_entry_is_the_current_request(messages: list[Message], spans: list[tuple[int, int]]) -> None:
    """System text whose next cycle has not begun stands between cycles, and is the current request."""
    assert spans_of(messages) == spans
    assert "current_request" in reasons_of(*messages)[-1]


def test_a_leading_assistant_entry_is_a_closed_group() -> None:
    """A greeting before the first question stands alone and may be dropped."""
    groups = groups_of(says("Hello!"), *talk("a"), user(NOW))

    assert [(group.entry_start, group.entry_end, group.eligible) for group in groups] == [
        (0, 1, True),
        (1, 3, True),
        (3, 4, False),
    ]


def test_consecutive_user_entries_are_one_cycle() -> None:
    """What a user says in several messages before any answer belongs together."""
    assert spans_of([user("one"), user("two"), says("a"), user("three"), user("four")]) == [(0, 3), (3, 5)]


@pytest.mark.parametrize("between", [feedback(), answers("c1"), Message("user", framework="tools")])
def test_what_no_user_wrote_opens_nothing(between: Message) -> None:
    """Tool results, feedback and host state continue the running cycle."""
    assert spans_of([user("q"), calls("c1"), between, says("a"), user(NOW)]) == [(0, 4), (4, 5)]


def test_user_content_between_two_results_of_a_batch_opens_nothing() -> None:
    """Steering while a batch is being answered belongs to the batch."""
    messages = [user("q"), calls("c1", "c2"), answers("c1"), user("hurry"), answers("c2"), says("a"), user(NOW)]

    assert spans_of(messages) == [(0, 6), (6, 7)]


def test_user_content_after_the_last_result_opens_a_cycle() -> None:
    """A batch is over when its last call is answered."""
    messages = [user("q"), calls("c1", "c2"), answers("c1"), answers("c2"), user("next"), says("a"), user(NOW)]

    assert spans_of(messages) == [(0, 4), (4, 6), (6, 7)]


def test_user_content_in_a_message_with_a_result_opens_nothing() -> None:
    """A message that holds any tool result goes on with the cycle, whatever else it holds."""
    messages = [user("q"), calls("c1"), answers("c1", text="and this too"), says("a"), user(NOW)]

    assert spans_of(messages) == [(0, 4), (4, 5)]


@pytest.mark.parametrize(
    "messages",
    [
        [user("q"), calls("c1"), answers("c1"), user("next"), says("a"), user(NOW)],
        [user("q"), calls("c1"), answers("c1"), feedback(), user("next"), says("a"), user(NOW)],
        [user("q"), calls("c1"), answers("c1"), system(), user("next"), says("a"), user(NOW)],
    ],
    ids=["user", "feedback and user", "system and user"],
)
def test_a_host_that_merges_requests_has_no_boundary_there(messages: list[Message]) -> None:
    """Where neighbouring requests may be merged, a user's right after a result is the same as beside it."""
    assert spans_of(messages, merges_requests=True) == [(0, len(messages) - 1), (len(messages) - 1, len(messages))]
    assert len(spans_of(messages)) > 2


def test_a_synthetic_result_keeps_both_questions_together() -> None:
    """A result the host invented inside the next question's message makes one droppable group of both."""
    groups = groups_of(user("q"), calls("c1"), answers("c1", text="never mind, other question"), says("a"), user(NOW))

    assert [(group.entry_end, group.eligible) for group in groups] == [(4, True), (5, False)]


def test_an_unanswered_call_leaves_its_cycle_open_and_alone() -> None:
    """A user entry after a dead call opens a new cycle; the old one is pending and protects nothing else."""
    messages = [user("q"), calls("c1"), *talk("b"), user(NOW)]

    assert spans_of(messages) == [(0, 2), (2, 4), (4, 5)]
    assert reasons_of(*messages) == ["pending_tool_call", "", "current_request"]
    assert [group.closed for group in groups_of(*messages)] == [False, True, False]


def test_a_call_that_was_answered_in_words_only_is_pending() -> None:
    """An assistant text after an unanswered call does not answer it."""
    messages = [user("q"), calls("c1"), says("Let me see."), *talk("b"), user(NOW)]

    assert reasons_of(*messages) == ["pending_tool_call", "", "current_request"]


def test_a_late_result_makes_one_group_of_the_span() -> None:
    """When a result arrives turns later, everything up to its cycle's end is one group."""
    messages = [user("q"), calls("c1"), *talk("b"), answers("c1"), says("a"), user(NOW)]

    assert spans_of(messages) == [(0, 6), (6, 7)]


def test_a_batch_is_open_until_every_id_is_answered() -> None:
    """One unanswered call of a batch keeps its group pending."""
    messages = [user("q"), calls("c1", "c2"), answers("c1"), says("a"), user(NOW)]

    assert reasons_of(*messages) == ["pending_tool_call", "current_request"]


def test_an_id_used_again_does_not_answer_the_older_call() -> None:
    """A dead call stays dead when its id is used and answered later."""
    messages = [user("q"), calls("c1"), *loop("c1"), user(NOW)]

    assert spans_of(messages) == [(0, 2), (2, 6), (6, 7)]
    assert reasons_of(*messages) == ["pending_tool_call", "", "current_request"]


@pytest.mark.parametrize(
    ("cycle", "closed", "reasons"),
    [
        ([user("q"), says("a")], True, ""),
        ([user("q"), calls("c1"), answers("c1"), says("a")], True, ""),
        ([user("q"), calls("c1")], False, "pending_tool_call"),
        ([user("q"), says("a", interrupted=True)], False, "unfinished"),
        ([user("q", interrupted=True), says("a")], False, "unfinished"),
    ],
)
def test_closed_means_answered_finished_and_ended_by_the_assistant(
    cycle: list[Message], closed: bool, reasons: str
) -> None:
    """A cycle is closed when every call is answered, nothing was interrupted, and an assistant entry ends it."""
    group = groups_of(*cycle, user(NOW))[0]

    assert group.closed is closed
    assert " ".join(sorted(group.protected_reasons)) == reasons


def test_a_cycle_that_ends_in_a_result_is_unfinished() -> None:
    """A result nobody answered leaves its cycle unfinished."""
    groups = groups_of(user("q"), calls("c1"), answers("c1"), user("next"), says("a"), user(NOW))

    assert [(group.closed, sorted(group.protected_reasons)) for group in groups[:1]] == [(False, ["unfinished"])]


def test_the_last_group_is_the_current_request() -> None:
    """The newest group is never closed, also when an assistant entry ends it."""
    groups = groups_of(*talk("a"), user("q"), says("partly"))

    assert groups[-1].protected_reasons == {ProtectedReason.CURRENT_REQUEST}
    assert not groups[-1].closed
    assert not groups[-1].eligible


@pytest.mark.parametrize(
    ("record", "reason"),
    [
        (says("a", signature="sig"), "signed_reasoning"),
        (says("a", provider={"item": "rs_1"}), "provider_record"),
        (says("a", checkpoint=True), "checkpoint"),
        (says("a", framework="loaded"), "framework_state"),
    ],
)
def test_a_record_protects_its_whole_group(record: Message, reason: str) -> None:
    """One record in one entry is reason enough for the group, which is closed all the same."""
    groups = groups_of(user("q"), calls("c1"), answers("c1"), record, *talk("b"), user(NOW))

    assert [sorted(group.protected_reasons) for group in groups] == [[reason], [], ["current_request"]]
    assert groups[0].closed
    assert groups[0].protected
    assert not groups[0].eligible


def test_reasoning_without_signature_protects_nothing() -> None:
    """An empty signature is no signature."""
    assert reasons_of(user("q"), says("a", reasoning="hm", signature=""), user(NOW))[0] == ""


def test_reasons_add_up() -> None:
    """A group lists everything that protects it."""
    messages = [user("q", system="S"), calls("c1", signature="sig"), user(NOW)]

    assert reasons_of(*messages) == ["pending_tool_call signed_reasoning system", "current_request"]


def test_an_empty_history_has_no_groups() -> None:
    """Nothing is partitioned into nothing."""
    assert find_spans([], Pairing((), ()), merges_requests=False) == []
