"""Every rule an edited history must keep, each with edits it lets pass and edits it refuses.

The tables are looked up by the names in `RULES`, so a rule without cases fails.
"""

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from kedi_compile import HistoryProcessingValidationError
from kedi_compile.history.rules import RULES, Rule
from toy import (
    NOW,
    Call,
    Context,
    Message,
    Result,
    Subclassed,
    answers,
    broken_by,
    calls,
    loop,
    propose,
    run_edit,
    says,
    system,
    talk,
    user,
)

Edit = Callable[[Context], Sequence[Message]]

HISTORY = [system(), *talk("a"), *loop("c1"), user("p"), says("s", signature="sig"), *talk("b"), user(NOW)]
"""Groups: 0 system 0:1 | 1 a 1:3 | 2 loop 3:7 | 3 signed 7:9 | 4 b 9:11 | 5 current 11:12."""

PENDING = [*talk("a"), user("q"), calls("c9"), user(NOW)]
"""Groups: 0 a 0:2 | 1 pending 2:4 | 2 current 4:5."""


def order(*indices: int) -> Edit:
    """Return the entries with these indices, in this order."""
    return lambda ctx: [ctx.messages[index] for index in indices]


def without(*indices: int) -> Edit:
    """Leave these entries out."""
    return lambda ctx: [message for index, message in enumerate(ctx.messages) if index not in indices]


def adding(position: int, *messages: Message) -> Edit:
    """Put new messages before the entry at a position."""
    return lambda ctx: [*ctx.messages[:position], *messages, *ctx.messages[position:]]


def altering(change: Callable[[Sequence[Message]], Any]) -> Edit:
    """Change messages in place and return them all."""

    def edit(ctx: Context) -> list[Message]:
        change(ctx.messages)
        return list(ctx.messages)

    return edit


def drop_nested_argument(messages: Sequence[Message]) -> None:
    """Take a word out of a tool argument."""
    messages[4].calls[0].arguments["query"]["words"].pop()


def retype_argument(messages: Sequence[Message]) -> None:
    """Put a value of another type that compares equal in the place of a result."""
    messages[5].results[0].content = {"rows": ("c1",)}


PASSING: dict[str, list[Edit]] = {
    "split_group": [without(3, 4, 5, 6), without(1, 2, 9, 10), adding(3, user("Summary."))],
    "reordered_within_group": [order(0, 3, 4, 5, 6, 1, 2, 7, 8, 9, 10, 11)],
    "duplicated_entry": [adding(1, user("About a?"), says("It is a."))],
    "altered_entry": [altering(lambda messages: messages[4].calls[0].arguments.copy())],
    "protected_removed": [without(1, 2, 3, 4, 5, 6, 9, 10)],
    "protected_moved": [order(0, 3, 4, 5, 6, 1, 2, 7, 8, 9, 10, 11), order(0, 3, 4, 5, 6, 7, 8, 11)],
    "current_request_altered": [adding(11, user("Summary."))],
    "system_altered": [adding(1, user("Summary.")), order(0, 7, 8, 11)],
    "orphan_tool_result": [without(3, 4, 5, 6)],
    "unanswered_tool_call": [without(3, 4, 5, 6)],
    "fabricated_record": [adding(1, user("Summary."), says("Noted.")), adding(1, user("At noon.", stamp=7))],
    "blank_text": [adding(1, user("."))],
    "unencodable_text": [adding(1, user("grüße, 世界, 😀"))],
    "turn_order": [without(1, 2), adding(3, user("So far."), says("Noted."))],
}

