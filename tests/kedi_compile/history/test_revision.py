"""One revision of the history: lazy facts, versions, stable group names, and proof that nothing changed."""

import copy
from collections.abc import Callable
from typing import Any

import pytest

from kedi_compile import EntryKind, HistoryEntry, HistoryProcessingError, ProtectedReason
from toy import NOW, Message, Result, ToyDialect, answers, calls, loop, revision, says, session, system, talk, user


def names_of(run: Any, messages: list[Message]) -> list[str]:
    """Return the group ids a run gives to a history."""
    return [group.group_id for group in run.revision(messages).groups]


def test_entries_are_the_public_facts() -> None:
    """Kind, role, calls, results, own reasons, tokens and group of each message."""
    entries = revision([system("S"), user("q"), calls("c1"), answers("c1"), user(NOW)]).entries

    assert entries[0] == HistoryEntry(
        0, EntryKind.SYSTEM, "system", (), (), frozenset({ProtectedReason.SYSTEM}), 1, (), "g1"
    )
    assert entries[2] == HistoryEntry(2, EntryKind.ASSISTANT, "assistant", ("c1",), (), frozenset(), 0, (), "g2")
    assert (entries[3].kind, entries[3].role, entries[3].results) == (EntryKind.TOOL_RESULT, "tool", ("c1",))
    assert [entry.group_id for entry in entries] == ["g1", "g2", "g2", "g2", "g3"]


def test_only_the_last_entry_is_the_current_request() -> None:
    """The entries before it in the running cycle have their own reasons only."""
    entries = revision([user("q"), calls("c1", signature="s"), answers("c1")]).entries

    assert [sorted(entry.protected_reasons) for entry in entries] == [[], ["signed_reasoning"], ["current_request"]]


def test_a_reason_that_does_not_count_for_the_group_does_not_count_for_the_entry() -> None:
    """With `open_cycle` a signed entry of a closed group is no reason any more."""
    entries = revision([user("q"), says("a", signature="s"), user(NOW)], reasoning_protection="open_cycle").entries

    assert not entries[1].protected


def test_equal_histories_have_equal_versions() -> None:
    """A version names the content, whatever objects hold it and whichever run asks."""
    messages = [*loop("c1"), user(NOW)]

    assert revision(messages).version == revision(copy.deepcopy(messages)).version


@pytest.mark.parametrize(
    "change",
    [
        lambda messages: messages.pop(),
        lambda messages: messages.reverse(),
        lambda messages: messages.append(user("more")),
        lambda messages: messages[1].calls[0].arguments["query"]["words"].append("x"),
        lambda messages: setattr(messages[2].results[0], "content", {"rows": ("c1",)}),
    ],
)
def test_any_change_of_content_is_another_version(change: Callable[[list[Message]], object]) -> None:
    """Order, number, nested content and its types all count."""
    messages = [*loop("c1"), user(NOW)]
    before = revision(messages).version
    change(messages)

    assert revision(messages).version != before


def test_a_token_counter_replaces_the_estimate() -> None:
    """Each message is counted once by the given function."""
    counted: list[str] = []

    def count(message: Message) -> int:
        counted.append(message.text)
        return 7

    described = revision([*talk("a"), user(NOW)], token_counter=count)

    assert described.estimated_tokens == 21
    assert described.tokens == [7, 7, 7]
    assert counted == ["About a?", "It is a.", NOW]


@pytest.mark.parametrize("count", [True, -1, 1.5, "3", None])
def test_a_token_counter_must_count(count: object) -> None:
    """Anything but a nonnegative int is refused with what was returned."""
    with pytest.raises(HistoryProcessingError, match=r"^`token_counter` returned .*; it must return a nonnegative int"):
        _ = revision([user(NOW)], token_counter=lambda message: count).estimated_tokens


def test_nothing_is_described_before_it_is_asked_for() -> None:
    """A condition that reads nothing costs no look at any message."""

    class Blind(ToyDialect):
        """A dialect that cannot see."""

        def describe(self, message: Message) -> Any:
            raise AssertionError

        estimate = digest = describe

    run = session(lambda ctx: ctx.messages)
    described = run.revision([user(NOW)])
    described._run.__dict__["dialect"] = Blind()  # noqa: SLF001  # no other way to see what was not done

    assert len(described.messages) == 1


def test_group_names_stay_over_the_requests_of_a_run() -> None:
    """A group keeps its name while the loop goes on, after others were dropped, and when it closes."""
    run = session()
    history = [*talk("a"), *talk("b"), user("q"), calls("c1")]
    assert names_of(run, history) == ["g1", "g2", "g3"]

    history = [*history[2:], answers("c1")]
    assert names_of(run, history) == ["g2", "g3"]
    history = [*history, says("done"), user(NOW)]
    assert names_of(run, history) == ["g2", "g3", "g4"]


