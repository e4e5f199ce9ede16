"""One request's processing: condition, detached copies, processor, rules; any failure means that nothing is sent."""

import copy
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kedi_compile import HistoryProcessingError, HistoryProcessingValidationError, HistoryProcessorState
from kedi_compile.history.flow import Outcome, Skipped, Staged, Unchanged
from kedi_compile.history.lifecycle import RequestState
from toy import INFO, NOW, Context, Message, Result, calls, loop, run_edit, says, session, talk, two_talks, user


def history() -> list[Message]:
    """Return three groups: a tool exchange, a talk, the current request."""
    return [*loop("c1"), *talk("a"), user(NOW)]


def drop_first(ctx: Context) -> Sequence[Message]:
    """Drop the first group."""
    return ctx.messages[4:]


def holding(payload: object) -> list[Message]:
    """Return a closed tool exchange with this result, and the current request."""
    return [user("q"), calls("c1"), Message("tool", results=[Result("c1", payload)]), says("a"), user(NOW)]


class Watched:
    """Callbacks that note their order."""

    def __init__(self, answer: object, edit: Callable[[Context], Sequence[Message]] = drop_first) -> None:
        self.log: list[str] = []
        self._answer = answer
        self._edit = edit

    def condition(self, state: HistoryProcessorState) -> object:
        self.log.append("condition")
        return self._answer

    def processor(self, ctx: Context) -> Sequence[Message]:
        self.log.append("processor")
        return self._edit(ctx)


def refused(processor: Callable[[Context], Any], condition: Any = None) -> HistoryProcessingError:
    """Return the error of a request, after which it cannot be sent."""
    run = session(processor, condition)
    with pytest.raises(HistoryProcessingError) as caught:
        run.edit_sync(history(), INFO)
    assert run.state is RequestState.FAILED
    with pytest.raises(RuntimeError):
        run.sent()
    assert run.continuation.generation == 0
    return caught.value


def test_the_condition_is_asked_before_the_processor() -> None:
    """A true answer runs the processor, after the condition and once."""
    watched = Watched(answer=True)
    run = session(watched.processor, watched.condition)

    assert isinstance(run.edit_sync(history(), INFO), Staged)
    assert watched.log == ["condition", "processor"]
    assert run.state is RequestState.STAGED


def test_a_false_answer_skips_the_processor() -> None:
    """A false answer runs nothing else, and the request may be sent as it is."""
    watched = Watched(answer=False)
    run = session(watched.processor, watched.condition)

    assert run.edit_sync(history(), INFO) == Skipped()
    assert watched.log == ["condition"]
    assert run.state is RequestState.SKIPPED
    run.sent()


def test_a_false_answer_copies_and_checks_nothing() -> None:
    """A history that could not even be copied is skipped without harm."""
    messages = holding(letter for letter in "a")

    assert run_edit(messages, drop_first, condition=lambda state: False) == Skipped()


def test_the_condition_is_asked_for_every_request() -> None:
    """There is no cooldown: each request asks anew."""
    watched = Watched(answer=False)
    run = session(watched.processor, watched.condition)
    for _ in range(3):
        run.edit_sync(history(), INFO)

    assert watched.log == ["condition"] * 3


@pytest.mark.parametrize("answer", [1, 0, None, "yes", "", [], [True], 0.0])
def test_a_condition_must_answer_exactly_true_or_false(answer: object) -> None:
    """Truthy and falsy values are no answer, and the processor is not run."""
    watched = Watched(answer)
    error = refused(watched.processor, watched.condition)

    assert str(error) == f"`history_processor_condition` returned {answer!r}; it must return exactly True or False"
    assert watched.log == ["condition"]


def test_what_a_condition_raises_is_wrapped() -> None:
    """The error names the condition and keeps its cause; the processor is not run."""
    watched = Watched(answer=True)
    error = refused(watched.processor, lambda state: 1 / 0)

    assert str(error) == "`history_processor_condition` raised ZeroDivisionError: division by zero"
    assert isinstance(error.__cause__, ZeroDivisionError)
    assert watched.log == []


def test_what_a_processor_raises_is_wrapped() -> None:
    """The error names the processor and keeps its cause."""
    error = refused(lambda ctx: dict[str, str]()["missing"])

    assert str(error) == "`history_processor` raised KeyError: 'missing'"
    assert isinstance(error.__cause__, KeyError)
    assert not isinstance(error, HistoryProcessingValidationError)


def test_a_broken_rule_is_no_callback_error() -> None:
    """A bad edit is a validation error that was caused by nothing else."""
    error = refused(lambda ctx: ctx.messages[1:])

    assert isinstance(error, HistoryProcessingValidationError)
    assert error.__cause__ is None


def test_a_history_that_cannot_be_copied_is_a_processing_error() -> None:
    """What a payload's copy raises comes out wrapped, when the callback touches it."""
    messages = holding(letter for letter in "a")

    with pytest.raises(HistoryProcessingError, match="cannot pickle 'generator' object") as caught:
        run_edit(messages, lambda ctx: list(ctx.messages))
    assert isinstance(caught.value.__cause__, TypeError)


