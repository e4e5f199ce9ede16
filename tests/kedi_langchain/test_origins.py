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