def test_a_new_group_never_takes_an_old_name() -> None:
    """The name of a dropped group is not used again in the run."""
    run = session()
    history = [*talk("a"), user("q")]
    names_of(run, history)

    assert names_of(run, [*talk("new"), *history[2:]]) == ["g3", "g2"]


def test_one_message_object_may_stand_in_several_groups() -> None:
    """A canned prompt that is used twice does not make names move."""
    again = user("ok")
    run, history = session(), [again, says("1"), again, says("2"), again]

    assert [names_of(run, history) for _ in range(3)] == [["g1", "g2", "g3"]] * 3


def test_groups_that_grow_together_keep_the_first_name() -> None:
    """A late result makes one group of several; it goes on under the oldest name."""
    run = session()
    history = [user("q"), calls("c1"), *talk("b"), user(NOW)]
    names_of(run, history)

    assert names_of(run, [*history[:4], answers("c1"), says("late"), history[4]]) == ["g1", "g3"]


def test_an_unchanged_history_is_unchanged() -> None:
    """Looking again at the same objects proves it, whatever was read before."""
    messages = [*loop("c1"), user(NOW)]
    described = revision(messages)
    _ = (described.version, described.entries)

    described.check_unchanged(list(messages))


@pytest.mark.parametrize(
    ("change", "how"),
    [
        (lambda messages: messages.append(user("more")), "messages were added, removed or replaced"),
        (lambda messages: messages.pop(0), "messages were added, removed or replaced"),
        (lambda messages: messages.reverse(), "messages were added, removed or replaced"),
        (lambda messages: messages.insert(0, messages.pop()), "messages were added, removed or replaced"),
        (lambda messages: messages.__setitem__(0, user("Look up tools.")), "messages were added, removed or replaced"),
        (lambda messages: setattr(messages[0], "text", "Other."), "message 0 was changed in place"),
        (lambda messages: messages[2].results.clear(), "message 2 was changed in place"),
        (lambda messages: messages[1].calls[0].arguments["query"]["words"].pop(), "message 1 was changed in place"),
    ],
)
def test_a_history_that_changed_is_refused(change: Callable[[list[Message]], object], how: str) -> None:
    """What a condition was shown no longer holds, so nothing may be edited on its word."""
    messages = [*loop("c1"), user(NOW)]
    described = revision(messages)
    _ = described.version
    change(messages)

    with pytest.raises(HistoryProcessingError) as caught:
        described.check_unchanged(messages)
    assert str(caught.value) == (
        f"The history changed between the condition and the processor: {how}; the condition's answer is stale"
    )


def test_tokens_that_changed_are_a_change() -> None:
    """A condition that was only shown an estimate is refused when the estimate is another one now."""
    messages = [*talk("a"), user(NOW)]
    described = revision(messages)
    _ = described.estimated_tokens
    messages[0].text = "A much longer question?"

    with pytest.raises(HistoryProcessingError, match="message 0 was changed in place"):
        described.check_unchanged(messages)


class Opaque:
    """An object that copies itself and hides its state."""

    def __deepcopy__(self, memo: dict[int, Any]) -> "Opaque":
        return self

    def __reduce_ex__(self, protocol: Any) -> Any:
        msg = "no state for you"
        raise RuntimeError(msg)


@pytest.mark.parametrize("payload", [Opaque(), lambda: None], ids=["object", "function"])
def test_a_payload_nobody_can_read_is_no_change(payload: object) -> None:
    """A message whose content cannot be compared is not called changed."""
    messages = [user("q"), calls("c1"), Message("tool", results=[Result("c1", payload)]), says("a"), user(NOW)]
    described = revision(messages)
    _ = (described.version, described.estimated_tokens)

    described.check_unchanged(messages)


def test_a_revision_is_a_snapshot() -> None:
    """A list that grows later does not change what was described."""
    messages = [*talk("a"), user(NOW)]
    described = revision(messages)
    messages.append(user("more"))

    assert len(described.messages) == 3
    assert [group.entry_end for group in described.groups] == [2, 3]


def test_an_empty_history_has_no_groups_and_no_tokens() -> None:
    """There is nothing to describe."""
    assert (revision([]).groups, revision([]).entries, revision([]).estimated_tokens) == ((), (), 0)


def test_what_nobody_has_asked_for_is_not_known() -> None:
    """Telling what is known looks at nothing; once it was asked for, it is there."""
    history = revision([*loop("c1"), user(NOW)])

    assert (history.known_tokens, history.known_spans) == (None, [])
    assert history.estimated_tokens == history.known_tokens
    assert history.spans == history.known_spans
