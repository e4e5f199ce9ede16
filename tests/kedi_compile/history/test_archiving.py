"""Archiving in a run: stored first, seen by condition and processor, counted, and undone with its request."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from threading import Event, get_ident

import pytest

from kedi_compile import (
    HistoryArchiveSettings,
    HistoryConfigurationError,
    HistoryProcessingError,
    HistoryProcessingValidationError,
    HistoryProcessingWarning,
)
from kedi_compile.history.archive_record import own_references, read_record
from kedi_compile.history.flow import Outcome, Skipped, Staged, Unchanged
from kedi_compile.history.lifecycle import RequestState
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from kedi_compile.stores.held import HeldRecords
from kedi_compile.stores.protocol import Gone
from toy import INFO, Context, Message, Result, ToyDialect, calls, says, session, talk, user

DIALECT = ToyDialect()
BIG = "x" * 200


def exchange(call_id: str, content: object = BIG, **more: object) -> list[Message]:
    """Return a completed exchange with a large result."""
    return [calls(call_id, **more), Message("tool", results=[Result(call_id, content)])]


def history() -> list[Message]:
    """Return a closed group, and a running cycle with three exchanges, of which two are old."""
    return [*talk("a"), user("Go."), *exchange("c1"), *exchange("c2"), *exchange("c3")]


def archive(**options: object) -> HistoryArchiveSettings:
    """Return settings that archive all they may."""
    return HistoryArchiveSettings(0, 0, 1, **options)  # type: ignore[arg-type]  # a test's own


def staged(outcome: Outcome[Message]) -> Staged[Message]:
    """Return the outcome of a request that was rewritten."""
    assert isinstance(outcome, Staged)
    return outcome


def reference_in(messages: Sequence[Message]) -> str:
    """Return the reference of the only checkpoint."""
    (reference,) = own_references(DIALECT, messages)
    return reference


def is_released(settings: HistoryArchiveSettings, run: RunSession[Message]) -> bool:
    """Tell whether every record a run stored is gone."""
    return run.stored_records == () and settings._held.held_bytes == 0  # noqa: SLF001  # nothing else shows it


class Failing(HeldRecords):
    """A store that fails where it is told to."""

    def __init__(self, *methods: str) -> None:
        super().__init__()
        self._methods = methods

    def put(self, reference: str, record: bytes, expires_at: float | None) -> None:
        if "put" in self._methods:
            raise OSError("disk full")
        super().put(reference, record, expires_at)

    def release(self, reference: str) -> None:
        if "release" in self._methods:
            raise OSError("gone away")
        super().release(reference)


def test_old_exchanges_are_stored_and_replaced_by_one_checkpoint() -> None:
    """The record holds exactly their bytes; all else is the host's own objects, in place."""
    settings, messages = archive(), history()
    run = session(archive=settings)

    outcome = staged(run.edit_sync(messages, INFO))

    reference = reference_in(outcome.messages)
    record = settings.find(reference, now=0.0)
    assert isinstance(record, bytes)
    assert list(read_record(record)) == [DIALECT.dump(message) for message in messages[3:7]]
    assert [DIALECT.dump(DIALECT.load(data)) for data in read_record(record)] == list(read_record(record))
    assert outcome.entries == (0, 1, 2, None, 7, 8)
    assert all(outcome.messages[place] is messages[entry] for place, entry in enumerate(outcome.entries) if entry)
    assert outcome.messages[3] == user(
        "Archived 2 completed tool exchanges (4 messages) of this task, unchanged. Outcomes: lookup 2 ok. "
        f"To read them back: read_archive(reference={reference!r}, page=1).",
        checkpoint=True,
        message_id=reference,
    )


def test_each_checkpoint_advances_the_generation_once() -> None:
    """And a request that archives nothing more does not."""
    run = session(archive=archive())
    outcome = staged(run.edit_sync(history(), INFO))
    run.sent()
    run.observe(outcome.messages, says("Done."), None, INFO)

    assert run.continuation.generation == 1
    assert isinstance(run.edit_sync(outcome.messages, INFO), Skipped)
    assert run.continuation.generation == 1


def test_a_second_archive_leaves_the_first_checkpoint() -> None:
    """Side by side behind the opening request, the older one first."""
    settings = archive()
    run = session(archive=settings)
    first = staged(run.edit_sync(history(), INFO))
    run.sent()
    run.observe(first.messages, says("More."), None, INFO)

    second = staged(run.edit_sync([*first.messages, *exchange("c4")], INFO))

    assert second.entries == (0, 1, 2, 3, None, 6, 7)
    assert len(own_references(DIALECT, second.messages)) == 2
    assert run.continuation.generation == 2


