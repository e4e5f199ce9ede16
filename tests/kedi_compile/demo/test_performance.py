"""What the demo's two runs leave to be seen."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest
from pydantic_ai import ModelHTTPError

from kedi_compile.demo.performance import Performance, Refusal, perform
from kedi_compile.demo.replay import Recording


def test_the_first_request_loses_six_groups(seen: Performance) -> None:
    """Protected groups stay, and of the others the last two."""
    groups = seen.edits[0].groups

    assert [(one.group.group_id, one.kept) for one in groups] == [
        ("g1", True),
        ("g2", False),
        ("g3", False),
        ("g4", True),
        ("g5", False),
        ("g6", False),
        ("g7", False),
        ("g8", False),
        ("g9", True),
        ("g10", True),
        ("g11", True),
    ]


def test_the_second_request_loses_nothing(seen: Performance) -> None:
    """Two eligible groups are not over four, so the second edit is a no-op in a new cache epoch."""
    first, second = seen.edits

    assert [one.kept for one in second.groups] == [True] * 5
    assert (first.ctx.cache_epoch, second.ctx.cache_epoch) == (0, 1)


def test_groups_say_where_they_stand(seen: Performance) -> None:
    """The last group is the current request, the finished cycles before it are closed."""
    assert [one.state for one in seen.edits[0].groups] == ["closed"] * 10 + ["current"]


def test_tokens_are_those_of_the_context(seen: Performance) -> None:
    """The groups' tokens add up to the context's estimate before the edit, and to the rest after it."""
    edit = seen.edits[0]

    assert sum(one.tokens for one in edit.groups) == edit.ctx.estimated_tokens
    assert edit.tokens_after == edit.ctx.estimated_tokens - sum(one.tokens for one in edit.groups if not one.kept)


def test_measured_tokens_are_known_from_the_second_request_on(seen: Performance) -> None:
    """The first answer's usage counts for the second request; the first request has nothing to go by."""
    first, second = seen.edits

    assert first.measured_tokens is None
    assert second.measured_tokens is not None
    assert abs(second.measured_tokens - seen.reported[1]) < 0.05 * seen.reported[1]


def test_the_answer_and_both_bodies_are_kept(seen: Performance) -> None:
    """The run ends with the recorded answer, after two requests."""
    assert seen.answer.startswith("Yes. Four beds are free on Saturday")
    assert [len(json.loads(body)["messages"]) for body in seen.sent] == [13, 15]


def test_the_careless_slice_is_refused_before_transport(refused: Refusal) -> None:
    """A slice by numbers cuts a group, drops a thought and the system text, begins with an answer, and is not sent."""
    assert refused.error is not None
    assert [violation.rule for violation in refused.error.violations] == [
        "split_group",
        "protected_removed",
        "system_altered",
        "turn_order",
    ]
    assert refused.sent == []


def test_more_requests_than_recorded_are_an_error(recording: Recording) -> None:
    """A tool loop that asks for an answer nobody recorded fails."""
    with pytest.raises(ModelHTTPError, match="Request 2 is not in the recording, which holds 1"):
        perform(replace(recording, exchanges=recording.exchanges[:1]))
