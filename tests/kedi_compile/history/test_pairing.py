"""Which tool result answers which call: by occurrence and per id, never because some id matches."""

from kedi_compile.history.pairing import Call, Pairing, pair
from toy import Message, ToyDialect, answers, calls, says, user


def pairing_of(*messages: Message) -> Pairing:
    """Pair the calls of a history."""
    return pair([ToyDialect().describe(message) for message in messages])


def test_a_result_answers_the_call_with_its_id() -> None:
    """A call and the later result with its id are a pair."""
    assert pairing_of(user("q"), calls("c1"), answers("c1")) == Pairing((Call("c1", 1, 2),), ())


def test_a_call_without_result_is_unanswered() -> None:
    """A call that waits has no answer."""
    assert pairing_of(calls("c1"), says("a")).calls == (Call("c1", 0, None),)


def test_a_result_without_call_is_an_orphan() -> None:
    """A result that answers nothing is named with its entry."""
    assert pairing_of(user("q"), answers("c9")) == Pairing((), ((1, "c9"),))


def test_a_result_before_its_call_is_an_orphan() -> None:
    """Order counts: a result cannot answer a later call."""
    assert pairing_of(answers("c1"), calls("c1")) == Pairing((Call("c1", 1, None),), ((0, "c1"),))


def test_a_second_result_is_an_orphan() -> None:
    """A call is answered once."""
    assert pairing_of(calls("c1"), answers("c1"), answers("c1")) == Pairing((Call("c1", 0, 1),), ((2, "c1"),))


def test_an_id_used_again_starts_a_new_pair() -> None:
    """The same id may be called and answered again later."""
    found = pairing_of(calls("c1"), answers("c1"), calls("c1"), answers("c1"))

    assert found == Pairing((Call("c1", 0, 1), Call("c1", 2, 3)), ())


def test_a_later_call_takes_an_open_id_over() -> None:
    """A result after a repeated id answers the newer call; the older one stays unanswered."""
    found = pairing_of(calls("c1"), user("again"), calls("c1"), answers("c1"))

    assert found == Pairing((Call("c1", 0, None), Call("c1", 2, 3)), ())


def test_two_calls_of_one_message_with_one_id_are_answered_in_order() -> None:
    """Within a batch an id may occur twice; each occurrence gets its own result."""
    found = pairing_of(calls("c1", "c1"), answers("c1"), answers("c1"))

    assert found == Pairing((Call("c1", 0, 1), Call("c1", 0, 2)), ())


def test_a_parallel_batch_may_be_answered_out_of_order() -> None:
    """Ids decide within a batch, not positions, and results may be spread over messages."""
    found = pairing_of(calls("c1", "c2", "c3"), answers("c3", "c1"), answers("c2"))

    assert found.calls == (Call("c1", 0, 1), Call("c2", 0, 2), Call("c3", 0, 1))


def test_a_late_result_is_paired_over_a_cycle() -> None:
    """A result that arrives after other turns still answers its call."""
    found = pairing_of(user("q"), calls("c1"), user("other"), says("a"), answers("c1"))

    assert found == Pairing((Call("c1", 1, 4),), ())