BREAKING: dict[str, list[Edit]] = {
    "split_group": [without(2), without(4, 5), adding(2, user("Between.")), order(0, 1, 7, 2, 8, 9, 10, 11)],
    "reordered_within_group": [order(0, 2, 1, 7, 8, 11), order(0, 3, 5, 4, 6, 7, 8, 11)],
    "duplicated_entry": [order(0, 1, 2, 1, 2, 7, 8, 11), order(0, 7, 8, 11, 11)],
    "altered_entry": [
        altering(lambda messages: setattr(messages[2], "text", "It is b.")),
        altering(lambda messages: setattr(messages[8], "signature", "forged")),
        altering(lambda messages: setattr(messages[1], "stamp", 9)),
        altering(drop_nested_argument),
        altering(retype_argument),
    ],
    "protected_removed": [without(7, 8), order(11)],
    "protected_moved": [
        order(0, 9, 10, 1, 2, 7, 8, 11),
        order(0, 7, 8, 1, 2, 11),
        order(7, 8, 0, 11),
        order(0, 7, 8, 11, 9, 10),
    ],
    "current_request_altered": [
        without(11),
        adding(12, user("More.")),
        order(0, 11, 7, 8),
        altering(lambda messages: setattr(messages[-1], "text", "And then?")),
    ],
    "system_altered": [
        without(0),
        altering(lambda messages: setattr(messages[0], "text", "Be long.")),
        adding(0, user("Summary.")),
        adding(1, system("Be long.")),
        adding(1, user("Summary.", system="Be long.")),
    ],
    "orphan_tool_result": [without(4), without(3, 4), order(0, 3, 5, 4, 6, 7, 8, 11)],
    "unanswered_tool_call": [without(5), without(5, 6)],
    "fabricated_record": [
        adding(1, message)
        for message in (
            says("I looked.", calls=[Call("c7")]),
            user("Found.", results=[Result("c7")]),
            Message("tool", "Found."),
            says("I know.", signature="forged"),
            says("I know.", reasoning="because"),
            says("I know.", provider={"item": "rs_1"}),
            says("I know.", message_id="msg_1"),
            says("So far.", checkpoint=True),
            user("Tools.", framework="loaded"),
            user("Odd.", interrupted=True),
            user("Odd.", feedback="Again."),
            Subclassed("user", "Odd."),
        )
    ],
    "blank_text": [adding(1, user(text)) for text in ("", " ", "\n\t\u2003")],
    "unencodable_text": [adding(1, user("\ud800")), adding(1, says("half \udfff"))],
    "turn_order": [
        without(11),
        adding(12, user("More.")),
        order(0, 5, 6, 7, 8, 11),
        adding(1, says("Hello!")),
        adding(3, says("Noted.")),
    ],
}


def cases(table: dict[str, list[Edit]]) -> list[Any]:
    """Return each rule with each of its edits; a rule that the table lacks gets a case that fails."""
    return [
        pytest.param(rule, edit, id=f"{rule.__name__}-{number}")
        for rule in RULES
        for number, edit in enumerate(table.get(rule.__name__, [None]))
    ]


@pytest.mark.parametrize(("rule", "edit"), cases(PASSING))
def test_a_rule_lets_a_good_edit_pass(rule: Rule, edit: Edit | None) -> None:
    """Each rule has edits it says nothing about, and they are accepted as a whole."""
    assert edit is not None, f"{rule.__name__} has no passing case"

    assert list(rule(propose(HISTORY, edit))) == []
    assert broken_by(HISTORY, edit) == []


@pytest.mark.parametrize(("rule", "edit"), cases(BREAKING))
def test_a_rule_refuses_a_bad_edit_by_its_name(rule: Rule, edit: Edit | None) -> None:
    """Each rule has edits it refuses, under its own name, before anything is sent."""
    assert edit is not None, f"{rule.__name__} has no breaking case"
    violations = list(rule(propose(HISTORY, edit)))

    assert {violation.rule for violation in violations} == {rule.__name__}
    assert rule.__name__ in broken_by(HISTORY, edit)


def error_of(edit: Edit, history: Sequence[Message] = HISTORY) -> HistoryProcessingValidationError:
    """Return the error an edit is refused with."""
    with pytest.raises(HistoryProcessingValidationError) as caught:
        run_edit(history, edit)
    return caught.value


