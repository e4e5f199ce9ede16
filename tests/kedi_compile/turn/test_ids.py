"""Ids of records: what is read as one, as an order of them, and how a message names them."""

from collections.abc import Iterator
from typing import Any
from uuid import UUID

import pytest

from kedi_compile import TurnCompileError
from kedi_compile.turn import Instruction
from kedi_compile.turn.ids import ids_of, named, optional_id, record_id

ID, OTHER = UUID(int=7), UUID(int=8)
ASK = Instruction.create("Ask.", id=ID)


@pytest.mark.parametrize("given", [ID, str(ID), ID.hex, str(ID).upper(), f"{{{ID}}}"])
def test_an_id_is_a_uuid_or_its_text(given: object) -> None:
    """Ids that went through JSON come back as UUIDs."""
    assert record_id(given) == ID
    assert optional_id(given) == ID


@pytest.mark.parametrize(
    ("value", "shown"), [("first", "'first'"), ("", "''"), (7, "7"), (None, "None"), (ID.bytes, repr(ID.bytes))]
)
def test_anything_else_is_no_id(value: object, shown: str) -> None:
    """A name, a number and bytes are refused with the value that was found."""
    with pytest.raises(TurnCompileError) as caught:
        record_id(value)

    assert str(caught.value) == f"{shown} is no record id; it must be a UUID or its text"


def test_an_id_may_be_missing_where_it_is_optional() -> None:
    """None is no id there, and all else is read as one."""
    assert optional_id(None) is None
    with pytest.raises(TurnCompileError, match=r"^'' is no record id"):
        optional_id("")


@pytest.mark.parametrize(
    "order", [[ID, OTHER], (ID, str(OTHER)), [ID.hex, OTHER.hex], dict.fromkeys([ID, OTHER]).keys()]
)
def test_an_order_is_read_as_uuids(order: Any) -> None:
    """Lists, tuples and views of UUIDs or their texts keep their order."""
    assert ids_of(order) == [ID, OTHER]


def test_an_order_may_be_empty_and_may_repeat() -> None:
    """Whether that makes a turn is not asked here."""
    assert ids_of(()) == []
    assert ids_of([ID, ID]) == [ID, ID]


@pytest.mark.parametrize("order", ["abc", {ID: ASK}, 7, None])
def test_an_order_is_a_sequence_of_ids(order: Any) -> None:
    """Text, a mapping and a number are refused by their type."""
    with pytest.raises(TurnCompileError) as caught:
        ids_of(order)

    assert str(caught.value) == f"A progression is a sequence of record ids, not a {type(order).__name__}"


def test_an_order_that_is_used_up_by_reading_is_no_order() -> None:
    """It would be empty when it is read the next time."""
    given: Iterator[UUID] = iter([ID])

    with pytest.raises(TurnCompileError, match=r"^A progression is a sequence of record ids, not a list_iterator$"):
        ids_of(given)
    assert next(given) == ID


def test_an_order_with_another_value_is_refused() -> None:
    """A record is not its id."""
    with pytest.raises(TurnCompileError, match="is no record id; it must be a UUID or its text"):
        ids_of([ID, ASK])


def test_records_are_counted_and_named() -> None:
    """A message says how many records it is about, and which."""
    assert named([ID, OTHER]) == (
        "2 record(s) (00000000-0000-0000-0000-000000000007, 00000000-0000-0000-0000-000000000008)"
    )
