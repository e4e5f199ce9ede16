"""Which record a refusal is about."""

from uuid import UUID

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.turn.blame import blaming

ID = UUID(int=7)


def test_a_refusal_is_told_of_its_record() -> None:
    """The record's name is put before the sentence, and the way to the value is kept."""
    found = TurnCompileError("The value at Context[0] is odd", path="Context[0]")

    with pytest.raises(TurnCompileError) as caught, blaming(ID):
        raise found
    assert str(caught.value) == "Record 00000000-0000-0000-0000-000000000007: The value at Context[0] is odd"
    assert (caught.value.record_ids, caught.value.path) == ((ID,), "Context[0]")
    assert caught.value.__cause__ is found


def test_other_errors_pass_unchanged() -> None:
    """A mistake of the code is nobody's record."""
    with pytest.raises(KeyError) as caught, blaming(ID):
        raise KeyError("a")

    assert caught.value.args == ("a",)


def test_without_a_refusal_nothing_happens() -> None:
    """What goes well is not spoken of."""
    with blaming(ID):
        done = True

    assert done
