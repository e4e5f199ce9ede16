"""What one session hands to the next, as plain data and back."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from kedi_compile.history.carried import Carried
from kedi_compile.history.flow import Skipped, Staged
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.history.usage import UsageCheckpoint
from kedi_compile.session import RunSession
from toy import INFO, Context, Edit, Message, ToyDialect, says, two_talks

FULL = Carried(2, UsageCheckpoint(70, b"\x05" * 32, 6), asks_usage=True, may_warn=False)
PLAIN: dict[str, Any] = {
    "generation": 2,
    "usage": {"tokens": 70, "digest": "05" * 32, "length": 6},
    "asks_usage": True,
    "may_warn": False,
}


def test_what_is_carried_is_plain_data() -> None:
    """Any store can hold it, and JSON gives it back."""
    assert FULL.to_plain() == PLAIN
    assert json.loads(json.dumps(PLAIN)) == PLAIN


@pytest.mark.parametrize("carried", [FULL, Carried(), Carried(generation=1)])
def test_reading_is_the_inverse_of_writing(carried: Carried) -> None:
    """Also through JSON."""
    assert Carried.from_plain(json.loads(json.dumps(carried.to_plain()))) == carried


@pytest.mark.parametrize("missing", PLAIN)
def test_what_is_missing_is_as_in_a_new_run(missing: str) -> None:
    """An older writer left some of it out."""
    plain = {name: value for name, value in PLAIN.items() if name != missing}

    found = Carried.from_plain(plain)

    assert found.to_plain() == {**PLAIN, missing: Carried().to_plain()[missing]}
    assert Carried.from_plain({}) == Carried(generation=0, usage=None, asks_usage=False, may_warn=True)


def continued(processor: Edit, carried: Carried, condition: Any = None) -> RunSession[Message]:
    """Return a session that takes over from another."""
    policy = HistoryPolicy(processor, condition)
    return RunSession(policy, ToyDialect(), owner=policy, carried=carried)


def keep_one(ctx: Context) -> Sequence[Message]:
    """Keep the last closed group."""
    return ctx.keep_recent_groups(1)


def test_a_session_goes_on_in_the_generation_it_is_given() -> None:
    """Rewrites count on; a session that makes none hands the number on as it was."""
    seen: list[int] = []

    def edit(ctx: Context) -> Sequence[Message]:
        seen.append(ctx.cache_epoch)
        return keep_one(ctx)

    run = continued(edit, Carried(generation=3))
    assert run.carried == Carried(generation=3)

    outcome = run.edit_sync(two_talks(), INFO)
    assert isinstance(outcome, Staged)
    run.sent()
    run.observe(outcome.messages, says("done"), None, INFO)

    assert seen == [3]
    assert run.carried.generation == 4


def test_a_session_that_rewrites_nothing_names_old_state_only_if_none_did_before() -> None:
    """What an earlier run has removed stays away from the server's memory."""
    assert continued(keep_one, Carried()).continuation.may_name_old_state
    assert not continued(keep_one, Carried(generation=1)).continuation.may_name_old_state


def test_measured_usage_is_carried_on_unchanged_history_alone() -> None:
    """The next session knows the tokens of what the last response ended, if nothing was changed since."""
    asked: list[int | None] = []

    def condition(state: Any) -> bool:
        asked.append(state.measured_tokens)
        return False

    first = continued(keep_one, Carried(), condition)
    messages = two_talks()
    assert isinstance(first.edit_sync(messages, INFO), Skipped)
    first.sent()
    first.observe(messages, says("done"), 40, INFO)

    carried = Carried.from_plain(json.loads(json.dumps(first.carried.to_plain())))
    for history in ([*messages, says("done")], [*messages, says("other")]):
        continued(keep_one, carried, condition).edit_sync(history, INFO)

    assert asked == [None, 40, None]


def test_an_undone_rewrite_is_not_carried() -> None:
    """A request that failed leaves the generation where it was."""
    run = continued(keep_one, Carried(generation=3))
    assert isinstance(run.edit_sync(two_talks(), INFO), Staged)

    run.undo()

    assert run.carried.generation == 3
