"""The door of the compiler."""

import pytest

from kedi_compile.assembly.typed import typed
from kedi_compile.errors import AssemblyError, UnknownInputError


def test_a_value_of_its_type_comes_back_as_it_is() -> None:
    """Nothing is converted."""
    value = ["x"]

    assert typed(value, list, "The list") is value


def test_any_other_value_is_a_type_error() -> None:
    """An unknown input is a `TypeError`, and an error of the project."""
    with pytest.raises(UnknownInputError, match=r"^The list was given str; it takes list, and nothing else$") as raised:
        typed("x", list, "The list")

    assert isinstance(raised.value, TypeError)
    assert isinstance(raised.value, AssemblyError)
