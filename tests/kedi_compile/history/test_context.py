"""What a condition and a processor are given, and the edits the context can build."""

from dataclasses import FrozenInstanceError
from typing import Any

import pytest

from kedi_compile import HistoryProcessorState
from toy import (
    INFO,
    NOW,
    Context,
    Message,
    calls,
    context_of,
    loop,
    result_of,
    says,
    session,
    system,
    talk,
    user,
)

HISTORY = [
    system(),
    *talk("a"),
    *loop("c1"),
    user("p"),
    says("signed", signature="sig"),
    user("d"),
    calls("c2"),
    *talk("b"),
    user(NOW),
]
"""Groups: system | a | loop | signed | pending | b | current; three of them are eligible."""


def texts(messages: list[Message]) -> list[str]:
    """Return what each message says, or the kind of it."""
    return [message.text or ("call" if message.calls else "result") for message in messages]


def context(messages: list[Message] = HISTORY) -> Context:
    """Return the context over a history."""
    return context_of(messages)


SYSTEM = ["Be brief."]
A = ["About a?", "It is a."]
LOOP = ["Look up tools.", "call", "result", "Found tools."]
KEPT = ["p", "signed", "d", "call"]
B = ["About b?", "It is b."]


@pytest.mark.parametrize(
    ("n", "kept"),
    [
        (0, [*SYSTEM, *KEPT, NOW]),
        (1, [*SYSTEM, *KEPT, *B, NOW]),
        (2, [*SYSTEM, *LOOP, *KEPT, *B, NOW]),
        (3, [*SYSTEM, *A, *LOOP, *KEPT, *B, NOW]),
        (99, [*SYSTEM, *A, *LOOP, *KEPT, *B, NOW]),
    ],
)
def test_keep_recent_groups_keeps_the_last_eligible_and_all_that_must_stay(n: int, kept: list[str]) -> None:
    """Protected, unfinished and current groups stay, in order, and do not count toward `n`."""
    assert texts(context().keep_recent_groups(n)) == kept


def test_keep_recent_groups_leaves_the_context_alone() -> None:
    """Asking for an edit changes neither messages nor groups."""
    ctx = context()
    groups = ctx.groups
    ctx.keep_recent_groups(0)

    assert ctx.groups == groups
    assert ctx.messages == HISTORY


@pytest.mark.parametrize(
    ("n", "over", "kept"), [(1, 3, 3), (1, 2, 1), (1, 1, 1), (0, 3, 3), (0, 2, 0), (0, 0, 0), (3, 3, 3), (2, 9, 3)]
)
def test_over_drops_nothing_until_there_are_more_eligible_groups(n: int, over: int, kept: int) -> None:
    """With three eligible groups nothing is dropped unless `over` is less than three; then `n` stay."""
    edited = context([*talk("a", "b", "c"), user(NOW)]).keep_recent_groups(n, over=over)

    assert len(edited) == 2 * kept + 1


@pytest.mark.parametrize(
    ("n", "over", "error", "message"),
    [
        (True, None, TypeError, "`n` is True; it must be an int"),
        (1.0, None, TypeError, "`n` is 1.0; it must be an int"),
        ("1", None, TypeError, "`n` is '1'; it must be an int"),
        (None, None, TypeError, "`n` is None; it must be an int"),
        (1, True, TypeError, "`over` is True; it must be an int"),
        (1, 2.0, TypeError, "`over` is 2.0; it must be an int"),
        (-1, None, ValueError, "`n` is -1; it must not be negative"),
        (-1, 5, ValueError, "`n` is -1; it must not be negative"),
        (5, 4, ValueError, "`over` is 4, less than n=5; trimming starts above `over` and goes down to `n`"),
        (0, -1, ValueError, "`over` is -1, less than n=0; trimming starts above `over` and goes down to `n`"),
    ],
)
def test_limits_that_make_no_sense_are_refused(n: Any, over: Any, error: type[Exception], message: str) -> None:
    """`n` is a nonnegative int and no bool, `over` an int that is not smaller."""
    with pytest.raises(error) as caught:
        context().keep_recent_groups(n, over)

    assert str(caught.value) == message


def test_replace_groups_puts_messages_in_the_place_of_one_group() -> None:
    """A group is replaced where it stood."""
    ctx = context()

    edited = ctx.replace_groups(ctx.groups[2], *ctx.summary_messages("They looked it up."))

    assert texts(edited) == [*SYSTEM, *A, "They looked it up.", "Noted.", *KEPT, *B, NOW]


def test_replace_groups_puts_messages_in_the_place_of_the_first_of_several() -> None:
    """Of several groups, in any order, the first one's place is taken and the others are left out."""
    ctx = context()

    edited = ctx.replace_groups((ctx.groups[5], ctx.groups[1], ctx.groups[1]), ctx.text_message("Both."))

    assert texts(edited) == [*SYSTEM, "Both.", *LOOP, *KEPT, NOW]