def test_a_payload_that_is_not_touched_need_not_be_copied() -> None:
    """Dropping a group asks nothing of it, so an uncopyable result can be dropped."""
    messages = holding(letter for letter in "a")

    outcome = run_edit(messages, lambda ctx: ctx.keep_recent_groups(0))

    assert isinstance(outcome, Staged)
    assert outcome.messages == (user(NOW),)


def test_a_payload_that_holds_itself_comes_to_an_end() -> None:
    """A cycle in a tool result can be dropped, copied, compared and digested."""
    endless: list[Any] = []
    endless.append(endless)
    messages = holding(endless)

    assert isinstance(run_edit(messages, lambda ctx: ctx.keep_recent_groups(0)), Staged)
    kept = run_edit(messages, lambda ctx: list(ctx.messages), condition=lambda state: bool(state.history_version))
    assert isinstance(kept, Unchanged)


def test_a_noop_is_unchanged() -> None:
    """Returning the input leaves the request as it was, and it may be sent."""
    run = session(lambda ctx: list(ctx.messages))

    assert run.edit_sync(history(), INFO) == Unchanged()
    assert run.state is RequestState.UNCHANGED
    assert run.continuation.generation == 0


def test_an_odd_history_is_left_to_the_host_on_a_noop() -> None:
    """A no-op is never refused for what the history was like before."""
    odd = [Message("tool", results=[Result("c9")]), says("a"), says("b"), Message("user")]

    assert run_edit(odd, lambda ctx: ctx.messages) == Unchanged()
    assert run_edit(odd, lambda ctx: copy.deepcopy(list(ctx.messages))) == Unchanged()


def staged(outcome: Outcome[Message]) -> Staged[Message]:
    """Return an outcome that must be a proved edit."""
    assert isinstance(outcome, Staged)
    return outcome


def test_an_edit_sends_the_hosts_own_objects_for_what_was_kept() -> None:
    """Kept messages are the caller's originals, never the copies the callback worked on."""
    messages = history()

    edit = staged(run_edit(messages, drop_first))

    assert all(one is other for one, other in zip(edit.messages, messages[4:], strict=True))
    assert edit.entries == (4, 5, 6)
    assert edit.first_change == 0


def test_a_new_message_is_detached_from_the_callback() -> None:
    """What the callback does to its message afterwards does not reach the request."""
    mine = user("Summary.")
    edit = staged(run_edit(history(), lambda ctx: [mine, *ctx.messages]))
    mine.text = "Changed later."

    assert edit.messages[0] == user("Summary.")
    assert edit.entries == (None, 0, 1, 2, 3, 4, 5, 6)


def test_the_callers_objects_never_change() -> None:
    """Whatever a callback does to its copies, and however it ends, the history is as it was."""
    messages = history()
    before = copy.deepcopy(messages)
    objects = list(messages)

    def spoil(ctx: Context) -> list[Message]:
        for message in ctx.messages:
            message.text = "spoilt"
            message.calls.clear()
            message.results.clear()
        msg = "and then it fails"
        raise ValueError(msg)

    with pytest.raises(HistoryProcessingError):
        run_edit(messages, spoil)
    assert messages == before
    assert all(one is other for one, other in zip(messages, objects, strict=True))


def test_a_list_that_changed_after_the_condition_is_refused() -> None:
    """The host's list is read again after the condition, and another one is an error."""
    run = session(drop_first, lambda state: True)
    messages = history()

    with pytest.raises(HistoryProcessingError, match="messages were added, removed or replaced"):
        run.edit_sync(messages, INFO, reread=lambda: [*messages, user("late")])
    assert run.state is RequestState.FAILED


def test_a_list_that_changed_without_a_condition_is_not_read_again() -> None:
    """Where no condition was asked, nothing can be stale."""
    run = session(drop_first)

    assert isinstance(run.edit_sync(history(), INFO, reread=list), Staged)


def test_a_message_that_changed_in_place_after_the_condition_is_refused() -> None:
    """A condition that saw the version is refused when the content is another one."""
    messages = history()

    def look_and_change(state: HistoryProcessorState) -> bool:
        assert state.history_version
        messages[1].calls[0].arguments["query"]["words"].append("late")
        return True

    with pytest.raises(HistoryProcessingError, match="message 1 was changed in place"):
        run_edit(messages, drop_first, condition=look_and_change)


def test_the_condition_may_grow_the_list_it_was_not_shown() -> None:
    """A false answer looks at nothing again."""
    messages = history()

    def grow(state: HistoryProcessorState) -> bool:
        messages.append(user("late"))
        return False

    assert run_edit(messages, drop_first, condition=grow) == Skipped()


def test_an_edit_remembers_the_calls_that_were_open_before() -> None:
    """Ids without a result in the input are noted for the host's later checks."""
    messages = [*history()[:-1], user("q"), calls("c8", "c9"), user(NOW)]

    assert staged(run_edit(messages, drop_first)).open_calls == {"c8", "c9"}


def test_an_edit_says_what_keep_recent_groups_found() -> None:
    """As an outcome without an edit does."""
    outcome = run_edit(two_talks(), lambda ctx: ctx.keep_recent_groups(1))

    assert isinstance(outcome, Staged)
    assert [(found.eligible, found.limit, found.held) for found in outcome.retentions] == [(2, 1, ())]
