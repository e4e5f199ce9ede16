"""Records within a quota: those of a store in memory, and a bound on the bytes that can still be read."""

import pytest

from kedi_compile import ConversationError
from kedi_compile.stores.held import HeldRecords, QuotaExceeded
from kedi_compile.stores.protocol import ArchiveStore, Gone


def test_it_is_an_archive_store() -> None:
    """The protocol's methods are there."""
    assert isinstance(HeldRecords(), ArchiveStore)


def test_a_record_is_there_until_it_is_released_or_ends() -> None:
    """The very bytes, and then the reason."""
    held = HeldRecords()
    held.put("a", b"\x00\xff", None)
    held.put("b", b"x", 10.0)

    assert held.get("a", now=1e12) == b"\x00\xff"
    assert held.get("b", now=9.9) == b"x"
    assert held.get("c", now=0.0) is Gone.UNKNOWN

    held.release("a")
    held.sweep(10.0)

    assert held.get("a", now=0.0) is Gone.RELEASED
    assert held.get("b", now=0.0) is Gone.EXPIRED
    assert held.held_bytes == 0


def test_a_late_writer_cannot_bring_a_released_record_back() -> None:
    """Also one that was released before it was there."""
    held = HeldRecords()
    held.release("a")

    with pytest.raises(ConversationError, match="'a' was released"):
        held.put("a", b"x", None)
    assert held.held_bytes == 0


def test_a_quota_bounds_what_is_there() -> None:
    """What was released makes room, a record counts once, and what does not fit leaves no trace."""
    held = HeldRecords(quota_bytes=3)
    held.put("a", b"xx", None)
    held.put("a", b"xx", None)
    with pytest.raises(
        QuotaExceeded, match="2 bytes do not fit: 2 of 3 are held; release records, or raise `quota_bytes`"
    ):
        held.put("b", b"yy", None)

    held.release("a")
    held.put("b", b"yyy", None)

    assert held.get("b", now=0.0) == b"yyy"
    assert held.held_bytes == 3


def test_expired_records_make_room_when_they_are_swept() -> None:
    """Those that go on stay counted."""
    held = HeldRecords(quota_bytes=3)
    held.put("a", b"x", 5.0)
    held.put("b", b"yy", 6.0)

    held.sweep(5.0)

    assert held.held_bytes == 2