def test_replace_groups_without_messages_drops_them() -> None:
    """Replacing by nothing is dropping."""
    ctx = context()

    assert texts(ctx.replace_groups(ctx.groups[1])) == [*SYSTEM, *LOOP, *KEPT, *B, NOW]


def test_replace_groups_needs_a_group() -> None:
    """Naming no group is a mistake, not a no-op."""
    with pytest.raises(ValueError, match=r"^`replace_groups` was given no group; name at least one of `ctx.groups`$"):
        context().replace_groups([])


@pytest.mark.parametrize("stranger", ["g1", 3])
def test_replace_groups_refuses_what_is_no_group(stranger: Any) -> None:
    """Names and indices are no groups."""
    with pytest.raises(ValueError, match=r"is no group of this context; take groups from `ctx.groups`"):
        context().replace_groups([stranger])


def test_replace_groups_refuses_a_group_of_another_history() -> None:
    """A group belongs to the context it came from."""
    foreign = context([*talk("x", "y", "z"), user(NOW)]).groups[2]

    with pytest.raises(ValueError, match=r"^'g\d' is no group of this context"):
        context().replace_groups(foreign)


def test_a_text_message_is_by_the_user_by_default() -> None:
    """A new text is one native message of the named role."""
    assert context().text_message("hi") == user("hi")
    assert context().text_message("hi", "assistant") == says("hi")


@pytest.mark.parametrize("role", ["system", "tool", "", None])
def test_a_text_message_by_anyone_else_is_refused(role: Any) -> None:
    """Only the user and the assistant may be given words."""
    with pytest.raises(ValueError, match=r"; a text message is by the 'user' or the 'assistant'$"):
        context().text_message("hi", role)


def test_a_summary_is_a_question_and_a_short_answer() -> None:
    """The pair stands alone on every provider; the acknowledgement may be chosen."""
    assert context().summary_messages("So far.") == [user("So far."), says("Noted.")]
    assert context().summary_messages("So far.", "Fine.") == [user("So far."), says("Fine.")]


def test_the_context_says_which_request_it_is() -> None:
    """Adapter, model, request and epoch are facts beside the messages."""
    ctx = context()

    assert (ctx.adapter_shortname, ctx.model_id, ctx.request_index, ctx.cache_epoch) == ("toy", "toy:small", 1, 0)
    assert ctx.estimated_tokens == sum(entry.estimated_tokens for entry in ctx.entries)
    assert ctx.measured_tokens is None


@pytest.mark.parametrize("name", ["messages", "model_id", "request_index", "cache_epoch", "groups", "note"])
def test_the_context_is_frozen(name: str) -> None:
    """A callback can neither change what the context says nor leave anything on it."""
    with pytest.raises(AttributeError):
        setattr(context(), name, None)


def test_the_state_holds_no_messages() -> None:
    """A condition sees facts: frozen, and nothing to edit."""
    seen: list[HistoryProcessorState] = []

    def no(state: HistoryProcessorState) -> bool:
        seen.append(state)
        return False

    session(lambda ctx: list(ctx.messages), no).edit_sync(HISTORY, INFO)
    state = seen[0]

    assert {name for name in dir(state) if not name.startswith("_")} == {
        *("adapter_shortname", "model_id", "request_index", "cache_epoch"),
        *("estimated_tokens", "measured_tokens", "history_version"),
    }
    assert (state.adapter_shortname, state.model_id, state.request_index, state.cache_epoch) == (
        "toy",
        "toy:small",
        1,
        0,
    )
    assert state.estimated_tokens == context().estimated_tokens
    with pytest.raises(FrozenInstanceError):
        state.cache_epoch = 5  # type: ignore[misc]  # the point of the test


def test_printing_the_context_shows_no_machinery() -> None:
    """`repr` shows public facts only."""
    assert "_revision" not in repr(context())


def test_entries_and_groups_index_into_the_messages() -> None:
    """Entry `i` describes `ctx.messages[i]`, and groups cover all of them."""
    ctx = context()

    assert [entry.index for entry in ctx.entries] == list(range(len(ctx.messages)))
    assert [entry.role for entry in ctx.entries if entry.results] == ["tool"]
    spans = {group.group_id: range(group.entry_start, group.entry_end) for group in ctx.groups}
    assert all(entry.index in spans[entry.group_id] for entry in ctx.entries)


@pytest.mark.parametrize("n", [0, 1, 2])
def test_what_keep_recent_groups_returns_is_accepted(n: int) -> None:
    """The rules accept what the context builds."""
    assert result_of(HISTORY, lambda ctx: ctx.keep_recent_groups(n)) == context().keep_recent_groups(n)


@pytest.mark.parametrize("index", [1, 2, 5])
def test_replacing_an_eligible_group_is_accepted(index: int) -> None:
    """Every eligible group may be replaced by a summary."""
    edited = result_of(HISTORY, lambda ctx: ctx.replace_groups(ctx.groups[index], *ctx.summary_messages("Short.")))

    assert texts(edited)[-1] == NOW
    assert "Short." in texts(edited)
