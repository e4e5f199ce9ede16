"""Refusing a value of another type, and naming the record that a refusal is about."""

from typing import Any
from uuid import UUID

import pytest

from kedi_compile import TurnCompileError, UnknownRecordError
from kedi_compile.turn import Instruction
from kedi_compile.turn.refusals import blaming, refuse_other

ID = UUID(int=7)


def test_a_refusal_is_told_of_its_record() -> None:
    """The record's name is put before the sentence, and the way to the value is kept."""
    found = TurnCompileError("The value at prompt_context[0] is odd", path="prompt_context[0]")

    with pytest.raises(TurnCompileError) as caught, blaming(ID):
        raise found
    assert str(caught.value) == "Record 00000000-0000-0000-0000-000000000007: The value at prompt_context[0] is odd"
    assert (caught.value.record_ids, caught.value.path) == ((ID,), "prompt_context[0]")
    assert caught.value.__cause__ is found


def test_a_refusal_keeps_its_class() -> None:
    """A record of an unknown kind stays a type error."""
    with pytest.raises(TurnCompileError) as caught, blaming(ID):
        raise UnknownRecordError("It is odd")

    assert type(caught.value) is UnknownRecordError
    assert caught.value.record_ids == (ID,)


def test_the_first_record_stays_the_one_to_blame() -> None:
    """Who is nearest to the fault names the record, and nobody around it names another."""
    with pytest.raises(TurnCompileError) as caught, blaming(UUID(int=8)), blaming(ID):
        raise TurnCompileError("It is odd")

    assert str(caught.value) == "Record 00000000-0000-0000-0000-000000000007: It is odd"
    assert caught.value.record_ids == (ID,)


def test_a_refusal_that_names_its_records_passes_unchanged() -> None:
    """It is the very same error."""
    found = TurnCompileError("Both are odd", record_ids=[UUID(int=1), UUID(int=2)], path="content")

    with pytest.raises(TurnCompileError) as caught, blaming(ID):
        raise found
    assert caught.value is found
    assert (str(found), found.record_ids) == ("Both are odd", (UUID(int=1), UUID(int=2)))


def test_other_errors_pass_unchanged() -> None:
    """A mistake of the code is nobody's record."""
    with pytest.raises(KeyError) as caught, blaming(ID):
        raise KeyError("a")

    assert caught.value.args == ("a",)


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (7, "int"),
        (None, "NoneType"),
        (ID, "uuid.UUID"),
        (Instruction.create("Ask."), "kedi_compile.turn.records.Instruction"),
    ],
    ids=["int", "none", "uuid", "record"],
)
def test_a_value_of_another_type_is_refused(value: Any, shown: str) -> None:
    """What would be right is said first, and the type that was found in full; nobody is blamed."""
    with pytest.raises(TurnCompileError) as caught:
        refuse_other(value, (str, dict), "A name is text", "name")

    assert str(caught.value) == f"A name is text, not a {shown}"
    assert (caught.value.path, caught.value.record_ids) == ("name", ())


def test_a_refusal_may_have_no_path() -> None:
    """A record that is built has no place in a request yet."""
    with pytest.raises(TurnCompileError) as caught:
        refuse_other(7, str, "A name is text")

    assert caught.value.path is None


class Marked(str):
    """A text of a class of its own."""

    __slots__ = ()


@pytest.mark.parametrize("value", ["a", Marked("a"), {}])
def test_a_value_of_a_right_type_passes(value: Any) -> None:
    """Any of the kinds will do, and so will a class derived from one; the next value is refused all the same."""
    refuse_other(value, (str, dict), "A name is text")

    with pytest.raises(TurnCompileError):
        refuse_other([value], (str, dict), "A name is text")
