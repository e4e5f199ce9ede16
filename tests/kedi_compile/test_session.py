"""One run as the verbs an adapter calls: edit, sent, observe, undo, close, and what the session knows between them."""

import warnings
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest

from kedi_compile import (
    HistoryProcessingError,
    HistoryProcessingValidationError,
    HistoryProcessorState,
    HistoryProtectedWarning,
)
from kedi_compile.dialect import MessageFacts
from kedi_compile.history.flow import Staged, Unchanged
from kedi_compile.history.lifecycle import RequestState
from kedi_compile.history.policy import HistoryPolicy
from kedi_compile.session import RunSession
from toy import (
    INFO,
    NOW,
    Context,
    Host,
    Message,
    ToyDialect,
    answers,
    calls,
    says,
    session,
    system,
    talk,
    two_talks,
    user,
)

BINDING = ("claude-opus-5-5",)


def keep(count: int) -> Callable[[Context], list[Message]]:
    """Keep that many recent groups."""
    return lambda ctx: ctx.keep_recent_groups(count)


def test_a_request_goes_from_idle_to_committed() -> None:
    """Each verb moves the request on, and the end of the run counts the last answer."""
    host = Host(keep(1))
    verbs = (host.ask, host.session.sent, lambda: host.session.observe(two_talks(), says("a"), None, INFO))
    states = [host.session.state.name]
    for verb in (*verbs, host.session.close):
        verb()
        states.append(host.session.state.name)

    assert states == ["IDLE", "STAGED", "SENT", "ANSWERED", "COMMITTED"]


def test_a_further_attempt_at_a_request_changes_nothing() -> None:
    """Transport retries and fallbacks note the same sending again."""
    host = Host(keep(1))
    host.ask()
    host.session.sent()
    host.session.sent()

    assert host.session.state is RequestState.SENT


@pytest.mark.parametrize("verb", ["sent", "observe"])
def test_a_verb_out_of_order_raises(verb: str) -> None:
    """Nothing is sent unedited, and nothing answered unsent."""
    run = session(keep(1))

    with pytest.raises(RuntimeError, match="A request that is IDLE cannot become"):
        run.sent() if verb == "sent" else run.observe(two_talks(), says("a"), None, INFO)


def test_each_rewrite_is_one_generation_and_a_noop_is_none() -> None:
    """A staged edit advances the generation at once; requests without one reuse it."""
    host = Host(keep(1))
    generations = []
    for _ in range(3):
        host.ask()
        generations.append(host.session.continuation.generation)
        host.answer(calls(f"c{host.step}"), answers(f"c{host.step}"))

    assert generations == [1, 1, 1]
    host.messages += [says("done"), user("next")]
    host.ask()
    assert host.session.continuation.generation == 2


def test_the_request_after_an_edit_sees_the_advanced_epoch() -> None:
    """`cache_epoch` is the number of rewrites before the request; the caller's own value does not count."""
    epochs: list[tuple[int, int]] = []

    def note(state: HistoryProcessorState) -> bool:
        epochs.append((state.request_index, state.cache_epoch))
        return True

    host = Host(keep(1), condition=note)
    host.ask()
    host.answer(calls("c1"), answers("c1"))
    host.ask()

    assert epochs == [(1, 0), (2, 1)]


def test_undo_takes_a_staged_generation_back() -> None:
    """A request that was given up leaves no generation, and cannot be sent any more."""
    host = Host(keep(1))
    host.ask()
    assert host.session.continuation.generation == 1

    host.session.undo()

    assert host.session.continuation.generation == 0
    assert host.session.continuation.may_name_old_state
    assert host.session.state is RequestState.FAILED
    with pytest.raises(RuntimeError, match="A request that is FAILED cannot become SENT"):
        host.session.sent()


