"""What the runs of an adapter know about where messages came from, found by object and never by text."""

import copy
import gc
import pickle
from collections.abc import Callable, Sequence

from kedi_compile import HistoryOrigin
from kedi_compile.history.flow import Skipped, Staged
from kedi_compile.history.origins import OriginLedger
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from toy import INFO, Context, Host, Message, ToyDialect, answers, calls, says, session, two_talks, user

ORIGINS = (HistoryOrigin("user", "run-1", "app.py:7"),)


def test_lineage_is_found_by_the_very_object() -> None:
    """What was recorded for a message is found again with that message."""
    ledger, message = OriginLedger(), user("hi")
    ledger.record(message, ORIGINS)

    assert ledger.find(message) == ORIGINS


def test_an_empty_ledger_is_false() -> None:
    """Whether anything is known at all is cheap to ask."""
    ledger, message = OriginLedger(), user("hi")
    assert not ledger

    ledger.record(message, ORIGINS)

    assert ledger


def test_an_equal_copy_has_no_lineage() -> None:
    """Equal text proves nothing about where a message came from."""
    ledger, message = OriginLedger(), user("hi")
    ledger.record(message, ORIGINS)

    assert ledger.find(copy.deepcopy(message)) == ()
    assert ledger.find(user("hi")) == ()


def test_a_later_record_replaces_the_earlier() -> None:
    """The newest knowledge about a message counts."""
    ledger, message = OriginLedger(), user("hi")
    ledger.record(message, ORIGINS)
    ledger.record(message, (HistoryOrigin("assistant"),))

    assert ledger.find(message) == (HistoryOrigin("assistant"),)


def test_records_go_with_their_message() -> None:
    """A ledger keeps no message alive, and a new object at an old address inherits nothing."""
    ledger = OriginLedger()
    for number in range(200):
        message = user(f"message {number}")
        assert ledger.find(message) == ()
        ledger.record(message, ORIGINS)
        del message
    gc.collect()

    assert not ledger
    assert all(ledger.find(user("fresh")) == () for _ in range(200))


def keep(count: int) -> Callable[[Context], list[Message]]:
    """Keep that many recent groups."""
    return lambda ctx: ctx.keep_recent_groups(count)


def origins_of(run: RunSession[Message], messages: list[Message]) -> list[list[str]]:
    """Return the kinds of origin of each group."""
    return [[origin.kind for origin in group.origins] for group in run.revision(messages).groups]


def test_imported_history_has_no_origins() -> None:
    """Nothing is inferred about messages the run did not make."""
    assert origins_of(session(keep(9)), two_talks()) == [[], [], []]


def test_origins_are_recorded_for_what_the_run_made() -> None:
    """The request that was sent and its response have lineage afterwards, with run and call."""
    host = Host(keep(9))
    host.ask()
    host.answer(calls("c1"), answers("c1"))
    host.ask()
    host.answer(says("done"))

    groups = host.session.revision(host.messages).groups

    assert groups[0].origins == groups[1].origins == ()
    assert groups[2].origins == (
        HistoryOrigin("user", "run-1"),
        HistoryOrigin("tool-call", "run-1", None, "lookup", "c1"),
        HistoryOrigin("tool-result", "run-1", None, "lookup", "c1"),
        HistoryOrigin("assistant", "run-1"),
    )
    assert [entry.origins for entry in host.session.revision(host.messages).entries][4:6] == [
        (HistoryOrigin("user", "run-1"),),
        (HistoryOrigin("tool-call", "run-1", None, "lookup", "c1"),),
    ]


def test_origins_survive_edits_and_skipped_requests() -> None:
    """Lineage stays with its group when others are dropped and when the condition says no."""
    answer = iter([False, True])
    host = Host(keep(1), condition=lambda state: next(answer))
    assert host.ask() == Skipped()
    host.answer(says("done"), user("next"))
    assert isinstance(host.ask(), Staged)

    assert origins_of(host.session, host.messages) == [["user", "assistant"], []]


def test_a_summary_has_no_origins() -> None:
    """New text in the place of a group does not take over its lineage."""
    steps = iter(range(2))

    def summarize(ctx: Context) -> Sequence[Message]:
        return ctx.replace_groups(ctx.groups[2], *ctx.summary_messages("Short.")) if next(steps) else ctx.messages

    host = Host(summarize)
    host.ask()
    host.answer(says("done"), user("next"))
    host.ask()

    assert origins_of(host.session, host.messages) == [[], [], [], []]


def test_metadata_edits_in_a_callback_do_not_change_lineage() -> None:
    """Whatever a callback does to its copies, the retained origins are the recorded ones."""

    def tamper(ctx: Context) -> Sequence[Message]:
        for group in ctx.groups:
            assert not hasattr(group.origins, "append")
        copied = ctx.messages[4]
        name, copied.text = copied.text, "Someone else."
        copied.text = name
        return ctx.messages

    host = Host(tamper)
    host.ask()
    host.answer(says("done"), user("next"))
    host.ask()

    assert origins_of(host.session, host.messages)[2] == ["user", "assistant"]


def test_runs_of_one_adapter_may_share_origins() -> None:
    """A later run finds the lineage of messages that an earlier one made."""
    ledger = OriginLedger()
    policy = HistoryPolicy(keep(9))
    first, second = (RunSession(policy, ToyDialect(), owner=policy, origins=ledger) for _ in range(2))
    messages, response = two_talks(), says("done")
    first.edit_sync(messages, INFO)
    first.sent()
    first.observe(messages, response, None, INFO)

    assert origins_of(second, [*messages, response, user("next")])[2] == ["user", "assistant"]


def test_a_ledger_copies_and_pickles_as_an_empty_one() -> None:
    """Origins live with the objects of one process; what holds a ledger can still be sent to another."""
    message = user("hello")
    ledger = OriginLedger()
    ledger.record(message, (HistoryOrigin("user", "run"),))

    copies = [copy.deepcopy(ledger), pickle.loads(pickle.dumps(ledger))]  # noqa: S301  # our own bytes

    assert [bool(one) for one in copies] == [False, False]
    assert ledger
