"""The host's two lists: how an edit is written to the run's history, and taken back as if it had never been."""

from __future__ import annotations

import copy

from pydantic_ai.messages import ModelMessage

from agents import asks, lines, says, turns
from kedi_pydantic_ai.lists import write

NOW = asks("now")


def history_of(count: int) -> list[ModelMessage]:
    """Build a run's history: some turns and the current request."""
    return [*turns(count), NOW]


def test_an_edit_is_written_in_place() -> None:
    """The list object stays the host's own, and ends in its own request."""
    history = history_of(2)
    same_list, edited = history, [*history[2:]]

    write(history, list(history), edited)

    assert history is same_list
    assert lines(history) == ["< question 2", "> answer 2", "< now"]
    assert history[-1] is NOW


def test_undoing_restores_the_very_objects() -> None:
    """After undo the list is what it was, by identity."""
    history = history_of(2)
    before = list(history)

    write(history, list(history), history[2:]).undo()

    assert all(now is then for now, then in zip(history, before, strict=True))


def test_what_the_host_added_since_stays_behind_the_restored_messages() -> None:
    """A partial answer stands on the unedited history."""
    history = history_of(2)
    written = write(history, list(history), history[2:])
    history.append(says("half"))

    written.undo()

    assert lines(history) == [*lines(history_of(2)), "> half"]


def test_a_replaced_current_request_stays_replaced() -> None:
    """The host may put a copy with more in it in the place of the current request."""
    history = history_of(2)
    written = write(history, list(history), history[2:])
    fuller = copy.copy(NOW)
    history[-1] = fuller

    written.undo()

    assert history[-1] is fuller
    assert lines(history) == lines(history_of(2))


def test_a_list_that_another_hand_rewrote_gets_the_old_messages_back() -> None:
    """Whatever stands there is neither lost nor doubled."""
    history = history_of(2)
    written = write(history, list(history), history[2:])
    history[:] = [asks("foreign"), NOW]

    written.undo()

    assert lines(history) == [*lines(history_of(2)), "< foreign"]


def test_messages_shown_to_the_request_only_are_not_stored() -> None:
    """They are in the edit, and stay out of the run's history."""
    history = history_of(2)
    hint: list[ModelMessage] = [asks("hint"), says("ok")]
    shown = [*history[:-1], *hint, NOW]

    write(history, shown, shown[2:])

    assert lines(history) == ["< question 2", "> answer 2", "< now"]


def test_messages_hidden_from_the_request_stay_stored_in_their_place() -> None:
    """An edit of what was shown says nothing about what was not."""
    history = history_of(3)
    shown = [*history[:2], *history[4:]]

    write(history, shown, shown[2:])

    assert lines(history) == ["< question 2", "> answer 2", "< question 3", "> answer 3", "< now"]


def test_hidden_messages_behind_kept_ones_stay_behind_them() -> None:
    """Their order is that of the old history."""
    history = history_of(3)
    shown = [*history[:2], *history[4:]]

    write(history, shown, [*shown[:2], NOW])

    assert lines(history) == ["< question 1", "> answer 1", "< question 2", "> answer 2", "< now"]


def test_an_edit_counts_as_answered_once_a_response_stands_behind_it() -> None:
    """Content that was enqueued since is no answer."""
    history = history_of(2)
    written = write(history, list(history), history[2:])

    answered = [written.is_answered]
    for message in (asks("one more thing"), says("done")):
        history.append(message)
        answered.append(written.is_answered)

    assert answered == [False, False, True]
