"""What the runs of an adapter know about where messages came from, found by object and never by text."""

import copy
import gc

from kedi_compile import HistoryOrigin
from kedi_compile.history.origins import OriginLedger
from toy import user

ORIGINS = (HistoryOrigin("user", "run-1", "app.py:7"),)


def test_lineage_is_found_by_the_very_object() -> None:
    """What was recorded for a message is found again with that message."""
    ledger, message = OriginLedger(), user("hi")
    ledger.record(message, ORIGINS)

    assert ledger.find(message) == ORIGINS


def test_an_empty_ledger_is_false() -> None:
    """Whether anything is known at all is cheap to ask."""
    ledger, message = OriginLedger(), user("hi")
    assert not ledger

    ledger.record(message, ORIGINS)

    assert ledger


def test_an_equal_copy_has_no_lineage() -> None:
    """Equal text proves nothing about where a message came from."""
    ledger, message = OriginLedger(), user("hi")
    ledger.record(message, ORIGINS)

    assert ledger.find(copy.deepcopy(message)) == ()
    assert ledger.find(user("hi")) == ()


def test_a_later_record_replaces_the_earlier() -> None:
    """The newest knowledge about a message counts."""
    ledger, message = OriginLedger(), user("hi")
    ledger.record(message, ORIGINS)
    ledger.record(message, (HistoryOrigin("assistant"),))

    assert ledger.find(message) == (HistoryOrigin("assistant"),)


def test_records_go_with_their_message() -> None:
    """A ledger keeps no message alive, and a new object at an old address inherits nothing."""
    ledger = OriginLedger()
    for number in range(200):
        message = user(f"message {number}")
        assert ledger.find(message) == ()
        ledger.record(message, ORIGINS)
        del message
    gc.collect()

    assert not ledger
    assert all(ledger.find(user("fresh")) == () for _ in range(200))
