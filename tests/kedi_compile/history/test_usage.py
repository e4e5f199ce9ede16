"""Provider-measured usage: it counts for exactly the history it was measured on, and for tool results after it."""

from collections.abc import Callable

import pytest

from kedi_compile import HistoryProcessorState
from kedi_compile.history.continuation import Continuation
from kedi_compile.session import RunSession
from toy import INFO, NOW, Message, answers, calls, feedback, says, session, talk, user


class Run:
    """A run whose condition notes the measured tokens and says no."""

    def __init__(self) -> None:
        self.seen: list[int | None] = []
        self.session: RunSession[Message] = session(lambda ctx: list(ctx.messages), self._condition)

    def _condition(self, state: HistoryProcessorState) -> bool:
        self.seen.append(state.measured_tokens)
        return False

    def measured(self, history: list[Message]) -> int | None:
        """Ask the condition about a history."""
        self.session.edit_sync(history, INFO)
        return self.seen[-1]

    def answer(self, history: list[Message], response: Message, tokens: int | None) -> None:
        """Send the history and get a response."""
        self.measured(history)
        self.session.sent()
        self.session.observe(history, response, tokens, INFO)


def asked() -> list[Message]:
    """Return a history that ends with a question."""
    return [*talk("a"), user("q")]


def answered(tokens: int | None = 1_000) -> tuple[Run, list[Message]]:
    """Return a run after a response with a tool call, and the history with it."""
    run, history, response = Run(), asked(), calls("c1")
    run.answer(history, response, tokens)
    return run, [*history, response]


def test_nothing_is_measured_before_the_first_response() -> None:
    """A run begins without usage."""
    assert Run().measured(asked()) is None


def test_measured_tokens_are_the_responses_plus_the_results_estimate() -> None:
    """Tool results appended after the response are added by their estimate."""
    run, history = answered(1_000)
    result = answers("c1")

    assert run.measured([*history, result]) == 1_000 + run.session.revision([result]).estimated_tokens
    assert run.measured(history) == 1_000


def test_a_response_without_usage_measures_nothing() -> None:
    """Where the provider reported nothing there is no number."""
    run, history = answered(tokens=None)

    assert run.measured([*history, answers("c1")]) is None


@pytest.mark.parametrize("after", [user("more"), says("more"), feedback()])
def test_anything_but_results_after_the_response_makes_it_void(after: Message) -> None:
    """Only tool results can be added by estimate."""
    run, history = answered()

    assert run.measured([*history, answers("c1"), after]) is None


@pytest.mark.parametrize(
    "edit",
    [
        lambda history: history[1:],
        lambda history: history[:-1],
        lambda history: [user("new"), *history],
        lambda history: [history[1], history[0], *history[2:]],
        lambda history: [user("About b?"), *history[1:]],
        lambda history: [*history[:3], calls("c2")],
    ],
    ids=["dropped", "cut", "inserted", "reordered", "replaced", "answer replaced"],
)
def test_an_edited_history_has_no_measurement(edit: Callable[[list[Message]], list[Message]]) -> None:
    """The number holds for the measured messages and the response, and nothing else."""
    run, history = answered()

    assert run.measured([*edit(history), answers("c1")]) is None


@pytest.mark.parametrize("entry", [0, 2, 3])
def test_a_history_changed_in_place_has_no_measurement(entry: int) -> None:
    """Content that changed under the same object is another history."""
    run, history = answered()
    history[entry].provider["note"] = "changed"

    assert run.measured([*history, answers("c1")]) is None


@pytest.mark.parametrize("entry", [2, 3])
def test_the_hosts_stamps_on_the_last_messages_keep_the_measurement(entry: int) -> None:
    """What the host notes on the request and the response after the answer is no content."""
    run, history = answered()
    history[entry].stamp += 1

    assert run.measured([*history, answers("c1")]) is not None


def test_the_next_response_replaces_the_measurement() -> None:
    """Each response is measured anew; one without usage voids the earlier."""
    run, history = answered(1_000)
    history = [*history, answers("c1")]
    run.answer(history, says("done"), 1_500)
    assert run.measured([*history, says("done")]) == 1_500

    history = [*history, says("done"), user(NOW)]
    run.answer(history, says("ok"), None)
    assert run.measured([*history, says("ok")]) is None


def test_a_measurement_does_not_touch_generations() -> None:
    """Usage is information: it stages no rewrite."""
    run, _ = answered()

    assert run.session.continuation == Continuation()