@pytest.mark.parametrize("is_sent", [True, False])
def test_undo_takes_back_the_last_request_only(is_sent: bool) -> None:
    """The generations of answered requests stay; undoing twice undoes once."""
    host = Host(keep(1))
    host.ask()
    host.answer(says("done"), user("next"))
    host.ask()
    assert host.session.continuation.generation == 2
    if is_sent:
        host.session.sent()

    host.session.undo()
    host.session.undo()

    assert host.session.continuation.generation == 1


def test_undo_without_an_edit_is_harmless() -> None:
    """Giving up an unchanged request takes no earlier generation back."""
    host = Host(keep(1))
    host.ask()
    host.answer(calls("c1"), answers("c1"))
    assert isinstance(host.ask(), Unchanged)

    host.session.undo()

    assert host.session.continuation.generation == 1


def test_a_failed_request_does_not_end_the_run() -> None:
    """The next request starts afresh, with the generation as it was before."""
    fails = iter([True, False])

    def once(ctx: Context) -> Sequence[Message]:
        return ctx.messages[1:] if next(fails) else ctx.keep_recent_groups(1)

    host = Host(once)
    with pytest.raises(HistoryProcessingValidationError):
        host.ask()
    assert host.session.state is RequestState.FAILED

    assert isinstance(host.ask(), Staged)
    assert host.session.continuation.generation == 1


def test_a_committed_run_is_over() -> None:
    """Closing counts an answered request, and is harmless where there is none."""
    idle, failed = session(keep(1)), session(lambda ctx: [])
    with pytest.raises(HistoryProcessingError):
        failed.edit_sync(two_talks(), INFO)
    idle.close()
    failed.close()

    assert (idle.state, failed.state) == (RequestState.IDLE, RequestState.FAILED)


def test_a_foreign_message_is_named_when_it_is_looked_at() -> None:
    """A history that is not native throughout cannot be grouped; the error says which message is strange."""
    run = session(keep(1))

    with pytest.raises(HistoryProcessingError, match="Message 1 is a dict, not a native message of the toy adapter"):
        run.edit_sync([user("a"), {"role": "user"}], INFO)  # type: ignore[list-item]  # the point of the test
    assert run.state is RequestState.FAILED


def test_a_failing_dialect_is_a_processing_error() -> None:
    """What describing the history raises comes out typed, with its cause, and nothing is sent."""

    class Broken(ToyDialect):
        """A dialect that cannot describe."""

        def describe(self, message: Message) -> MessageFacts:
            msg = "unknown part"
            raise LookupError(msg)

    def edit(ctx: Context) -> list[Message]:
        return [user("x"), ctx.messages[0]]

    policy = HistoryPolicy(edit)
    run = RunSession(policy, Broken(), owner=policy)

    with pytest.raises(
        HistoryProcessingError, match=r"Processing the history failed with .*: unknown part; nothing was sent"
    ) as caught:
        run.edit_sync([user(NOW)], INFO)
    assert isinstance(caught.value.__cause__, LookupError)
    assert run.state is RequestState.FAILED


PROTECTED = [user("p"), says("s", signature="sig"), user(NOW)]


def test_a_processor_that_could_free_nothing_is_warned_about() -> None:
    """The warning says how many groups are protected, by what, and how to silence it."""
    with pytest.warns(HistoryProtectedWarning) as caught:
        session(keep(0)).edit_sync(PROTECTED, INFO)

    [warning] = caught
    assert str(warning.message) == (
        "The history processor could free nothing: every group before the current request is protected "
        "(1 by signed_reasoning). Allow whole old groups to go with reasoning_protection='open_cycle'. Silence with "
        "warnings.filterwarnings('ignore', category=HistoryProtectedWarning)"
    )


def test_the_warning_comes_once_a_run() -> None:
    """A tool loop does not repeat it; another run says it again."""
    run = session(keep(0))
    with pytest.warns(HistoryProtectedWarning):
        run.edit_sync(PROTECTED, INFO)

    assert isinstance(run.edit_sync(PROTECTED, INFO), Unchanged)
    with pytest.warns(HistoryProtectedWarning):
        session(keep(0)).edit_sync(PROTECTED, INFO)