def test_the_condition_and_the_processor_see_the_checkpointed_history() -> None:
    """Its entries, its tokens, and a checkpoint that is protected."""
    shown: list[object] = []

    def condition(state: object) -> bool:
        shown.append(state.estimated_tokens)  # type: ignore[attr-defined]  # the state it is given
        return True

    def processor(ctx: Context) -> Sequence[Message]:
        shown.append([str(reason) for reason in ctx.entries[3].protected_reasons])
        shown.append(sum(entry.estimated_tokens for entry in ctx.entries))
        return ctx.messages

    outcome = staged(session(processor, condition, archive=archive()).edit_sync(history(), INFO))

    assert shown == [shown[2], ["checkpoint"], sum(map(DIALECT.estimate, outcome.messages))]
    assert outcome.rewrites == 1


def test_an_archive_and_an_edit_in_one_request_are_two_rewrites() -> None:
    """Positions are those of the history before both."""
    run = session(lambda ctx: ctx.keep_recent_groups(0), archive=archive())

    outcome = staged(run.edit_sync(history(), INFO))

    assert outcome.entries == (2, None, 7, 8)
    assert (outcome.first_change, outcome.rewrites, run.continuation.generation) == (0, 2, 2)


def test_a_condition_that_says_no_leaves_the_archive() -> None:
    """What was archived is staged, the processor does not run."""
    run = session(lambda ctx: [], lambda state: False, archive=archive())

    assert staged(run.edit_sync(history(), INFO)).rewrites == 1
    assert run.state is RequestState.STAGED


@pytest.mark.parametrize(
    "edit",
    [
        lambda ctx: [*ctx.messages[:3], *ctx.messages[4:]],
        lambda ctx: [*ctx.messages[:3], ctx.text_message(ctx.messages[3].text), *ctx.messages[4:]],
        lambda ctx: [*ctx.messages[:2], DIALECT.checkpoint("Archived.", "mine"), *ctx.messages[2:]],
    ],
    ids=["removed", "replaced", "fabricated"],
)
def test_a_callback_cannot_remove_replace_or_fabricate_a_checkpoint(edit: Callable[[Context], list[Message]]) -> None:
    """The edit is refused, and the record of the refused request is released."""
    settings = archive()
    run = session(edit, archive=settings)

    with pytest.raises(HistoryProcessingValidationError):
        run.edit_sync(history(), INFO)

    assert is_released(settings, run)
    assert run.continuation.generation == 0


def test_a_group_with_a_checkpoint_stays_when_it_is_closed() -> None:
    """The protection is the message's own, not that of the current request."""
    run = session(archive=archive())
    done = [*staged(run.edit_sync(history(), INFO)).messages, says("Done."), *talk("b"), user("And now?")]

    kept = session(lambda ctx: ctx.keep_recent_groups(0)).edit_sync(done, INFO)

    assert staged(kept).entries == (2, 3, 4, 5, 6, 9)


def test_a_request_that_fails_releases_its_record() -> None:
    """The generation does not count, and a reader is told precisely."""
    settings = archive()
    run = session(archive=settings)
    reference = reference_in(staged(run.edit_sync(history(), INFO)).messages)
    run.sent()

    assert run.stored_records == (reference,)
    run.undo()

    assert settings.find(reference, now=0.0) is Gone.RELEASED
    assert (run.continuation.generation, run.state) == (0, RequestState.FAILED)


def test_a_later_failure_keeps_the_records_of_earlier_requests() -> None:
    """Only what the failing request stored is released."""
    settings = archive()
    run = session(archive=settings)
    outcome = staged(run.edit_sync(history(), INFO))
    run.sent()
    run.observe(outcome.messages, says("Done."), None, INFO)
    run.edit_sync(outcome.messages, INFO)

    run.undo()

    assert isinstance(settings.find(reference_in(outcome.messages), now=0.0), bytes)


def test_a_store_that_fails_leaves_the_history_as_it_was() -> None:
    """The request goes on, with a warning that names the failure."""
    run = session(archive=archive(store=Failing("put")))

    with pytest.warns(HistoryProcessingWarning, match="Nothing was archived: the store raised OSError: disk full"):
        outcome = run.edit_sync(history(), INFO)

    assert outcome == Skipped()
    assert (run.continuation.generation, run.stored_records) == (0, ())
    run.sent()


def test_a_full_quota_leaves_the_history_to_the_processor() -> None:
    """It sees the history as it was."""
    seen: list[int] = []

    def processor(ctx: Context) -> Sequence[Message]:
        seen.append(len(ctx.messages))
        return ctx.messages

    run = session(processor, archive=archive(quota_bytes=10))

    with pytest.warns(HistoryProcessingWarning, match="QuotaExceeded: .* bytes do not fit: 0 of 10 are held"):
        outcome = run.edit_sync(history(), INFO)

    assert isinstance(outcome, Unchanged)
    assert seen == [9]


def test_a_release_that_fails_does_not_hide_the_error_of_the_request() -> None:
    """It is a warning of its own."""
    run = session(lambda ctx: [], archive=archive(store=Failing("release")))

    with (
        pytest.warns(HistoryProcessingWarning, match="was not released: OSError: gone away"),
        pytest.raises(HistoryProcessingValidationError),
    ):
        run.edit_sync(history(), INFO)