@pytest.mark.parametrize(
    ("edit", "sentence"),
    [
        (without(2), "split_group: Group 1 (entries 1:3) came back without entry 2; keep or replace the whole group"),
        (
            adding(2, user("Between.")),
            "split_group: Group 1 (entries 1:3) has other messages between its entries; move it as one piece",
        ),
        (
            without(7, 8),
            "protected_removed: Group 3 (entries 7:9) is missing, but is protected by signed_reasoning; it must stay",
        ),
        (
            order(0, 9, 10, 7, 8, 11),
            (
                "protected_moved: Group 4 (entries 9:11) moved past Group 3 (entries 7:9); "
                "a group stays between its protected neighbours"
            ),
        ),
        (
            without(5),
            (
                "unanswered_tool_call: Entry 4 keeps tool call 'c1' but not its result, entry 5; "
                "keep the whole group or none of it"
            ),
        ),
        (without(4), "orphan_tool_result: Entry 5 answers tool call 'c1', whose entry 4 is missing"),
        (
            order(0, 7, 8, 11, 11),
            "duplicated_entry: Entry 11 stands 2 times in the returned list, at 3, 4; once is right",
        ),
        (
            adding(1, says("I know.", signature="forged")),
            "fabricated_record: Returned message 1 is new and sets signature; build it with `ctx.text_message`",
        ),
        (
            adding(0, user("Summary."), says("Noted.")),
            "system_altered: 2 messages stand before the leading system entries; put them after",
        ),
        (
            adding(12, user("More.")),
            (
                "current_request_altered: Group 5 (entries 11:12) is the current request and must stay as it is "
                "at the end; entry 11 is not in its place or was changed"
            ),
        ),
    ],
)
def test_the_message_says_what_where_and_what_would_be_right(edit: Edit, sentence: str) -> None:
    """Each violation is one line that a reader can act on."""
    assert f"\n  {sentence}" in str(error_of(edit))


def test_all_broken_rules_are_reported_together_in_the_order_of_the_table() -> None:
    """One careless slice breaks several rules; each is in `violations`, with what it blames."""
    error = error_of(order(5, 6, 11))

    assert [(v.rule, v.groups, v.entries, v.tool_call_id) for v in error.violations] == [
        ("split_group", (2,), (3, 4), None),
        ("protected_removed", (3,), (7, 8), None),
        ("system_altered", (0,), (0,), None),
        ("orphan_tool_result", (2,), (5,), "c1"),
        ("turn_order", (2,), (5,), None),
    ]
    assert error.rule == "split_group"
    assert str(error).startswith("The edited history breaks 5 rules; nothing was sent\n  split_group: Group 2 ")


def test_long_lists_of_entries_are_shortened_in_the_message_only() -> None:
    """A message names five indices; the attributes hold all."""
    history = [user("q"), *(says(f"part {number}") for number in range(8)), user(NOW)]
    error = error_of(order(0, 9), history)

    assert "came back without entries 1, 2, 3, 4, 5, …; keep" in str(error)
    assert error.violations[0].entries == (1, 2, 3, 4, 5, 6, 7, 8)


def test_a_pending_group_that_stays_whole_breaks_no_rule() -> None:
    """One dead call does not end all trimming."""
    assert broken_by(PENDING, without(0, 1)) == []
    assert broken_by(PENDING, without(2, 3)) == ["protected_removed"]
    assert broken_by(PENDING, without(3)) == ["split_group"]


def test_a_history_that_was_odd_may_stay_odd() -> None:
    """Orphan results and a leading result that the input had are the host's to repair."""
    odd = [answers("c0"), says("a"), *talk("b"), user("q"), answers("c8"), says("c"), user(NOW)]

    assert broken_by(odd, order(0, 1, 4, 5, 6, 7)) == []
    assert broken_by(odd, order(2, 3, 7)) == []


def test_text_before_system_text_in_a_users_message_is_refused() -> None:
    """A leading entry that holds system and user text is a leading system entry all the same."""
    history = [user("q", system="Be brief."), says("a"), *talk("b"), user(NOW)]

    assert broken_by(history, adding(0, user("Summary."))) == ["system_altered"]
    assert broken_by(history, adding(2, user("Summary."))) == []


def test_text_may_stand_at_every_boundary_between_system_and_current_request() -> None:
    """New texts are accepted at group boundaries, and nowhere else."""
    accepted = [place for place in range(13) if not broken_by(HISTORY, adding(place, user("Summary.")))]

    assert accepted == [1, 3, 7, 9, 11]


def test_the_current_cycle_stays_whole_with_all_its_tool_steps() -> None:
    """The current request is the whole running cycle, not only its last message."""
    history = [*talk("a"), user("q"), calls("c1"), answers("c1")]

    assert broken_by(history, order(2, 3, 4)) == []
    assert broken_by(history, order(0, 1, 4)) == ["split_group", "current_request_altered", "orphan_tool_result"]
    assert broken_by(history, adding(3, user("Aside."))) == ["split_group", "current_request_altered"]