def test_turns_that_end_with_a_tool_result_are_no_secret() -> None:
    """Structured output by a tool leaves every turn unfinished; the warning names what would help."""
    turns = [user("one"), calls("c1"), answers("c1"), user("two"), calls("c2"), answers("c2"), user(NOW)]

    with pytest.warns(HistoryProtectedWarning, match=r"2 by unfinished.*let turns end with an answer of the model"):
        session(keep(1)).edit_sync(turns, INFO)


@pytest.mark.parametrize(
    ("messages", "processor"),
    [
        (PROTECTED, lambda ctx: list(ctx.messages)),
        (PROTECTED, keep(1)),
        (PROTECTED, lambda ctx: ctx.keep_recent_groups(0, over=1)),
        (PROTECTED, lambda ctx: ctx.keep_recent_groups(10, over=20)),
        ([*talk("a"), *PROTECTED], keep(0)),
        ([system(), user(NOW)], keep(0)),
        ([user("q"), calls("dead"), user(NOW)], keep(0)),
        ([user(NOW)], keep(0)),
    ],
    ids=["not asked", "within n", "within over", "far within", "something freed", "system", "pending", "nothing old"],
)
def test_where_protection_held_nothing_back_there_is_no_warning(
    messages: list[Message], processor: Callable[[Context], Sequence[Message]]
) -> None:
    """A request to keep less that freed something, or would have freed nothing anyway, is silent."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        outcome = session(processor).edit_sync(messages, INFO)

    assert isinstance(outcome, (Staged, Unchanged))


def test_a_warning_that_is_an_error_fails_the_request() -> None:
    """With warnings as errors it comes out as itself, and the request cannot be sent."""
    run = session(keep(0))

    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(HistoryProtectedWarning):
            run.edit_sync(PROTECTED, INFO)
    assert run.state is RequestState.FAILED


def bound_edit() -> tuple[RunSession[Message], Staged[Message]]:
    """Return an accepted edit before signed reasoning, and its session."""
    run = session(lambda ctx: ctx.messages[2:])
    outcome = run.edit_sync([*talk("a"), *PROTECTED], INFO)
    assert isinstance(outcome, Staged)
    return run, outcome


def test_an_attempt_at_a_model_that_binds_reasoning_is_refused() -> None:
    """A fallback may go to a model that would refuse what the first one takes."""
    run, outcome = bound_edit()

    with pytest.raises(HistoryProcessingValidationError) as caught:
        run.check_binding(outcome, BINDING)
    assert [(v.rule, v.entries) for v in caught.value.violations] == [("bound_reasoning", (3,))]
    assert "Reasoning in entry 3 is bound to the unedited history by claude-opus-5-5" in str(caught.value)


def test_an_attempt_at_a_model_that_does_not_bind_passes() -> None:
    """Where no model of the attempt binds, the proved edit stands."""
    run, outcome = bound_edit()

    run.check_binding(outcome, ("small", "claude-sonnet-4-5"))

    assert run.state is RequestState.STAGED


def test_a_known_binding_model_refuses_at_once() -> None:
    """Without any option an edit before signed reasoning is refused on a model of the table."""
    run = session(lambda ctx: ctx.messages[2:])

    with pytest.raises(HistoryProcessingValidationError) as caught:
        run.edit_sync([*talk("a"), *PROTECTED], replace(INFO, model_names=BINDING))
    assert caught.value.rule == "bound_reasoning"


async def test_edit_and_edit_sync_agree() -> None:
    """The async verb does what the sync one does."""
    messages = two_talks()
    here, there = session(keep(1)), session(keep(1))

    assert await here.edit(messages, INFO) == there.edit_sync(messages, INFO)
    assert here.state is there.state is RequestState.STAGED