def test_an_exchange_that_cannot_be_written_stays() -> None:
    """With a warning that says which and why; the others go."""
    messages = [*history()[:3], *exchange("c0", object()), *history()[3:]]

    with pytest.warns(HistoryProcessingWarning, match="The tool exchange in entries 3, 4 stays in the history: Object"):
        outcome = staged(session(archive=archive()).edit_sync(messages, INFO))

    assert outcome.entries == (0, 1, 2, None, 3, 4, 9, 10)


def test_nothing_is_stored_that_saves_too_little_with_its_checkpoint() -> None:
    """The checkpoint's own tokens count against the saving."""
    settings = HistoryArchiveSettings(0, 0, 300)
    run = session(archive=settings)

    assert run.edit_sync(history(), INFO) == Skipped()
    assert is_released(settings, run)


@pytest.mark.parametrize(("bound_reasoning", "is_archived"), [(None, True), ("refuse", False), ("strip", False)])
def test_bound_reasoning_of_the_running_cycle_keeps_what_stands_before_it(
    bound_reasoning: str | None, is_archived: bool
) -> None:
    """The archive would break it, so nothing is archived; the request goes on."""
    messages = [*history()[:5], *exchange("s", signature="s"), *history()[5:]]
    run = session(archive=archive(), bound_reasoning=bound_reasoning)

    assert isinstance(run.edit_sync(messages, INFO), Staged) is is_archived


def test_what_is_bound_behind_both_rewrites_is_named_by_its_old_entry() -> None:
    """An attempt at a model that binds is refused, wherever the edit moved the entry."""
    messages = [*history()[:5], *exchange("s", signature="s"), *history()[5:]]
    run = session(lambda ctx: ctx.keep_recent_groups(0), archive=archive())

    assert staged(run.edit_sync(messages, INFO)).bound == (5,)


def test_a_session_that_archives_needs_references_and_a_clock() -> None:
    """The core makes neither."""
    policy: HistoryPolicy[Message] = HistoryPolicy(archive=archive())

    with pytest.raises(HistoryConfigurationError, match="needs references and a clock"):
        RunSession(policy, DIALECT, owner=policy)


def test_a_policy_takes_only_archive_settings() -> None:
    """Not a tuple of its numbers."""
    with pytest.raises(HistoryConfigurationError, match=r"`history_archive` is \(1, 2, 3\); it must be"):
        HistoryPolicy(archive=(1, 2, 3))  # type: ignore[arg-type]  # the mistake itself


def test_a_store_may_block_on_an_async_path() -> None:
    """It runs in a worker thread."""
    threads: list[int] = []

    class Noting(HeldRecords):
        def put(self, reference: str, record: bytes, expires_at: float | None) -> None:
            threads.append(get_ident())
            super().put(reference, record, expires_at)

    outcome = asyncio.run(session(archive=archive(store=Noting())).edit(history(), INFO))

    assert isinstance(outcome, Staged)
    assert threads != [get_ident()]


def test_a_cancelled_request_leaves_no_record() -> None:
    """A record that arrives in the store after its release is not kept."""
    entered, go_on, stored, released = Event(), Event(), Event(), Event()

    class Slow(HeldRecords):
        def put(self, reference: str, record: bytes, expires_at: float | None) -> None:
            entered.set()
            go_on.wait(5)
            try:
                super().put(reference, record, expires_at)
            finally:
                stored.set()

        def release(self, reference: str) -> None:
            super().release(reference)
            released.set()

    store = Slow()
    run = session(archive=archive(store=store))

    async def cancelled() -> None:
        task = asyncio.create_task(run.edit(history(), INFO))
        await asyncio.to_thread(entered.wait, 5)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())
    assert released.wait(5)
    go_on.set()

    assert stored.wait(5)
    assert store.held_bytes == 0
    assert run.stored_records == ()


def test_a_host_that_changes_its_list_under_the_condition_is_told() -> None:
    """Also where the condition saw the checkpointed form of it."""
    messages = history()

    def condition(_state: object) -> bool:
        messages.append(says("late"))
        return True

    run = session(lambda ctx: ctx.messages, condition, archive=archive())

    with pytest.raises(HistoryProcessingError, match="messages were added"):
        run.edit_sync(messages, INFO, reread=lambda: messages)


def test_a_change_in_place_under_the_condition_is_told() -> None:
    """Of a message that both forms of the history hold."""
    messages = history()

    def condition(state: object) -> bool:
        assert state.history_version  # type: ignore[attr-defined]  # the state it is given
        messages[0].text = "Changed."
        return True

    with pytest.raises(HistoryProcessingError, match="message 0 was changed in place"):
        session(lambda ctx: ctx.messages, condition, archive=archive()).edit_sync(messages, INFO)
