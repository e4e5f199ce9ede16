"""Where messages came from, found by object, or by id and content behind a checkpointer."""

from langchain_core.messages import HumanMessage

from kedi_compile import HistoryOrigin
from kedi_langchain.origins import ThreadOrigins

ORIGINS = (HistoryOrigin("user", "run-1"),)


def test_a_restored_message_is_found_by_id_and_content() -> None:
    """A checkpointer hands out new objects with the same id."""
    ledger = ThreadOrigins()
    ledger.record(HumanMessage("one", id="m1"), ORIGINS)

    assert ledger.find(HumanMessage("one", id="m1")) == ORIGINS


def test_other_content_or_another_id_has_no_origin() -> None:
    """A changed or copied message is not what the run made."""
    ledger = ThreadOrigins()
    message = HumanMessage("one", id="m1")
    ledger.record(message, ORIGINS)

    assert ledger.find(HumanMessage("two", id="m1")) == ()
    assert ledger.find(HumanMessage("one", id="m2")) == ()
    assert ledger.find(HumanMessage("one")) == ()


def test_a_message_without_an_id_is_found_by_object_alone() -> None:
    """Equal text is no proof."""
    ledger = ThreadOrigins()
    message = HumanMessage("one")
    ledger.record(message, ORIGINS)

    assert ledger.find(message) == ORIGINS
    assert ledger.find(HumanMessage("one")) == ()


def test_a_ledger_that_knows_an_id_is_true() -> None:
    """The objects may be gone while the thread lives on."""
    ledger = ThreadOrigins()
    assert not ledger

    ledger.record(HumanMessage("one", id="m1"), ORIGINS)

    assert ledger


def test_a_message_without_an_id_that_is_read_back_is_found_by_its_content() -> None:
    """If it is the only one of its content, and known from one place."""
    ledger = ThreadOrigins()
    ledger.record(HumanMessage("one"), ORIGINS)
    alone, first, second = HumanMessage("one"), HumanMessage("one"), HumanMessage("one")

    ledger.adopt([alone, HumanMessage("two")])
    ledger.adopt([first, second])

    assert ledger.find(alone) == ORIGINS
    assert ledger.find(first) == ledger.find(second) == ()


def test_equal_messages_from_two_places_are_ambiguous() -> None:
    """Neither is taken for the other."""
    ledger = ThreadOrigins()
    ledger.record(HumanMessage("one"), ORIGINS)
    ledger.record(HumanMessage("one"), (HistoryOrigin("user", "run-2"),))
    read = HumanMessage("one")

    ledger.adopt([read])

    assert ledger.find(read) == ()


def test_a_message_with_an_id_is_not_adopted_by_its_content() -> None:
    """Its id says which one it is."""
    ledger = ThreadOrigins()
    ledger.record(HumanMessage("one"), ORIGINS)
    read = HumanMessage("one", id="m1")

    ledger.adopt([read])

    assert ledger.find(read) == ()
