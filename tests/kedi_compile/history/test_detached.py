"""The detached messages a callback works on: copies made when first touched, one per entry."""

from collections.abc import Sequence

import pytest

from kedi_compile.history.detached import DetachedMessages
from toy import Message, ToyDialect, answers, calls, says, user


class Counting(ToyDialect):
    """A dialect that notes what it clones."""

    def __init__(self) -> None:
        super().__init__()
        self.cloned: list[str] = []

    def clone(self, message: Message) -> Message:
        self.cloned.append(message.text)
        return super().clone(message)


ORIGINALS = [user("a"), says("b"), user("c")]


def detached(messages: Sequence[Message] = ORIGINALS) -> tuple[DetachedMessages[Message], Counting]:
    """Return detached messages and the dialect that clones them."""
    dialect = Counting()
    return DetachedMessages(messages, dialect), dialect


def test_nothing_is_cloned_before_it_is_touched() -> None:
    """Length and truth cost no copy; reading one message costs one."""
    messages, dialect = detached()
    assert len(messages) == 3
    assert messages

    assert messages[1].text == "b"
    assert dialect.cloned == ["b"]


def test_asking_twice_gives_the_same_copy() -> None:
    """An entry has one copy, however it is reached."""
    messages, dialect = detached()

    assert messages[0] is messages[0] is messages[-3] is next(iter(messages)) is messages[:1][0] is messages[::-1][2]
    assert dialect.cloned.count("a") == 1


def test_a_slice_is_a_list_of_copies() -> None:
    """Slices follow the rules of lists, with any step."""
    messages, _ = detached()

    assert type(messages[:2]) is list
    assert [message.text for message in messages[::-2]] == ["c", "a"]
    assert messages[5:] == []


@pytest.mark.parametrize("index", [3, -4])
def test_an_index_out_of_range_raises(index: int) -> None:
    """There is no message before the first or after the last."""
    with pytest.raises(IndexError):
        detached()[0][index]


def test_adoption_share_nothing_with_the_originals() -> None:
    """Changing a copy in place, however deep, leaves the caller's objects alone."""
    original = [user("q"), calls("c1"), answers("c1")]
    messages, _ = detached(original)
    messages[0].text = "changed"
    messages[1].calls[0].arguments["query"]["words"].append("more")
    messages[2].results.clear()

    assert original == [user("q"), calls("c1"), answers("c1")]


def test_the_sequence_itself_cannot_be_changed() -> None:
    """It is no list: nothing can be assigned, appended or removed."""
    messages, _ = detached()

    with pytest.raises(TypeError):
        messages[0] = user("x")  # type: ignore[index]  # the point of the test
    assert not hasattr(messages, "append")


def test_it_equals_a_sequence_of_equal_messages() -> None:
    """Comparison is by content, with lists, tuples and its own kind, and with nothing else."""
    messages, _ = detached()

    assert messages == [user("a"), says("b"), user("c")]
    assert messages == (user("a"), says("b"), user("c"))
    assert messages == detached()[0]
    assert messages != [user("a")]
    assert messages != "abc"


def test_touched_copies_are_known_by_identity() -> None:
    """Each copy made so far is found by its `id()`."""
    messages, _ = detached()
    second = messages[1]

    assert messages.touched() == {id(second): 1}


def test_it_shows_its_messages() -> None:
    """Printing it shows the copies."""
    assert repr(detached([user("a")])[0]).startswith("DetachedMessages([Message(role='user', text='a'")
